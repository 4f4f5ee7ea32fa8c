"""Instruments and products outside of the service document."""

import datetime as dt
from decimal import Decimal

from tests.vectors.exchange import Exchange

EXCHANGES = (
    Exchange(
        name="one equity, whose symbol holds a slash",
        operation="instruments.equity",
        arguments=("BRK/B",),
        target="/instruments/equities/BRK%2FB",
        answer="""
        {
          "data": {
            "id": 48211, "symbol": "BRK/B", "instrument-type": "Equity", "cusip": "74800Q105",
            "short-description": "QUANTEX CORP", "is-index": false, "listed-market": "XNAS",
            "description": "Quantex Corporation - Common Stock", "lendability": "Easy To Borrow",
            "borrow-rate": "0.0", "market-time-instrument-collection": "Equity", "is-closing-only": false,
            "is-options-closing-only": false, "active": true, "is-fractional-quantity-eligible": true,
            "is-illiquid": false, "is-etf": false, "streamer-symbol": "QNTX",
            "tick-sizes": [{"value": "0.0001", "threshold": "1.0"}, {"value": "0.01"}],
            "option-tick-sizes": [{"value": "0.05", "threshold": "3.0"}, {"value": "0.1"}],
            "is-fraud-risk": false
          },
          "context": "/instruments/equities/BRK%2FB"
        }
        """,
        facts={
            "symbol": "BRK/B",
            "id": 48211,
            "borrow_rate": Decimal("0.0"),
            "is_fraud_risk": False,
            "tick_sizes.#": 2,
            "tick_sizes[0].threshold": Decimal("1.0"),
            "halted_at": None,
        },
    ),
    Exchange(
        name="active equities, in pages",
        operation="instruments.active_equities",
        options={"lendability": "Preborrow", "per_page": 5000, "page_offset": 2},
        target="/instruments/equities/active?lendability=Preborrow&per-page=5000&page-offset=2",
        answer="""
        {
          "data": {
            "items": [
              {
                "id": 48211, "symbol": "QNTX", "instrument-type": "Equity", "cusip": "74800Q105",
                "short-description": "QUANTEX CORP", "is-index": false, "listed-market": "XNAS",
                "description": "Quantex Corporation - Common Stock", "lendability": "Easy To Borrow",
                "borrow-rate": "0.0", "market-time-instrument-collection": "Equity",
                "is-closing-only": false, "is-options-closing-only": false, "active": true,
                "is-fractional-quantity-eligible": true, "is-illiquid": false, "is-etf": false,
                "streamer-symbol": "QNTX",
                "tick-sizes": [{"value": "0.0001", "threshold": "1.0"}, {"value": "0.01"}],
                "option-tick-sizes": [{"value": "0.05", "threshold": "3.0"}, {"value": "0.1"}]
              }
            ]
          },
          "pagination": {
            "per-page": 5000, "page-offset": 2, "item-offset": 0, "total-items": 1, "total-pages": 1,
            "current-item-count": 1, "previous-link": null, "next-link": null,
            "paging-link-template": null
          }
        }
        """,
        facts={
            "#": 1,
            "[0].symbol": "QNTX",
        },
        pagination={"page_offset": 2, "per_page": 5000},
    ),
    Exchange(
        name="one option, whose symbol holds blanks",
        operation="instruments.equity_option",
        arguments=("QNTX  261218C00045000",),
        options={"active": True},
        target="/instruments/equity-options/QNTX%20%20261218C00045000?active=true",
        answer="""
        {
          "data": {
            "symbol": "QNTX  261218C00045000", "instrument-type": "Equity Option", "active": true,
            "strike-price": "45.0", "root-symbol": "QNTX", "underlying-symbol": "QNTX",
            "expiration-date": "2026-12-18", "exercise-style": "American", "shares-per-contract": 100,
            "option-type": "C", "option-chain-type": "Standard", "expiration-type": "Regular",
            "settlement-type": "PM", "stops-trading-at": "2026-12-18T21:00:00.000+00:00",
            "market-time-instrument-collection": "Equity Option", "days-to-expiration": 27,
            "expires-at": "2026-12-18T21:00:00.000+00:00", "is-closing-only": false,
            "streamer-symbol": ".QNTX261218C45"
          }
        }
        """,
        facts={
            "symbol": "QNTX  261218C00045000",
            "strike_price": Decimal("45.0"),
            "shares_per_contract": 100,
            "option_type": "C",
        },
    ),
    Exchange(
        name="a future with everything around it",
        operation="instruments.futures",
        options={
            "symbols": ["/ESH7"],
            "product_codes": ["ES"],
            "exchange": "CME",
            "security_ids": ["20711"],
            "only_active_futures": False,
            "per_page": 250,
            "page_offset": 0,
        },
        target="/instruments/futures?symbol[]=%2FESH7&product-code[]=ES&exchange=CME&security-id[]=20711"
        "&only-active-futures=false&per-page=250&page-offset=0",
        answer="""
        {
          "data": {
            "items": [
              {
                "symbol": "/ESH7", "product-code": "ES", "contract-size": "1.0", "tick-size": "0.25",
                "notional-multiplier": "50.0", "main-fraction": "0.0", "sub-fraction": "0.0",
                "display-factor": "0.01", "last-trade-date": "2027-03-19",
                "expiration-date": "2027-03-19", "closing-only-date": "2027-03-18", "active": true,
                "active-month": false, "next-active-month": true, "is-closing-only": false,
                "stops-trading-at": "2027-03-19T13:30:00.000+00:00",
                "expires-at": "2027-03-19T13:30:00.000+00:00", "product-group": "CME_ES",
                "exchange": "CME", "roll-target-symbol": "/ESM7", "exchange-symbol": "ESH7",
                "security-id": "20711", "streamer-exchange-code": "XCME",
                "streamer-symbol": "/ESH27:XCME", "back-month-first-calendar-symbol": true,
                "is-tradeable": true, "future-etf-equivalent": {"symbol": "SPY", "share-quantity": 501},
                "tick-sizes": [{"value": "0.25"}],
                "option-tick-sizes": [{"value": "0.05", "threshold": "10.0"}, {"value": "0.25"}],
                "spread-tick-sizes": [{"value": "0.05", "symbol": "/ESM7"}], "exchange-data": {"a": 1},
                "future-product": {
                  "root-symbol": "/ES", "code": "ES", "listed-months": ["H", "M", "U", "Z"],
                  "roll": {"name": "equity_index", "active-count": 3}
                }
              }
            ]
          },
          "pagination": {
            "per-page": 1000, "page-offset": 0, "item-offset": 0, "total-items": 1, "total-pages": 1,
            "current-item-count": 1, "previous-link": null, "next-link": null,
            "paging-link-template": null
          }
        }
        """,
        facts={
            "#": 1,
            "[0].symbol": "/ESH7",
            "[0].notional_multiplier": Decimal("50.0"),
            "[0].first_notice_date": None,
            "[0].stops_trading_at": dt.datetime(2027, 3, 19, 13, 30, tzinfo=dt.UTC),
            "[0].future_etf_equivalent.share_quantity": 501,
            "[0].future_product.listed_months": ("H", "M", "U", "Z"),
            "[0].future_product.roll.active_count": 3,
            "[0].spread_tick_sizes[0].symbol": "/ESM7",
            "[0].exchange_data": {"a": 1},
        },
        pagination={"total_pages": 1},
    ),
    Exchange(
        name="one future",
        operation="instruments.future",
        arguments=("/ESH7",),
        target="/instruments/futures/%2FESH7",
        answer="""
        {
          "data": {
            "symbol": "/ESH7", "product-code": "ES", "contract-size": "1.0", "tick-size": "0.25",
            "notional-multiplier": "50.0", "main-fraction": "0.0", "sub-fraction": "0.0",
            "display-factor": "0.01", "last-trade-date": "2027-03-19", "expiration-date": "2027-03-19",
            "closing-only-date": "2027-03-18", "active": true, "active-month": false,
            "next-active-month": true, "is-closing-only": false,
            "stops-trading-at": "2027-03-19T13:30:00.000+00:00",
            "expires-at": "2027-03-19T13:30:00.000+00:00", "product-group": "CME_ES", "exchange": "CME",
            "roll-target-symbol": "/ESM7", "exchange-symbol": "ESH7", "security-id": "20711",
            "streamer-exchange-code": "XCME", "streamer-symbol": "/ESH27:XCME",
            "back-month-first-calendar-symbol": true, "is-tradeable": true,
            "future-etf-equivalent": {"symbol": "SPY", "share-quantity": 501},
            "tick-sizes": [{"value": "0.25"}],
            "option-tick-sizes": [{"value": "0.05", "threshold": "10.0"}, {"value": "0.25"}],
            "spread-tick-sizes": [{"value": "0.05", "symbol": "/ESM7"}]
          }
        }
        """,
        facts={
            "product_code": "ES",
            "streamer_symbol": "/ESH27:XCME",
            "option_tick_sizes[1].value": Decimal("0.25"),
            "active_month": False,
        },
    ),
    Exchange(
        name="products with their option products and cutoff times",
        operation="instruments.future_products",
        options={"page_offset": 0},
        target="/instruments/future-products?page-offset=0",
        answer="""
        {
          "data": {
            "items": [
              {
                "root-symbol": "/MNQ", "code": "MNQ", "description": "Micro E-mini Nasdaq",
                "clearing-code": "NM", "clearing-exchange-code": "16", "clearport-code": "MNQ",
                "legacy-code": "MNQ", "exchange": "CME", "legacy-exchange-code": "CME",
                "product-type": "Financial", "listed-months": ["H", "M", "U", "Z"],
                "active-months": ["H", "M", "U", "Z"], "notional-multiplier": "2.0", "tick-size": "0.25",
                "display-factor": "0.01", "streamer-exchange-code": "XCME", "small-notional": true,
                "back-month-first-calendar-symbol": true, "first-notice": false, "cash-settled": true,
                "security-group": "MN", "market-sector": "Equity Index", "supported": true,
                "futures-trading-cutoff-times": [{"offset-seconds": 34200,
                                                  "timezone": "Market Zone", "timing": "Default"}],
                "option-products": [
                  {
                    "root-symbol": "EW3", "cash-settled": false, "code": "EW3", "legacy-code": "EW3",
                    "clearport-code": "EW3", "clearing-code": "E3", "clearing-exchange-code": "16",
                    "clearing-price-multiplier": "1.0", "display-factor": "0.01", "exchange": "CME",
                    "product-type": "Physical", "expiration-type": "Weekly", "settlement-delay-days": 0,
                    "is-am-settled": false, "is-rollover": false, "market-sector": "Equity Index",
                    "supported": true,
                    "futures-trading-cutoff-times": [
                      {
                        "offset-seconds": 34200, "timezone": "Market Zone", "timing": "Default"
                      }
                    ]
                  },
                  {
                    "root-symbol": "EW3", "cash-settled": false, "code": "EW3", "legacy-code": "EW3",
                    "clearport-code": "EW3", "clearing-code": "E3", "clearing-exchange-code": "16",
                    "clearing-price-multiplier": "1.0", "display-factor": "0.01", "exchange": "CME",
                    "product-type": "Physical", "expiration-type": "Weekly", "settlement-delay-days": 0,
                    "is-am-settled": false, "is-rollover": false, "market-sector": "Equity Index",
                    "supported": true,
                    "futures-trading-cutoff-times": [
                      {
                        "offset-seconds": 34200, "timezone": "Market Zone", "timing": "Default"
                      }
                    ]
                  }
                ],
                "roll": {
                  "name": "equity_index", "active-count": 3, "cash-settled": true,
                  "business-days-offset": 4, "first-notice": false
                }
              }
            ]
          },
          "pagination": {
            "per-page": 1000, "page-offset": 0, "item-offset": 0, "total-items": 1, "total-pages": 1,
            "current-item-count": 1, "previous-link": null, "next-link": null,
            "paging-link-template": null
          }
        }
        """,
        facts={
            "#": 1,
            "[0].code": "MNQ",
            "[0].active_months[3]": "Z",
            "[0].futures_trading_cutoff_times[0].offset_seconds": 34200,
            "[0].option_products.#": 2,
            "[0].option_products[0].clearing_price_multiplier": Decimal("1.0"),
            "[0].option_products[1].futures_trading_cutoff_times[0].timing": "Default",
            "[0].roll.business_days_offset": 4,
            "[0].base_tick": None,
        },
        pagination={"total_items": 1},
    ),
    Exchange(
        name="one product",
        operation="instruments.future_product",
        arguments=(
            "CME",
            "MNQ",
        ),
        target="/instruments/future-products/CME/MNQ",
        answer="""
        {
          "data": {
            "root-symbol": "/MNQ", "code": "MNQ", "description": "Micro E-mini Nasdaq",
            "clearing-code": "NM", "clearing-exchange-code": "16", "clearport-code": "MNQ",
            "legacy-code": "MNQ", "exchange": "CME", "legacy-exchange-code": "CME",
            "product-type": "Financial", "listed-months": ["H", "M", "U", "Z"],
            "active-months": ["H", "M", "U", "Z"], "notional-multiplier": "2.0", "tick-size": "0.25",
            "display-factor": "0.01", "streamer-exchange-code": "XCME", "small-notional": true,
            "back-month-first-calendar-symbol": true, "first-notice": false, "cash-settled": true,
            "security-group": "MN", "market-sector": "Equity Index", "supported": true,
            "futures-trading-cutoff-times": [{"offset-seconds": 34200, "timezone": "Market Zone", "timing": "Default"}],
            "option-products": [],
            "roll": {
              "name": "equity_index", "active-count": 3, "cash-settled": true, "business-days-offset": 4,
              "first-notice": false
            }
          }
        }
        """,
        facts={
            "clearing_exchange_code": "16",
            "small_notional": True,
            "option_products": (),
        },
    ),
    Exchange(
        name="option products with the product of their futures",
        operation="instruments.future_option_products",
        options={"page_offset": 0},
        target="/instruments/future-option-products?page-offset=0",
        answer="""
        {
          "data": {
            "items": [
              {
                "root-symbol": "EW3", "cash-settled": false, "code": "EW3", "legacy-code": "EW3",
                "clearport-code": "EW3", "clearing-code": "E3", "clearing-exchange-code": "16",
                "clearing-price-multiplier": "1.0", "display-factor": "0.01", "exchange": "CME",
                "product-type": "Physical", "expiration-type": "Weekly", "settlement-delay-days": 0,
                "is-am-settled": false, "is-rollover": false, "market-sector": "Equity Index",
                "supported": true,
                "futures-trading-cutoff-times": [{"offset-seconds": 34200,
                                                  "timezone": "Market Zone", "timing": "Default"}],
                "future-product": {"code": "ES", "root-symbol": "/ES"}
              }
            ]
          },
          "pagination": {
            "per-page": 1000, "page-offset": 0, "item-offset": 0, "total-items": 1, "total-pages": 1,
            "current-item-count": 1, "previous-link": null, "next-link": null,
            "paging-link-template": null
          }
        }
        """,
        facts={
            "[0].root_symbol": "EW3",
            "[0].is_rollover": False,
            "[0].future_product.code": "ES",
        },
        pagination={"per_page": 1000},
    ),
    Exchange(
        name="an option product by its root",
        operation="instruments.future_option_product",
        arguments=("EW3",),
        target="/instruments/future-option-products/EW3",
        answer="""
        {
          "data": {
            "root-symbol": "EW3", "cash-settled": false, "code": "EW3", "legacy-code": "EW3",
            "clearport-code": "EW3", "clearing-code": "E3", "clearing-exchange-code": "16",
            "clearing-price-multiplier": "1.0", "display-factor": "0.01", "exchange": "CME",
            "product-type": "Physical", "expiration-type": "Weekly", "settlement-delay-days": 0,
            "is-am-settled": false, "is-rollover": false, "market-sector": "Equity Index",
            "supported": true,
            "futures-trading-cutoff-times": [{"offset-seconds": 34200, "timezone": "Market Zone", "timing": "Default"}],
            "future-product": {"code": "ES", "root-symbol": "/ES"}
          }
        }
        """,
        facts={
            "expiration_type": "Weekly",
            "settlement_delay_days": 0,
            "future_product.root_symbol": "/ES",
        },
    ),
    Exchange(
        name="an option product by exchange and root",
        operation="instruments.future_option_product_of_exchange",
        arguments=(
            "CME",
            "EW3",
        ),
        target="/instruments/future-option-products/CME/EW3",
        answer="""
        {
          "data": {
            "root-symbol": "EW3", "cash-settled": false, "code": "EW3", "legacy-code": "EW3",
            "clearport-code": "EW3", "clearing-code": "E3", "clearing-exchange-code": "16",
            "clearing-price-multiplier": "1.0", "display-factor": "0.01", "exchange": "CME",
            "product-type": "Physical", "expiration-type": "Weekly", "settlement-delay-days": 0,
            "is-am-settled": false, "is-rollover": false, "market-sector": "Equity Index",
            "supported": true,
            "futures-trading-cutoff-times": [{"offset-seconds": 34200, "timezone": "Market Zone", "timing": "Default"}],
            "future-product": {"code": "ES", "root-symbol": "/ES"}
          }
        }
        """,
        facts={
            "code": "EW3",
            "futures_trading_cutoff_times.#": 1,
        },
    ),
    Exchange(
        name="futures options, every filter",
        operation="instruments.future_options",
        options={
            "symbols": ["./ESH7 EW3F7 270115C6900"],
            "option_root_symbol": "EW3",
            "expiration_date": dt.date(2027, 1, 15),
            "maturity_date": dt.date(2027, 1, 15),
            "option_type": "C",
            "strike_price": Decimal("6900.50"),
            "exchange": "CME",
            "security_ids": ["1"],
            "per_page": 100,
            "page_offset": 0,
        },
        target="/instruments/future-options?symbol[]=.%2FESH7%20EW3F7%20270115C6900&option-root-symbol=EW3"
        "&expiration-date=2027-01-15&maturity-date=2027-01-15&option-type=C&strike-price=6900.50"
        "&exchange=CME&security-id[]=1&per-page=100&page-offset=0",
        answer="""
        {
          "data": {
            "items": [
              {
                "symbol": "./ESH7 EW3F7 270115C6900", "underlying-symbol": "/ESH7", "product-code": "ES",
                "expiration-date": "2027-01-15", "root-symbol": "/ES", "option-root-symbol": "EW3",
                "strike-price": "6900.0", "exchange": "CME", "exchange-symbol": "EW3F7 C6900",
                "streamer-symbol": "./EW3F27C6900:XCME", "option-type": "C", "exercise-style": "European",
                "is-vanilla": true, "is-primary-deliverable": true, "future-price-ratio": "1.0",
                "multiplier": "1.0", "underlying-count": "1.0", "is-confirmed": true,
                "notional-value": "0.5", "display-factor": "0.01", "security-exchange": "2", "sx-id": "0",
                "settlement-type": "Future", "strike-factor": "1.0", "maturity-date": "2027-01-15",
                "is-exercisable-weekly": true, "last-trade-time": "0", "days-to-expiration": 55,
                "is-closing-only": false, "active": true,
                "stops-trading-at": "2027-01-15T21:00:00.000+00:00",
                "expires-at": "2027-01-15T21:00:00.000+00:00"
              }
            ]
          },
          "pagination": {
            "per-page": 1000, "page-offset": 0, "item-offset": 0, "total-items": 1, "total-pages": 1,
            "current-item-count": 1, "previous-link": null, "next-link": null,
            "paging-link-template": null
          }
        }
        """,
        facts={
            "#": 1,
            "[0].strike_price": Decimal("6900.0"),
        },
        pagination={"total_items": 1},
    ),
    Exchange(
        name="one futures option",
        operation="instruments.future_option",
        arguments=("./ESH7 EW3F7 270115C6900",),
        target="/instruments/future-options/.%2FESH7%20EW3F7%20270115C6900",
        answer="""
        {
          "data": {
            "symbol": "./ESH7 EW3F7 270115C6900", "underlying-symbol": "/ESH7", "product-code": "ES",
            "expiration-date": "2027-01-15", "root-symbol": "/ES", "option-root-symbol": "EW3",
            "strike-price": "6900.0", "exchange": "CME", "exchange-symbol": "EW3F7 C6900",
            "streamer-symbol": "./EW3F27C6900:XCME", "option-type": "C", "exercise-style": "European",
            "is-vanilla": true, "is-primary-deliverable": true, "future-price-ratio": "1.0",
            "multiplier": "1.0", "underlying-count": "1.0", "is-confirmed": true, "notional-value": "0.5",
            "display-factor": "0.01", "security-exchange": "2", "sx-id": "0", "settlement-type": "Future",
            "strike-factor": "1.0", "maturity-date": "2027-01-15", "is-exercisable-weekly": true,
            "last-trade-time": "0", "days-to-expiration": 55, "is-closing-only": false, "active": true,
            "stops-trading-at": "2027-01-15T21:00:00.000+00:00",
            "expires-at": "2027-01-15T21:00:00.000+00:00"
          }
        }
        """,
        facts={
            "symbol": "./ESH7 EW3F7 270115C6900",
            "sx_id": "0",
            "maturity_date": dt.date(2027, 1, 15),
        },
    ),
    Exchange(
        name="cryptocurrencies with the symbols of the venues",
        operation="instruments.cryptocurrencies",
        options={"symbols": ["SOL/USD", "BTC/USD"]},
        target="/instruments/cryptocurrencies?symbol[]=SOL%2FUSD&symbol[]=BTC%2FUSD",
        answer="""
        {
          "data": {
            "items": [
              {
                "id": 91, "symbol": "SOL/USD", "instrument-type": "Cryptocurrency",
                "short-description": "Solana", "description": "Solana to USD", "is-closing-only": false,
                "active": true, "tick-size": "0.01", "streamer-symbol": "SOL/USD:CXTALP",
                "destination-venue-symbols": [
                  {
                    "id": 402, "symbol": "SOL/USD", "destination-venue": "ZERO_HASH_CLOB",
                    "max-quantity-precision": 8, "max-price-precision": 2, "routable": true
                  }
                ]
              }
            ]
          }
        }
        """,
        facts={
            "#": 1,
            "[0].tick_size": Decimal("0.01"),
            "[0].destination_venue_symbols[0].max_quantity_precision": 8,
            "[0].destination_venue_symbols[0].routable": True,
        },
    ),
    Exchange(
        name="one cryptocurrency",
        operation="instruments.cryptocurrency",
        arguments=("SOL/USD",),
        target="/instruments/cryptocurrencies/SOL%2FUSD",
        answer="""
        {
          "data": {
            "id": 91, "symbol": "SOL/USD", "instrument-type": "Cryptocurrency",
            "short-description": "Solana", "description": "Solana to USD", "is-closing-only": false,
            "active": true, "tick-size": "0.01", "streamer-symbol": "SOL/USD:CXTALP",
            "destination-venue-symbols": [
              {
                "id": 402, "symbol": "SOL/USD", "destination-venue": "ZERO_HASH_CLOB",
                "max-quantity-precision": 8, "max-price-precision": 2, "routable": true
              }
            ]
          }
        }
        """,
        facts={
            "id": 91,
            "instrument_type": "Cryptocurrency",
        },
    ),
    Exchange(
        name="warrants",
        operation="instruments.warrants",
        options={"symbols": ["QNTXW"]},
        target="/instruments/warrants?symbol[]=QNTXW",
        answer="""
        {
          "data": {
            "items": [
              {
                "symbol": "QNTXW", "instrument-type": "Warrant", "listed-market": "XNAS",
                "description": "Quantex Corporation - Warrant expiring 5/14/2029",
                "is-closing-only": false, "active": true
              }
            ]
          }
        }
        """,
        facts={
            "[0].symbol": "QNTXW",
            "[0].cusip": None,
        },
    ),
    Exchange(
        name="no warrants, as in the sandbox",
        operation="instruments.warrants",
        target="/instruments/warrants",
        answer='{"data": {"items": []}}',
        facts={
            "#": 0,
        },
    ),
    Exchange(
        name="one row for a pair, one for a whole type",
        operation="instruments.quantity_decimal_precisions",
        target="/instruments/quantity-decimal-precisions",
        answer="""
        {
          "data": {
            "items": [
              {
                "instrument-type": "Cryptocurrency", "symbol": "SOL/USD", "value": 8,
                "minimum-increment-precision": 3
              },
              {"instrument-type": "Equity", "value": 5, "minimum-increment-precision": 0}
            ]
          }
        }
        """,
        facts={
            "#": 2,
            "[0].symbol": "SOL/USD",
            "[0].value": 8,
            "[1].symbol": None,
            "[1].minimum_increment_precision": 0,
        },
    ),
    Exchange(
        name="pairs of currencies",
        operation="instruments.currency_pairs",
        target="/instruments/currency-pairs",
        answer="""
        {
          "data": {
            "items": [
              {
                "id": 7, "description": "Euro to US Dollar", "dx-symbol": "EUR/USD", "symbol": "EUR/USD",
                "instrument-type": "Currency Pair"
              }
            ]
          }
        }
        """,
        facts={
            "[0].dx_symbol": "EUR/USD",
            "[0].instrument_type": "Currency Pair",
            "[0].instrument_type.is_known": True,
        },
    ),
)
