"""Option chains and search."""

import datetime as dt
from decimal import Decimal

from tests.vectors.exchange import Exchange

EXCHANGES = (
    Exchange(
        name="all options of an underlying",
        operation="option_chains.flat",
        arguments=("QNTX",),
        target="/option-chains/QNTX",
        answer="""
        {
          "data": {
            "items": [
              {
                "symbol": "QNTX  261218C00045000", "instrument-type": "Equity Option", "active": true,
                "strike-price": "45.0", "root-symbol": "QNTX", "underlying-symbol": "QNTX",
                "expiration-date": "2026-12-18", "exercise-style": "American", "shares-per-contract": 100,
                "option-type": "C", "option-chain-type": "Standard", "expiration-type": "Regular",
                "settlement-type": "PM", "stops-trading-at": "2026-12-18T21:00:00.000+00:00",
                "market-time-instrument-collection": "Equity Option", "days-to-expiration": 27,
                "expires-at": "2026-12-18T21:00:00.000+00:00", "is-closing-only": false,
                "streamer-symbol": ".QNTX261218C45"
              },
              {
                "symbol": "QNTX  261218C00045000", "instrument-type": "Equity Option", "active": true,
                "strike-price": "45.0", "root-symbol": "QNTX", "underlying-symbol": "QNTX",
                "expiration-date": "2026-12-18", "exercise-style": "American", "shares-per-contract": 100,
                "option-type": "P", "option-chain-type": "Standard", "expiration-type": "Regular",
                "settlement-type": "PM", "stops-trading-at": "2026-12-18T21:00:00.000+00:00",
                "market-time-instrument-collection": "Equity Option", "days-to-expiration": 27,
                "expires-at": "2026-12-18T21:00:00.000+00:00", "is-closing-only": false,
                "streamer-symbol": ".QNTX261218C45"
              }
            ]
          }
        }
        """,
        facts={
            "#": 2,
            "[0].expires_at": dt.datetime(2026, 12, 18, 21, tzinfo=dt.UTC),
            "[1].option_type": "P",
        },
    ),
    Exchange(
        name="symbols and streamer symbols in parallel",
        operation="option_chains.compact",
        arguments=("BRK/B",),
        target="/option-chains/BRK%2FB/compact",
        answer="""
        {
          "data": {
            "items": [
              {
                "underlying-symbol": "QNTX", "root-symbol": "QNTX", "option-chain-type": "Standard",
                "settlement-type": "PM", "shares-per-contract": 100, "expiration-type": "Weekly",
                "deliverables": [
                  {
                    "id": 90211, "root-symbol": "QNTX", "deliverable-type": "Shares",
                    "description": "100 shares of QNTX", "amount": "100.0", "symbol": "QNTX",
                    "instrument-type": "Equity", "percent": "100"
                  }
                ],
                "symbols": ["QNTX  261127C00045000", "QNTX  261127P00045000"],
                "streamer-symbols": [".QNTX261127C45", ".QNTX261127P45"]
              }
            ]
          }
        }
        """,
        facts={
            "#": 1,
            "[0].symbols": ("QNTX  261127C00045000", "QNTX  261127P00045000"),
            "[0].streamer_symbols[1]": ".QNTX261127P45",
            "[0].deliverables[0].amount": Decimal("100.0"),
            "[0].deliverables[0].percent": Decimal(100),
        },
    ),
    Exchange(
        name="expirations and strikes of each root",
        operation="option_chains.nested",
        arguments=("QNTX",),
        target="/option-chains/QNTX/nested",
        answer="""
        {
          "data": {
            "items": [
              {
                "underlying-symbol": "QNTX", "root-symbol": "QNTX", "option-chain-type": "Standard",
                "shares-per-contract": 100,
                "tick-sizes": [{"value": "0.05", "threshold": "3.0"}, {"value": "0.1"}],
                "deliverables": [],
                "expirations": [
                  {
                    "expiration-type": "Regular", "expiration-date": "2026-12-18",
                    "days-to-expiration": 27, "settlement-type": "PM",
                    "strikes": [
                      {
                        "strike-price": "45.0", "call": "QNTX  261218C00045000",
                        "call-streamer-symbol": ".QNTX261218C45", "put": "QNTX  261218P00045000",
                        "put-streamer-symbol": ".QNTX261218P45"
                      }
                    ]
                  }
                ]
              },
              {"root-symbol": "QNTX1", "expirations": []}
            ]
          }
        }
        """,
        facts={
            "#": 2,
            "[0].expirations[0].expiration_date": dt.date(2026, 12, 18),
            "[0].expirations[0].strikes[0].strike_price": Decimal("45.0"),
            "[0].expirations[0].strikes[0].put": "QNTX  261218P00045000",
            "[0].deliverables": (),
            "[1].expirations": (),
        },
    ),
    Exchange(
        name="futures and the chains of their options, in one object",
        operation="option_chains.nested_futures",
        arguments=("ES",),
        target="/futures-option-chains/ES/nested",
        answer="""
        {
          "data": {
            "futures": [
              {
                "symbol": "/ESH7", "root-symbol": "/ES", "streamer-symbol": "/ESH27:XCME",
                "expiration-date": "2027-03-19", "days-to-expiration": 118, "active-month": true,
                "next-active-month": false, "stops-trading-at": "2027-03-19T13:30:00.000+00:00",
                "expires-at": "2027-03-19T13:30:00.000+00:00", "maturity-date": "2027-03-19 08:30:00 CDT"
              }
            ],
            "option-chains": [
              {
                "underlying-symbol": "/ES", "root-symbol": "/ES", "exercise-style": "European",
                "expirations": [
                  {
                    "underlying-symbol": "/ESH7", "root-symbol": "/ES", "option-root-symbol": "EW3",
                    "option-contract-symbol": "EW3F7", "asset": "EW3", "expiration-date": "2027-01-15",
                    "days-to-expiration": 55, "expiration-type": "Weekly", "settlement-type": "PM",
                    "notional-value": "0.5", "display-factor": "0.01", "strike-factor": "1.0",
                    "stops-trading-at": "2027-01-15T21:00:00.000+00:00",
                    "expires-at": "2027-01-15T21:00:00.000+00:00",
                    "tick-sizes": [{"value": "0.05", "threshold": "10.0"}, {"value": "0.25"}],
                    "strikes": [
                      {
                        "strike-price": "6900.0", "call": "./ESH7 EW3F7 270115C6900",
                        "call-streamer-symbol": "./EW3F27C6900:XCME", "put": "./ESH7 EW3F7 270115P6900",
                        "put-streamer-symbol": "./EW3F27P6900:XCME"
                      }
                    ]
                  }
                ]
              }
            ]
          }
        }
        """,
        facts={
            "futures[0].symbol": "/ESH7",
            "futures[0].maturity_date": dt.date(2027, 3, 19),
            "option_chains[0].exercise_style": "European",
            "option_chains[0].expirations[0].option_contract_symbol": "EW3F7",
            "option_chains[0].expirations[0].strikes[0].call": "./ESH7 EW3F7 270115C6900",
            "option_chains[0].expirations[0].tick_sizes[0].value": Decimal("0.05"),
        },
    ),
    Exchange(
        name="hits that expire and hits that do not",
        operation="search.instruments",
        options={
            "query": "crude oil",
            "types": ["Future", "Equity Option"],
            "categories": ["Energy"],
            "exchanges": ["CME", "CFE"],
            "instrument_sub_types": ["ETF"],
            "from_date": dt.date(2026, 3, 2),
            "limit": 100,
        },
        target="/instruments/search?query=crude%20oil&type=Future,Equity%20Option&category=Energy"
        "&exchange=CME,CFE&instrument-sub-type=ETF&from-date=2026-03-02&limit=100",
        answer="""
        {
          "data": {
            "items": [
              {
                "symbol": "/CLM8", "description": "Light Sweet Crude Oil June 2028", "exchange": "CME",
                "instrument-type": "Future", "stops-trading-at": "2028-05-19T18:30:00.000+00:00"
              },
              {
                "symbol": "CRUDE", "description": "Crude Corp", "exchange": "XNAS",
                "instrument-type": "Equity", "strike-types": ["Above"]
              }
            ]
          }
        }
        """,
        facts={
            "#": 2,
            "[0].stops_trading_at": dt.datetime(2028, 5, 19, 18, 30, tzinfo=dt.UTC),
            "[1].stops_trading_at": None,
            "[1].strike_types": ("Above",),
        },
    ),
    Exchange(
        name="nothing found",
        operation="search.instruments",
        options={"query": "SPY"},
        target="/instruments/search?query=SPY",
        answer='{"data": {"items": []}}',
        facts={
            "#": 0,
        },
    ),
    Exchange(
        name="symbols that begin alike",
        operation="search.symbols",
        arguments=("BRK/",),
        target="/symbols/search/BRK%2F",
        answer="""
        {
          "data": {
            "items": [
              {
                "symbol": "QNTX", "description": "Quantex Corporation - Common Stock",
                "listed-market": "XNAS", "price-increments": "Increments of $0.01",
                "trading-hours": "9:30am to 4:00pm EST", "options": true, "instrument-type": "Equity"
              }
            ]
          }
        }
        """,
        facts={
            "#": 1,
            "[0].price_increments": "Increments of $0.01",
            "[0].options": True,
        },
    ),
    Exchange(
        name="one object, as published",
        operation="search.symbols",
        arguments=("QNTX",),
        target="/symbols/search/QNTX",
        answer="""
        {
          "data": {
            "symbol": "QNTX", "description": "Quantex Corporation - Common Stock",
            "listed-market": "XNAS", "price-increments": "Increments of $0.01",
            "trading-hours": "9:30am to 4:00pm EST", "options": true, "instrument-type": "Equity"
          }
        }
        """,
        facts={
            "#": 1,
            "[0].symbol": "QNTX",
        },
    ),
)
