"""Transactions and margin."""

import datetime as dt
from decimal import Decimal

from brokerage_async.models import (
    InstrumentType,
    LegAction,
    MarginOrder,
    MarginOrderLeg,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from tests.vectors.exchange import ACCOUNT, Exchange

EXCHANGES = (
    Exchange(
        name="a trade and a cash movement, every filter but types[]",
        operation="transactions.list",
        arguments=(ACCOUNT,),
        options={
            "page_offset": 0,
            "per_page": 250,
            "sort": "Desc",
            "start_date": dt.date(2026, 1, 1),
            "end_date": dt.date(2026, 3, 31),
            "start_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
            "end_at": dt.datetime(2026, 3, 31, 23, 59, 59, tzinfo=dt.UTC),
            "symbol": "AAPL  260612C00110000",
            "underlying_symbol": "AAPL",
            "instrument_type": "Equity Option",
            "action": "Buy to Open",
            "type": "Trade",
        },
        target="/accounts/5WT00001/transactions?page-offset=0&per-page=250&sort=Desc"
        "&start-date=2026-01-01&end-date=2026-03-31"
        "&start-at=2026-01-01T00%3A00%3A00Z&end-at=2026-03-31T23%3A59%3A59Z"
        "&symbol=AAPL%20%20260612C00110000&underlying-symbol=AAPL&instrument-type=Equity%20Option"
        "&action=Buy%20to%20Open&type=Trade",
        answer="""
        {
          "data": {
            "items": [
              {
                "id": "252640963",
                "account-number": "5WT00001",
                "transaction-type": "Trade",
                "transaction-sub-type": "Buy to Open",
                "transaction-date": "2026-03-09",
                "executed-at": "2026-03-09T15:00:01.001+00:00",
                "symbol": "AAPL  260612C00110000",
                "underlying-symbol": "AAPL",
                "instrument-type": "Equity Option",
                "action": "Buy to Open",
                "quantity": "2.0",
                "price": "1.5",
                "value": "300.0",
                "value-effect": "Debit",
                "net-value": "302.26",
                "net-value-effect": "Debit",
                "commission": "2.0",
                "commission-effect": "Debit",
                "clearing-fees": "0.2",
                "clearing-fees-effect": "Debit",
                "regulatory-fees": "0.06",
                "regulatory-fees-effect": "Debit",
                "proprietary-index-option-fees": "0.0",
                "proprietary-index-option-fees-effect": "None",
                "description": "Bought 2 calls @ 1.50",
                "is-estimated-fee": true,
                "order-id": "54758826",
                "leg-count": 2,
                "currency": "USD"
              },
              {"id": "252640000", "transaction-type": "Money Movement", "value": "1000.0", "value-effect": "Credit"}
            ]
          },
          "context": "/accounts/5WT00001/transactions",
          "pagination": {
            "per-page": 250,
            "page-offset": 0,
            "item-offset": 0,
            "total-items": 2,
            "total-pages": 1,
            "current-item-count": 2
          }
        }
        """,
        facts={
            "#": 2,
            "[0].id": "252640963",
            "[0].transaction_type": "Trade",
            "[0].transaction_date": dt.date(2026, 3, 9),
            "[0].executed_at": dt.datetime(2026, 3, 9, 15, 0, 1, 1000, tzinfo=dt.UTC),
            "[0].quantity": Decimal("2.0"),
            "[0].net_value": Decimal("302.26"),
            "[0].net_value_effect": "Debit",
            "[0].is_estimated_fee": True,
            "[0].order_id": "54758826",
            "[0].leg_count": 2,
            "[1].id": "252640000",
            "[1].symbol": None,
            "[1].quantity": None,
            "[1].value": Decimal("1000.0"),
        },
        pagination={"per_page": 250, "total_pages": 1, "total_items": 2, "current_item_count": 2},
    ),
    Exchange(
        name="several types at once",
        operation="transactions.list",
        arguments=(ACCOUNT,),
        options={"page_offset": 0, "types": ["Trade", "Receive Deliver"]},
        target="/accounts/5WT00001/transactions?page-offset=0&types[]=Trade&types[]=Receive%20Deliver",
        answer='{"data":{"items":[]},"context":"/transactions","pagination":{"total-pages":0,"current-item-count":0}}',
        facts={"#": 0},
        pagination={"total_pages": 0, "current_item_count": 0},
    ),
    Exchange(
        name="before and after a prospective order",
        operation="margin.dry_run",
        arguments=(
            ACCOUNT,
            MarginOrder(
                account_number=ACCOUNT,
                underlying_symbol="AAPL",
                underlying_instrument_type=InstrumentType.EQUITY,
                order_type=OrderType.LIMIT,
                time_in_force=TimeInForce.GTD,
                gtc_date=dt.date(2026, 6, 1),
                price=Decimal("1.5"),
                price_effect=PriceEffect.CREDIT,
                stop_trigger=Decimal("2.25"),
                replaces_order_id="54758826",
                legs=(
                    MarginOrderLeg(
                        symbol="AAPL  260612C00110000",
                        instrument_type=InstrumentType.EQUITY_OPTION,
                        action=LegAction.SELL_TO_OPEN,
                        quantity=Decimal(1),
                        remaining_quantity=Decimal(1),
                    ),
                ),
            ),
        ),
        method="POST",
        target="/margin/accounts/5WT00001/dry-run",
        sent="""
        {
          "account-number": "5WT00001",
          "underlying-symbol": "AAPL",
          "underlying-instrument-type": "Equity",
          "order-type": "Limit",
          "time-in-force": "GTD",
          "gtc-date": "2026-06-01",
          "price": "1.5",
          "price-effect": "Credit",
          "stop-trigger": "2.25",
          "replaces-order-id": "54758826",
          "legs": [
            {
              "symbol": "AAPL  260612C00110000",
              "instrument-type": "Equity Option",
              "action": "Sell to Open",
              "quantity": "1",
              "remaining-quantity": "1"
            }
          ]
        }
        """,
        answer="""
        {
          "data": {
            "orders": [{"id": "1", "status": "Received"}],
            "last-results": {"underlying-symbol": "AAPL", "margin-requirement": "0.0"},
            "base-results": {
              "code": "AAPL",
              "underlying-symbol": "AAPL",
              "underlying-type": "Equity",
              "underlying-price": "181.5",
              "margin-requirement": "0.0",
              "margin-requirement-effect": "None"
            },
            "new-order-results": {
              "code": "AAPL",
              "underlying-symbol": "AAPL",
              "margin-requirement": "3630.0",
              "margin-requirement-effect": "Debit",
              "order-ids": ["1"],
              "group-results": [{"margin-requirement": "3630.0"}],
              "marks": {"AAPL": "181.5"}
            },
            "change-in-margin-requirement": "3630.0",
            "change-in-margin-requirement-effect": "Debit",
            "change-in-buying-power": "3480.0",
            "change-in-buying-power-effect": "Debit",
            "current-buying-power": "50000.0",
            "current-buying-power-effect": "Credit",
            "new-buying-power": "46520.0",
            "new-buying-power-effect": "Credit",
            "is-spread": false
          },
          "context": "/margin/accounts/5WT00001/dry-run"
        }
        """,
        facts={
            "change_in_margin_requirement": Decimal("3630.0"),
            "change_in_margin_requirement_effect": "Debit",
            "change_in_buying_power": Decimal("3480.0"),
            "current_buying_power": Decimal("50000.0"),
            "new_buying_power": Decimal("46520.0"),
            "new_buying_power_effect": "Credit",
            "is_spread": False,
            "orders[0].status": "Received",
            "base_results.underlying_price": Decimal("181.5"),
            "new_order_results.margin_requirement": Decimal("3630.0"),
            "new_order_results.order_ids": ("1",),
        },
    ),
    Exchange(
        name="the report of an account, grouped by underlying",
        operation="margin.requirements",
        arguments=(ACCOUNT,),
        target="/margin/accounts/5WT00001/requirements",
        answer="""
        {
          "data": {
            "account-number": "5WT00001",
            "description": "Total",
            "margin-calculation-type": "Reg T",
            "option-level": "No Restrictions",
            "margin-requirement": "12000.0",
            "margin-requirement-effect": "Debit",
            "maintenance-requirement": "12000.0",
            "maintenance-requirement-effect": "Debit",
            "margin-equity": "60000.0",
            "margin-equity-effect": "Credit",
            "option-buying-power": "48000.0",
            "option-buying-power-effect": "Credit",
            "reg-t-margin-requirement": "12000.0",
            "reg-t-margin-requirement-effect": "Debit",
            "reg-t-option-buying-power": "48000.0",
            "reg-t-option-buying-power-effect": "Credit",
            "maintenance-excess": "48000.0",
            "maintenance-excess-effect": "Credit",
            "groups": [
              {
                "description": "AAPL",
                "code": "AAPL",
                "underlying-symbol": "AAPL",
                "underlying-type": "Equity",
                "margin-requirement": "12000.0",
                "margin-requirement-effect": "Debit",
                "price-increase-percent": "0.2",
                "price-decrease-percent": "-0.2",
                "position-entries": [
                  {
                    "instrument-symbol": "AAPL  260612C00110000",
                    "instrument-type": "Equity Option",
                    "quantity": "-1.0",
                    "average-open-price": "1.5",
                    "close-price": "1.4",
                    "strike-price": "110.0",
                    "option-type": "C",
                    "expiration-date": "2026-06-12"
                  }
                ]
              },
              {}
            ]
          },
          "context": "/margin/accounts/5WT00001/requirements"
        }
        """,
        facts={
            "account_number": "5WT00001",
            "margin_requirement": Decimal("12000.0"),
            "maintenance_requirement": Decimal("12000.0"),
            "margin_equity": Decimal("60000.0"),
            "maintenance_excess": Decimal("48000.0"),
            "maintenance_excess_effect": "Credit",
            "reg_t_option_buying_power": Decimal("48000.0"),
            "groups.#": 2,
            "groups[0].price_increase_percent": Decimal("0.2"),
            "groups[0].price_decrease_percent": Decimal("-0.2"),
            "groups[0].position_entries[0].quantity": Decimal("-1.0"),
            "groups[0].position_entries[0].expiration_date": dt.date(2026, 6, 12),
            "groups[1].code": None,
        },
    ),
)
