"""Balances, positions, risk parameters, and what an account was charged."""

import datetime as dt
from decimal import Decimal

from tests.vectors.exchange import ACCOUNT, Exchange

BALANCE = """
{
  "account-number": "5WT00001", "cash-balance": "12500.5", "currency": "USD", "derivative-buying-power": "9800.25",
  "equity-buying-power": "19600.5", "intraday-equities-cash-amount": "0.0", "intraday-equities-cash-effect": "None",
  "intraday-equities-cash-effective-date": "2026-03-02", "long-margineable-value": "100.0",
  "maintenance-excess": "-9800.25", "net-liquidating-value": "15230.75", "pending-cash": "0.0",
  "pending-cash-effect": "None", "snapshot-date": "2026-03-02", "updated-at": "2026-03-02T14:31:00.120+00:00"
}
"""

EXCHANGES = (
    Exchange(
        name="one balance directly under data, as recorded",
        operation="balances.list",
        arguments=(ACCOUNT,),
        target="/accounts/5WT00001/balances",
        answer='{"data":' + BALANCE + ',"context":"/accounts/5WT00001/balances"}',
        facts={
            "#": 1,
            "[0].currency": "USD",
            "[0].cash_balance": Decimal("12500.5"),
            "[0].maintenance_excess": Decimal("-9800.25"),
            "[0].intraday_equities_cash_effect": "None",
            "[0].intraday_equities_cash_effective_date": dt.date(2026, 3, 2),
            "[0].time_of_day": None,
            "[0].extra": {},
        },
    ),
    Exchange(
        name="one balance per currency, as published",
        operation="balances.list",
        arguments=(ACCOUNT,),
        target="/accounts/5WT00001/balances",
        answer='{"data":{"items":[' + BALANCE + ',{"currency":"EUR"}]},"context":"/accounts/5WT00001/balances"}',
        facts={"#": 2, "[0].net_liquidating_value": Decimal("15230.75"), "[1].currency": "EUR"},
    ),
    Exchange(
        name="the balance in one currency",
        operation="balances.get",
        arguments=(ACCOUNT, "USD"),
        target="/accounts/5WT00001/balances/USD",
        answer='{"data":' + BALANCE + ',"context":"/accounts/5WT00001/balances/USD"}',
        facts={"currency": "USD", "equity_buying_power": Decimal("19600.5")},
    ),
    Exchange(
        name="the evening of one day",
        operation="balances.snapshots",
        arguments=(ACCOUNT,),
        options={
            "snapshot_date": dt.date(2026, 3, 2),
            "time_of_day": "EOD",
            "currency": "USD",
            "page_offset": 0,
            "per_page": 10,
        },
        target="/accounts/5WT00001/balance-snapshots?page-offset=0&per-page=10&currency=USD"
        "&snapshot-date=2026-03-02&time-of-day=EOD",
        answer="""
        {
          "data": {"items": [{"account-number": "5WT00001", "snapshot-date": "2026-03-02", "time-of-day": "EOD",
                              "cash-balance": "10.25"}]},
          "context": "/accounts/5WT00001/balance-snapshots"
        }
        """,
        facts={
            "#": 1,
            "[0].time_of_day": "EOD",
            "[0].time_of_day.is_known": True,
            "[0].cash_balance": Decimal("10.25"),
        },
    ),
    Exchange(
        name="a range, in pages",
        operation="balances.snapshots",
        arguments=(ACCOUNT,),
        options={"start_date": dt.date(2026, 3, 1), "end_date": dt.date(2026, 3, 2), "page_offset": 0},
        target="/accounts/5WT00001/balance-snapshots?page-offset=0&start-date=2026-03-01&end-date=2026-03-02",
        answer="""
        {"data": {"items": [{"snapshot-date": "2026-03-01"}, {"snapshot-date": "2026-03-02"}]},
         "pagination": {"per-page": 250, "page-offset": 0, "total-items": 2, "total-pages": 1, "current-item-count": 2}}
        """,
        facts={"#": 2, "[1].snapshot_date": dt.date(2026, 3, 2)},
        pagination={"total_pages": 1, "per_page": 250},
    ),
    Exchange(
        name="strings and dashes, with a blank in the time, as recorded",
        operation="balances.net_liq_history",
        arguments=(ACCOUNT,),
        options={"time_back": "1d"},
        target="/accounts/5WT00001/net-liq/history?time-back=1d",
        answer="""
        {
          "data": {"items": [
            {"open": "15010.5", "high": "15120.0", "low": "14990.25", "close": "15080.75", "pending-cash-open": "0.0",
             "pending-cash-high": "0.0", "pending-cash-low": "0.0", "pending-cash-close": "0.0",
             "total-open": "15010.5", "total-high": "15120.0", "total-low": "14990.25", "total-close": "15080.75",
             "time": "2026-03-02 14:35:00+00"}
          ]}
        }
        """,
        facts={
            "#": 1,
            "[0].open": Decimal("15010.5"),
            "[0].total_close": Decimal("15080.75"),
            "[0].time": dt.datetime(2026, 3, 2, 14, 35, tzinfo=dt.UTC),
            "[0].extra": {},
        },
    ),
    Exchange(
        name="one row with numbers and camelCase, as published",
        operation="balances.net_liq_history",
        arguments=(ACCOUNT,),
        options={"start_time": dt.datetime(2026, 3, 2, 14, 30, tzinfo=dt.UTC)},
        target="/accounts/5WT00001/net-liq/history?start-time=2026-03-02T14%3A30%3A00Z",
        answer="""
        {"data": {"open": 15010.5, "high": 15120, "totalOpen": 15010.5, "pendingCashClose": 0.25,
                  "time": "2026-04-09T00:00:00+00:00"}}
        """,
        facts={
            "#": 1,
            "[0].open": Decimal("15010.5"),
            "[0].high": Decimal(15120),
            "[0].total_open": Decimal("15010.5"),
            "[0].pending_cash_close": Decimal("0.25"),
            "[0].time": dt.datetime(2026, 4, 9, tzinfo=dt.UTC),
        },
    ),
    Exchange(
        name="integers and strings for one quantity, every filter",
        operation="positions.list",
        arguments=(ACCOUNT,),
        options={
            "symbol": "XYZ   260918C00050000",
            "underlying_symbols": ["XYZ", "BRK/B"],
            "instrument_type": "Equity Option",
            "include_closed_positions": True,
            "include_marks": True,
            "net_positions": False,
            "underlying_product_code": "ES",
            "partition_keys": ["p1"],
        },
        target="/accounts/5WT00001/positions?symbol=XYZ%20%20%20260918C00050000&underlying-symbol[]=XYZ"
        "&underlying-symbol[]=BRK%2FB&instrument-type=Equity%20Option&include-closed-positions=true"
        "&include-marks=true&net-positions=false&underlying-product-code=ES&partition-keys[]=p1",
        answer="""
        {
          "data": {"items": [
            {"account-number": "5WT00001", "instrument-type": "Equity Option", "streamer-symbol": ".XYZ260918C50",
             "symbol": "XYZ   260918C00050000", "underlying-symbol": "XYZ", "quantity": 2,
             "average-open-price": "3.15", "close-price": "3.4", "cost-effect": "Credit", "is-frozen": false,
             "is-suppressed": false, "mark": "680.0", "mark-price": "3.4", "multiplier": 100,
             "quantity-direction": "Long", "restricted-quantity": 0, "expires-at": "2026-09-18T20:00:00.000+00:00",
             "realized-day-gain": "0.0", "realized-today": "0.0", "created-at": "2026-03-02T15:10:11.222+00:00",
             "updated-at": "2026-03-02T15:10:11.222+00:00"},
            {"symbol": "BRK/B", "quantity": "1.5", "multiplier": "1.0", "quantity-direction": "Short",
             "close-price": "NaN", "realized-today": "12.5", "realized-today-date": "2026-03-02",
             "realized-today-effect": "Credit", "order-id": 700100},
            {"symbol": "OLD", "quantity": 0.25, "quantity-direction": "Zero"}
          ]},
          "context": "/accounts/5WT00001/positions"
        }
        """,
        facts={
            "#": 3,
            "[0].quantity": Decimal(2),
            "[0].multiplier": Decimal(100),
            "[0].mark": Decimal("680.0"),
            "[0].quantity_direction": "Long",
            "[0].quantity_direction.is_known": True,
            "[0].expires_at": dt.datetime(2026, 9, 18, 20, tzinfo=dt.UTC),
            "[1].quantity": Decimal("1.5"),
            "[1].multiplier": Decimal("1.0"),
            "[1].close_price": None,
            "[1].realized_today_date": dt.date(2026, 3, 2),
            "[1].order_id": "700100",
            "[2].quantity": Decimal("0.25"),
            "[2].quantity_direction": "Zero",
        },
    ),
    Exchange(
        name="limits that are reported, and one that is not",
        operation="risk.position_limit",
        arguments=(ACCOUNT,),
        target="/accounts/5WT00001/position-limit",
        answer="""
        {
          "data": {"account-number": "5WT00001", "equity-order-size": 50000, "equity-option-order-size": 5000,
                   "future-order-size": 500, "future-option-order-size": 500, "underlying-opening-order-limit": 500,
                   "equity-position-size": 200000, "equity-option-position-size": 20000, "future-position-size": 5000,
                   "future-option-position-size": null, "event-contract-notional-order-limit": 2500},
          "context": "/accounts/5WT00001/position-limit"
        }
        """,
        facts={
            "equity_order_size": 50000,
            "future_option_position_size": None,
            "event_contract_notional_order_limit": Decimal(2500),
            "event_contract_total_notional_position_value": None,
        },
    ),
    Exchange(
        name="rows of fixed width keep their blanks",
        operation="risk.span_rows",
        arguments=(dt.date(2026, 3, 2), "CME"),
        options={"page_offset": 0, "per_page": 50_000},
        target="/span/rows?date=2026-03-02&exchange=CME&page-offset=0&per-page=50000",
        answer="""
        {
          "data": {"items": [{"file-date": "2026-03-02", "row-index": 17, "exchange": "CME",
                              "row-data": "81CMEES          OOF20260300  000000"}]},
          "pagination": {"per-page": 50000, "page-offset": 0, "total-items": 1, "total-pages": 1}
        }
        """,
        facts={"#": 1, "[0].row_index": 17, "[0].row_data": "81CMEES          OOF20260300  000000"},
        pagination={"total_items": 1},
    ),
    Exchange(
        name="an underlying whose symbol holds a slash",
        operation="margin.effective_requirement",
        arguments=(ACCOUNT, "BRK/B"),
        target="/accounts/5WT00001/margin-requirements/BRK%2FB/effective",
        answer="""
        {
          "data": {"underlying-symbol": "BRK/B", "long-equity-initial": "0.5", "long-equity-maintenance": "0.25",
                   "short-equity-initial": "0.5", "short-equity-maintenance": "0.3", "naked-option-standard": "0.2",
                   "naked-option-minimum": "0.1", "naked-option-floor": "250.0"},
          "context": "/accounts/5WT00001/margin-requirements/BRK%2FB/effective"
        }
        """,
        facts={
            "underlying_symbol": "BRK/B",
            "short_equity_maintenance": Decimal("0.3"),
            "naked_option_floor": Decimal("250.0"),
            "is_deleted": None,
        },
    ),
    Exchange(
        name="the rate as text",
        operation="margin.public_configuration",
        target="/margin-requirements-public-configuration",
        answer='{"data":{"risk-free-rate":"0.0425"},"context":"/margin-requirements-public-configuration"}',
        facts={"risk_free_rate": Decimal("0.0425")},
    ),
    Exchange(
        name="the rate as a number",
        operation="margin.public_configuration",
        target="/margin-requirements-public-configuration",
        answer='{"data":{"risk-free-rate":0.0425}}',
        facts={"risk_free_rate": Decimal("0.0425")},
    ),
    Exchange(
        name="one transaction, with what the list adds to the document",
        operation="transactions.get",
        arguments=(ACCOUNT, 90210),
        target="/accounts/5WT00001/transactions/90210",
        answer="""
        {
          "data": {"id": 90210, "account-number": "5WT00001", "transaction-type": "Trade",
                   "transaction-sub-type": "Buy to Open", "symbol": "XYZ", "instrument-type": "Equity",
                   "action": "Buy to Open", "quantity": "10.0", "price": "49.75",
                   "executed-at": "2026-03-02T15:10:11.222Z", "transaction-date": "2026-03-02", "value": "497.5",
                   "value-effect": "Debit", "destination-venue": "VENUE_A", "exchange": "D",
                   "ext-global-order-number": 1207, "exchange-affiliation-identifier": "", "reverses-id": "90001",
                   "other-charge": "0.05", "other-charge-effect": "Debit"},
          "context": "/accounts/5WT00001/transactions/90210"
        }
        """,
        facts={
            "id": "90210",
            "value": Decimal("497.5"),
            "ext_global_order_number": "1207",
            "exchange_affiliation_identifier": "",
            "reverses_id": "90001",
            "other_charge": Decimal("0.05"),
            "extra": {},
        },
    ),
    Exchange(
        name="subtypes, currency, partition and future narrow the list",
        operation="transactions.list",
        arguments=(ACCOUNT,),
        options={
            "page_offset": 0,
            "sub_types": ["Dividend", "Special Dividend"],
            "currency": "USD",
            "partition_key": "p1",
            "futures_symbol": "/ESZ6",
        },
        target="/accounts/5WT00001/transactions?page-offset=0&sub-type[]=Dividend&sub-type[]=Special%20Dividend"
        "&currency=USD&partition-key=p1&futures-symbol=%2FESZ6",
        answer='{"data":{"items":[]}}',
        facts={"#": 0},
    ),
    Exchange(
        name="the fees of one day",
        operation="transactions.total_fees",
        arguments=(ACCOUNT,),
        options={"date": dt.date(2026, 3, 2)},
        target="/accounts/5WT00001/transactions/total-fees?date=2026-03-02",
        answer='{"data":{"total-fees":"4.26","total-fees-effect":"Debit"}}',
        facts={"total_fees": Decimal("4.26"), "total_fees_effect": "Debit"},
    ),
    Exchange(
        name="a day without fees, which is today by default",
        operation="transactions.total_fees",
        arguments=(ACCOUNT,),
        target="/accounts/5WT00001/transactions/total-fees",
        answer='{"data":{"total-fees":"0.0","total-fees-effect":"None"}}',
        facts={"total_fees": Decimal("0.0"), "total_fees_effect": "None"},
    ),
)
