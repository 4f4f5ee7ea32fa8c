"""Bodies as services have been seen to send them where that differs from the document; both forms are read alike."""

import datetime as dt
from decimal import Decimal

from tests.vectors.exchange import ACCOUNT, CUSTOMER, Exchange

EXCHANGES = (
    Exchange(
        name="integers for identifiers and quantities, epoch milliseconds for a date-time",
        operation="orders.live",
        arguments=("me", [ACCOUNT]),
        target="/customers/me/orders/live?account-numbers[]=5WT00001",
        answer="""
        {
          "data": {
            "items": [
              {
                "id": 54758826,
                "complex-order-id": 310,
                "replaces-order-id": 54758800,
                "replacing-order-id": 54758830,
                "user-id": 7654321,
                "preflight-id": 16,
                "size": 10,
                "leg-count": 1,
                "updated-at": 1773068402125,
                "status": "Partially Removed",
                "contingent-status": "Pending Condition",
                "complex-order-tag": "OTOCO::oco-1-order",
                "ext-client-order-id": "c-1",
                "ext-exchange-order-number": "e-1",
                "ext-global-order-number": 4711,
                "destination-venue": "EXAMPLE",
                "legs": [
                  {
                    "symbol": "BRK/B",
                    "quantity": 10,
                    "remaining-quantity": 7.5,
                    "fills": [{"fill-id": "1", "quantity": 2.5, "fill-price": "401.05"}]
                  }
                ]
              }
            ]
          }
        }
        """,
        facts={
            "[0].id": "54758826",
            "[0].complex_order_id": "310",
            "[0].replaces_order_id": "54758800",
            "[0].replacing_order_id": "54758830",
            "[0].user_id": "7654321",
            "[0].preflight_id": "16",
            "[0].size": Decimal(10),
            "[0].leg_count": Decimal(1),
            "[0].updated_at": dt.datetime(2026, 3, 9, 15, 0, 2, 125000, tzinfo=dt.UTC),
            "[0].status": "Partially Removed",
            "[0].contingent_status": "Pending Condition",
            "[0].complex_order_tag": "OTOCO::oco-1-order",
            "[0].ext_client_order_id": "c-1",
            "[0].ext_exchange_order_number": "e-1",
            "[0].ext_global_order_number": 4711,
            "[0].destination_venue": "EXAMPLE",
            "[0].legs[0].quantity": Decimal(10),
            "[0].legs[0].remaining_quantity": Decimal("7.5"),
            "[0].legs[0].fills[0].quantity": Decimal("2.5"),
        },
        observed=True,
    ),
    Exchange(
        name="an order rule spelled rules and conditions, a preview without identifier at epoch 0",
        operation="orders.cancel",
        arguments=(ACCOUNT, 54758826),
        method="DELETE",
        target="/accounts/5WT00001/orders/54758826",
        answer="""
        {
          "data": {
            "status": "Cancelled",
            "updated-at": 0,
            "value-effect": "",
            "rules": {
              "route-after": "2026-03-09T10:30:00.000-04:00",
              "conditions": [{"id": 77, "comparator": "gte", "threshold": "180.25"}]
            }
          }
        }
        """,
        facts={
            "id": None,
            "status": "Cancelled",
            "updated_at": dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
            "value_effect": "",
            "order_rule.route_after": dt.datetime(2026, 3, 9, 14, 30, tzinfo=dt.UTC),
            "order_rule.order_conditions[0].id": "77",
            "order_rule.order_conditions[0].threshold": Decimal("180.25"),
        },
        observed=True,
    ),
    Exchange(
        name="breakdowns of fees",
        operation="complex_orders.edit_pairs",
        arguments=(ACCOUNT, 311),
        options={"ratio_price_comparator": "gte"},
        method="PATCH",
        target="/accounts/5WT00001/complex-orders/311",
        sent='{"ratio-price-comparator": "gte"}',
        answer="""
        {
          "data": {
            "fee-calculation": {
              "per-quantity": false,
              "clearing-fees-breakdown": [{"name": "OCC Clearing Fee", "value": "0.04", "effect": "Debit"}],
              "regulatory-fees-breakdown": [],
              "commission-breakdown": [],
              "proprietary-fees-breakdown": []
            },
            "warnings": [{"code": "w", "message": "m", "preflight-id": 12}]
          }
        }
        """,
        facts={
            "fee_calculation.per_quantity": False,
            "fee_calculation.clearing_fees_breakdown[0].value": Decimal("0.04"),
            "fee_calculation.regulatory_fees_breakdown": (),
            "warnings[0].preflight_id": "12",
        },
        observed=True,
    ),
    Exchange(
        name="null links in the pagination block, an unknown field, an unknown enumeration value",
        operation="orders.search",
        arguments=(CUSTOMER, [ACCOUNT]),
        options={"page_offset": 2, "per_page": 2},
        target="/customers/7654321/orders?account-numbers[]=5WT00001&page-offset=2&per-page=2&start-date=2000-01-01",
        answer="""
        {
          "data": {
            "items": [
              {"id": "5", "status": "On Hold", "brand-new": {"deep": [1, 2.50, null]}}
            ]
          },
          "api-version": "v1",
          "context": "/customers/7654321/orders",
          "pagination": {
            "per-page": 2,
            "page-offset": 2,
            "item-offset": 4,
            "total-items": 5,
            "total-pages": 3,
            "current-item-count": 1,
            "previous-link": null,
            "next-link": null,
            "paging-link-template": null
          }
        }
        """,
        facts={
            "#": 1,
            "[0].status": "On Hold",
            "[0].status.is_known": False,
            "[0].extra.#": 1,
        },
        pagination={"item_offset": 4, "total_items": 5, "total_pages": 3, "current_item_count": 1},
        observed=True,
    ),
    Exchange(
        name="NaN where there is no price",
        operation="margin.requirements",
        arguments=(ACCOUNT,),
        target="/margin/accounts/5WT00001/requirements",
        answer="""
        {
          "data": {
            "last-state-timestamp": 1773068402125,
            "groups": [
              {
                "code": "/ES",
                "groups": [
                  {
                    "includes-working-order": true,
                    "position-entries": [
                      {
                        "instrument-symbol": "./ESZ6 EW3U6 260918P9100",
                        "instrument-type": "Future Option",
                        "quantity": 3,
                        "average-open-price": "NaN",
                        "close-price": "NaN",
                        "fixing-price": "NaN",
                        "strike-price": "9100.0"
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
            "last_state_timestamp": dt.datetime(2026, 3, 9, 15, 0, 2, 125000, tzinfo=dt.UTC),
            "groups[0].groups[0].includes_working_order": True,
            "groups[0].groups[0].position_entries[0].quantity": Decimal(3),
            "groups[0].groups[0].position_entries[0].average_open_price": None,
            "groups[0].groups[0].position_entries[0].extra.average-open-price": "NaN",
            "groups[0].groups[0].position_entries[0].strike_price": Decimal("9100.0"),
        },
        observed=True,
    ),
    Exchange(
        name="numbers for decimals",
        operation="market_metrics.dividends",
        arguments=("./ESZ6 EW3U6 260918P9100",),
        target="/market-metrics/historic-corporate-events/dividends/.%2FESZ6%20EW3U6%20260918P9100",
        answer='{"data":{"items":[{"occurred-date":"2025-11-20","amount":0.25},{"amount":1}]}}',
        facts={"[0].amount": Decimal("0.25"), "[1].amount": Decimal(1)},
        observed=True,
    ),
    Exchange(
        name="a maturity date followed by more text",
        operation="instruments.futures_option_chain",
        arguments=("6E",),
        target="/futures-option-chains/6E",
        answer="""
        {
          "data": {
            "items": [
              {"symbol": "./6EZ6 EUUX6  261106P1.05", "maturity-date": "2026-11-06 00:00:00", "days-to-expiration": 0}
            ]
          }
        }
        """,
        facts={"[0].maturity_date": dt.date(2026, 11, 6), "[0].days_to_expiration": 0},
        observed=True,
    ),
    Exchange(
        name="the calendar as the object itself",
        operation="market_time.equity_holidays",
        target="/market-time/equities/holidays",
        answer='{"data":{"market-holidays":["2026-01-01"],"market-half-days":[]}}',
        facts={"market_holidays": (dt.date(2026, 1, 1),), "market_half_days": ()},
        observed=True,
    ),
    Exchange(
        name="the calendar keyed by date",
        operation="market_time.equity_holidays",
        target="/market-time/equities/holidays",
        answer="""
        {
          "data": {
            "market-holidays": {"2026-01-01": "New Year", "2026-12-25": "Christmas"},
            "market-half-days": {}
          }
        }
        """,
        facts={"market_holidays": (dt.date(2026, 1, 1), dt.date(2026, 12, 25)), "market_half_days": ()},
        observed=True,
    ),
    Exchange(
        name="instrument_type inside a watchlist entry",
        operation="watchlists.list",
        target="/watchlists",
        answer='{"data":{"items":[{"name":"a","watchlist-entries":[{"symbol":"SPY","instrument_type":"Equity"}]}]}}',
        facts={"[0].watchlist_entries[0].instrument_type": "Equity"},
        observed=True,
    ),
    Exchange(
        name="integers in a transaction, lots",
        operation="transactions.list",
        arguments=(ACCOUNT,),
        options={"page_offset": 0},
        target="/accounts/5WT00001/transactions?page-offset=0",
        answer="""
        {
          "data": {
            "items": [
              {
                "id": 252640963,
                "transaction-type": "Trade",
                "order-id": 54758826,
                "leg-count": 1,
                "exec-id": "9",
                "ext-exec-id": "x9",
                "ext-group-id": "g9",
                "lots": [{"id": "l1", "quantity": "1.0", "price": "401.05"}]
              }
            ]
          }
        }
        """,
        facts={
            "[0].id": "252640963",
            "[0].order_id": "54758826",
            "[0].leg_count": 1,
            "[0].exec_id": "9",
            "[0].lots[0].quantity": Decimal("1.0"),
        },
        observed=True,
    ),
)
