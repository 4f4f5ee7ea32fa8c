"""Orders and complex orders: preflights, placing, editing, cancelling, lists."""

import datetime as dt
from decimal import Decimal

from brokerage_async.models import (
    AdvancedInstructions,
    Comparator,
    InstrumentType,
    LegAction,
    NewOrder,
    NewOrderCondition,
    NewOrderLeg,
    NewOrderRules,
    NewPriceComponent,
    OrderEdit,
    OrderEditDryRun,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from tests.vectors.exchange import ACCOUNT, CUSTOMER, Exchange

VERTICAL = NewOrder(
    order_type=OrderType.LIMIT,
    time_in_force=TimeInForce.GTD,
    gtc_date=dt.date(2026, 6, 1),
    price=Decimal("1.50"),
    price_effect=PriceEffect.DEBIT,
    automated_source=True,
    external_identifier="b0c1-é-1",
    partition_key="desk-1",
    preflight_id="pf-1",
    source="vectors",
    legs=(
        NewOrderLeg(
            action=LegAction.BUY_TO_OPEN,
            instrument_type=InstrumentType.EQUITY_OPTION,
            quantity=Decimal(2),
            symbol="AAPL  260612C00110000",
        ),
        NewOrderLeg(
            action=LegAction.SELL_TO_OPEN,
            instrument_type=InstrumentType.EQUITY_OPTION,
            quantity=Decimal(2),
            symbol="AAPL  260612C00115000",
        ),
    ),
    rules=NewOrderRules(
        route_after=dt.datetime(2026, 3, 9, 14, 30, tzinfo=dt.UTC),
        cancel_at=dt.datetime(2026, 3, 9, 20, 0, tzinfo=dt.UTC),
        conditions=(
            NewOrderCondition(
                action="route",
                instrument_type=InstrumentType.EQUITY,
                symbol="AAPL",
                comparator=Comparator.GTE,
                indicator="last",
                threshold=Decimal("180.25"),
                price_components=(
                    NewPriceComponent(
                        instrument_type=InstrumentType.EQUITY,
                        quantity=Decimal(1),
                        quantity_direction="Long",
                        symbol="AAPL",
                    ),
                ),
            ),
        ),
    ),
    advanced_instructions=AdvancedInstructions(strict_position_effect_validation=True),
)

VERTICAL_SENT = """
{
  "order-type": "Limit",
  "time-in-force": "GTD",
  "legs": [
    {"action": "Buy to Open", "instrument-type": "Equity Option", "quantity": "2", "symbol": "AAPL  260612C00110000"},
    {"action": "Sell to Open", "instrument-type": "Equity Option", "quantity": "2", "symbol": "AAPL  260612C00115000"}
  ],
  "gtc-date": "2026-06-01",
  "price": "1.50",
  "price-effect": "Debit",
  "automated-source": true,
  "external-identifier": "b0c1-é-1",
  "partition-key": "desk-1",
  "preflight-id": "pf-1",
  "source": "vectors",
  "rules": {
    "cancel-at": "2026-03-09T20:00:00Z",
    "route-after": "2026-03-09T14:30:00Z",
    "conditions": [
      {
        "action": "route",
        "instrument-type": "Equity",
        "symbol": "AAPL",
        "comparator": "gte",
        "indicator": "last",
        "threshold": "180.25",
        "price-components": [
          {"instrument-type": "Equity", "quantity": "1", "quantity-direction": "Long", "symbol": "AAPL"}
        ]
      }
    ]
  },
  "advanced-instructions": {"strict-position-effect-validation": true}
}
"""

STOCK = NewOrder(
    order_type=OrderType.LIMIT,
    time_in_force=TimeInForce.DAY,
    price=Decimal("401.05"),
    price_effect=PriceEffect.DEBIT,
    external_identifier="once-only-17",
    legs=(
        NewOrderLeg(
            action=LegAction.BUY_TO_OPEN, instrument_type=InstrumentType.EQUITY, quantity=Decimal(10), symbol="BRK/B"
        ),
    ),
)

STOCK_SENT = """
{
  "order-type": "Limit",
  "time-in-force": "Day",
  "legs": [{"action": "Buy to Open", "instrument-type": "Equity", "quantity": "10", "symbol": "BRK/B"}],
  "price": "401.05",
  "price-effect": "Debit",
  "external-identifier": "once-only-17"
}
"""

NOTIONAL = NewOrder(
    order_type=OrderType.NOTIONAL_MARKET,
    time_in_force=TimeInForce.DAY,
    value=Decimal("250.00"),
    value_effect=PriceEffect.DEBIT,
    legs=(NewOrderLeg(action=LegAction.BUY_TO_OPEN, instrument_type=InstrumentType.CRYPTOCURRENCY, symbol="BTC/USD"),),
)

STOP_FUTURE = NewOrder(
    order_type=OrderType.STOP,
    time_in_force=TimeInForce.GTC,
    stop_trigger=Decimal("5900.25"),
    legs=(
        NewOrderLeg(action=LegAction.SELL, instrument_type=InstrumentType.FUTURE, quantity=Decimal(1), symbol="/ESZ6"),
    ),
)

EDIT = OrderEdit(
    order_type=OrderType.LIMIT,
    time_in_force=TimeInForce.GTC,
    price=Decimal("400.95"),
    price_effect=PriceEffect.DEBIT,
    external_identifier="once-only-18",
)

EDIT_SENT = """
{
  "order-type": "Limit",
  "time-in-force": "GTC",
  "price": "400.95",
  "price-effect": "Debit",
  "external-identifier": "once-only-18"
}
"""

FULL_ORDER = """
{
  "id": "54758826",
  "account-number": "5WT00001",
  "cancel-user-id": "991",
  "cancel-username": "ops",
  "cancellable": false,
  "cancelled-at": "2026-03-09T15:00:02.000+00:00",
  "cancelled-size": "1",
  "complex-order-id": "310",
  "complex-order-tag": "OTOCO::trigger-order",
  "contingent-status": "Pending Order",
  "editable": false,
  "edited": true,
  "external-identifier": "once-only-16",
  "global-request-id": "2f1d",
  "gtc-date": "2026-04-01",
  "in-flight-at": "2026-03-09T14:59:59.250+00:00",
  "leg-count": "1",
  "live-at": "2026-03-09T15:00:00.000+00:00",
  "order-type": "Stop Limit",
  "preflight-id": "pf-16",
  "price": "401.05",
  "price-effect": "Debit",
  "received-at": "2026-03-09T14:59:58.900+00:00",
  "reject-reason": "halted",
  "replaces-order-id": "54758800",
  "replacing-order-id": "54758830",
  "size": "10",
  "source": "vectors",
  "status": "Rejected",
  "stop-trigger": "400.5",
  "terminal-at": "2026-03-09T15:00:02.125+00:00",
  "time-in-force": "GTD",
  "underlying-instrument-type": "Equity",
  "underlying-symbol": "BRK/B",
  "updated-at": "2026-03-09T15:00:02.125+00:00",
  "user-id": "7654321",
  "username": "someone",
  "value": "4010.5",
  "value-effect": "Debit",
  "legs": [
    {
      "action": "Buy to Open",
      "instrument-type": "Equity",
      "quantity": "10",
      "remaining-quantity": "7.5",
      "symbol": "BRK/B",
      "fills": [
        {
          "destination-venue": "EXAMPLE_VENUE",
          "ext-exec-id": "x-1",
          "ext-group-fill-id": "0",
          "fill-id": "20260309-1",
          "fill-price": "401.0499",
          "filled-at": "2026-03-09T15:00:01.001+00:00",
          "quantity": "2.5"
        }
      ]
    }
  ],
  "order-rule": {
    "cancel-at": "2026-03-09T20:00:00.000+00:00",
    "cancelled-at": "2026-03-09T20:00:01.000+00:00",
    "route-after": "2026-03-09T14:30:00.000+00:00",
    "routed-at": "2026-03-09T14:59:59.000+00:00",
    "order-conditions": [
      {
        "id": "77",
        "action": "route",
        "comparator": "lte",
        "indicator": "last",
        "instrument-type": "Equity",
        "is-threshold-based-on-notional": false,
        "symbol": "BRK/B",
        "threshold": "399.0",
        "triggered-at": "2026-03-09T14:59:58.000+00:00",
        "triggered-value": "398.9",
        "price-components": [
          {"instrument-type": "Equity", "quantity": "1", "quantity-direction": "Long", "symbol": "BRK/B"}
        ]
      }
    ]
  }
}
"""

FULL_ORDER_FACTS = {
    "id": "54758826",
    "account_number": "5WT00001",
    "cancel_user_id": "991",
    "cancel_username": "ops",
    "cancellable": False,
    "cancelled_at": dt.datetime(2026, 3, 9, 15, 0, 2, tzinfo=dt.UTC),
    "cancelled_size": Decimal(1),
    "complex_order_id": "310",
    "complex_order_tag": "OTOCO::trigger-order",
    "contingent_status": "Pending Order",
    "editable": False,
    "edited": True,
    "external_identifier": "once-only-16",
    "global_request_id": "2f1d",
    "gtc_date": dt.date(2026, 4, 1),
    "in_flight_at": dt.datetime(2026, 3, 9, 14, 59, 59, 250000, tzinfo=dt.UTC),
    "leg_count": Decimal(1),
    "live_at": dt.datetime(2026, 3, 9, 15, tzinfo=dt.UTC),
    "order_type": "Stop Limit",
    "preflight_id": "pf-16",
    "price": Decimal("401.05"),
    "price_effect": "Debit",
    "received_at": dt.datetime(2026, 3, 9, 14, 59, 58, 900000, tzinfo=dt.UTC),
    "reject_reason": "halted",
    "replaces_order_id": "54758800",
    "replacing_order_id": "54758830",
    "size": Decimal(10),
    "source": "vectors",
    "status": "Rejected",
    "stop_trigger": Decimal("400.5"),
    "terminal_at": dt.datetime(2026, 3, 9, 15, 0, 2, 125000, tzinfo=dt.UTC),
    "time_in_force": "GTD",
    "underlying_instrument_type": "Equity",
    "underlying_symbol": "BRK/B",
    "updated_at": dt.datetime(2026, 3, 9, 15, 0, 2, 125000, tzinfo=dt.UTC),
    "user_id": "7654321",
    "username": "someone",
    "value": Decimal("4010.5"),
    "value_effect": "Debit",
    "legs.#": 1,
    "legs[0].action": "Buy to Open",
    "legs[0].instrument_type": "Equity",
    "legs[0].quantity": Decimal(10),
    "legs[0].remaining_quantity": Decimal("7.5"),
    "legs[0].symbol": "BRK/B",
    "legs[0].fills[0].destination_venue": "EXAMPLE_VENUE",
    "legs[0].fills[0].ext_exec_id": "x-1",
    "legs[0].fills[0].ext_group_fill_id": "0",
    "legs[0].fills[0].fill_id": "20260309-1",
    "legs[0].fills[0].fill_price": Decimal("401.0499"),
    "legs[0].fills[0].filled_at": dt.datetime(2026, 3, 9, 15, 0, 1, 1000, tzinfo=dt.UTC),
    "legs[0].fills[0].quantity": Decimal("2.5"),
    "order_rule.cancel_at": dt.datetime(2026, 3, 9, 20, tzinfo=dt.UTC),
    "order_rule.cancelled_at": dt.datetime(2026, 3, 9, 20, 0, 1, tzinfo=dt.UTC),
    "order_rule.route_after": dt.datetime(2026, 3, 9, 14, 30, tzinfo=dt.UTC),
    "order_rule.routed_at": dt.datetime(2026, 3, 9, 14, 59, 59, tzinfo=dt.UTC),
    "order_rule.order_conditions[0].id": "77",
    "order_rule.order_conditions[0].action": "route",
    "order_rule.order_conditions[0].comparator": "lte",
    "order_rule.order_conditions[0].indicator": "last",
    "order_rule.order_conditions[0].instrument_type": "Equity",
    "order_rule.order_conditions[0].is_threshold_based_on_notional": False,
    "order_rule.order_conditions[0].symbol": "BRK/B",
    "order_rule.order_conditions[0].threshold": Decimal("399.0"),
    "order_rule.order_conditions[0].triggered_at": dt.datetime(2026, 3, 9, 14, 59, 58, tzinfo=dt.UTC),
    "order_rule.order_conditions[0].triggered_value": Decimal("398.9"),
    "order_rule.order_conditions[0].price_components[0].quantity": Decimal(1),
    "order_rule.order_conditions[0].price_components[0].quantity_direction": "Long",
    "extra.#": 0,
}

PREVIEW = """
{
  "data": {
    "buying-power-effect": {
      "change-in-margin-requirement": "1002.63",
      "change-in-margin-requirement-effect": "Debit",
      "change-in-buying-power": "1002.64",
      "change-in-buying-power-effect": "Debit",
      "current-buying-power": "50000.0",
      "current-buying-power-effect": "Credit",
      "new-buying-power": "48997.36",
      "new-buying-power-effect": "Credit",
      "isolated-order-margin-requirement": "1002.63",
      "isolated-order-margin-requirement-effect": "Debit",
      "is-spread": false,
      "impact": "1002.64",
      "effect": "Debit"
    },
    "closing-fee-calculation": "0.12",
    "errors": [],
    "fee-calculation": {
      "regulatory-fees": "0.0",
      "regulatory-fees-effect": "None",
      "clearing-fees": "0.01",
      "clearing-fees-effect": "Debit",
      "commission": "0.0",
      "commission-effect": "None",
      "proprietary-index-option-fees": "0.0",
      "proprietary-index-option-fees-effect": "None",
      "total-fees": "0.01",
      "total-fees-effect": "Debit"
    },
    "notes": [
      {
        "code": "settlement",
        "message": "Settles tomorrow",
        "preflight-id": "pf-1",
        "url": "https://example.com/t1"
      }
    ],
    "order": {
      "account-number": "5WT00001",
      "time-in-force": "Day",
      "order-type": "Limit",
      "size": "10",
      "underlying-symbol": "BRK/B",
      "price": "401.05",
      "price-effect": "Debit",
      "status": "Received",
      "cancellable": true,
      "editable": true,
      "edited": false,
      "legs": [
        {
          "action": "Buy to Open",
          "instrument-type": "Equity",
          "quantity": "10",
          "remaining-quantity": "10",
          "symbol": "BRK/B",
          "fills": []
        }
      ]
    },
    "order-costs": "4010.50",
    "warnings": [
      {
        "code": "tif_next_valid_sesssion",
        "message": "The market is closed",
        "preflight-id": "pf-1"
      }
    ]
  },
  "context": "/accounts/5WT00001/orders/dry-run"
}
"""

PREVIEW_FACTS = {
    "buying_power_effect.change_in_margin_requirement": Decimal("1002.63"),
    "buying_power_effect.change_in_buying_power": Decimal("1002.64"),
    "buying_power_effect.change_in_buying_power_effect": "Debit",
    "buying_power_effect.current_buying_power": Decimal("50000.0"),
    "buying_power_effect.new_buying_power_effect": "Credit",
    "buying_power_effect.is_spread": False,
    "buying_power_effect.impact": Decimal("1002.64"),
    "buying_power_effect.effect": "Debit",
    "closing_fee_calculation": "0.12",
    "complex_order": None,
    "errors.#": 0,
    "fee_calculation.total_fees": Decimal("0.01"),
    "fee_calculation.total_fees_effect": "Debit",
    "fee_calculation.commission_effect": "None",
    "notes[0].url": "https://example.com/t1",
    "order.id": None,
    "order.received_at": None,
    "order.status": "Received",
    "order.legs[0].symbol": "BRK/B",
    "order.legs[0].fills": (),
    "order_costs": "4010.50",
    "warnings.#": 1,
    "warnings[0].code": "tif_next_valid_sesssion",
    "warnings[0].preflight_id": "pf-1",
}

MINIMAL_PREVIEW = '{"data":{"order":{"status":"Received"},"warnings":[]},"context":"/orders/dry-run"}'

ONE_PAGE = """
  "pagination": {
    "per-page": 10,
    "page-offset": 0,
    "item-offset": 0,
    "total-items": 1,
    "total-pages": 1,
    "current-item-count": 1
  }
"""

EXCHANGES = (
    Exchange(
        name="preview of a stock order",
        operation="orders.dry_run",
        arguments=(ACCOUNT, STOCK),
        method="POST",
        target="/accounts/5WT00001/orders/dry-run",
        sent=STOCK_SENT,
        status=201,
        answer=PREVIEW,
        facts=PREVIEW_FACTS,
    ),
    Exchange(
        name="every field of a request body",
        operation="orders.dry_run",
        arguments=(ACCOUNT, VERTICAL),
        method="POST",
        target="/accounts/5WT00001/orders/dry-run",
        sent=VERTICAL_SENT,
        status=201,
        answer=MINIMAL_PREVIEW,
        facts={"order.status": "Received", "warnings": ()},
    ),
    Exchange(
        name="an amount of money instead of a quantity",
        operation="orders.dry_run",
        arguments=(ACCOUNT, NOTIONAL),
        method="POST",
        target="/accounts/5WT00001/orders/dry-run",
        sent="""
        {
          "order-type": "Notional Market",
          "time-in-force": "Day",
          "legs": [{"action": "Buy to Open", "instrument-type": "Cryptocurrency", "symbol": "BTC/USD"}],
          "value": "250.00",
          "value-effect": "Debit"
        }
        """,
        status=201,
        answer=MINIMAL_PREVIEW,
        facts={"order.status": "Received"},
    ),
    Exchange(
        name="a stop order on a future",
        operation="orders.dry_run",
        arguments=(ACCOUNT, STOP_FUTURE),
        method="POST",
        target="/accounts/5WT00001/orders/dry-run",
        sent="""
        {
          "order-type": "Stop",
          "time-in-force": "GTC",
          "legs": [{"action": "Sell", "instrument-type": "Future", "quantity": "1", "symbol": "/ESZ6"}],
          "stop-trigger": "5900.25"
        }
        """,
        status=201,
        answer=MINIMAL_PREVIEW,
        facts={"order.status": "Received"},
    ),
    Exchange(
        name="the previewed body, sent to be placed",
        operation="orders.submit",
        arguments=(ACCOUNT, STOCK),
        method="POST",
        target="/accounts/5WT00001/orders",
        sent=STOCK_SENT,
        status=201,
        answer="""
        {
          "data": {
            "order": {
              "id": "54758826",
              "account-number": "5WT00001",
              "external-identifier": "once-only-17",
              "status": "Routed",
              "cancellable": true,
              "received-at": "2026-03-09T14:59:58.900+00:00",
              "updated-at": "2026-03-09T14:59:58.950+00:00",
              "legs": [{"symbol": "BRK/B", "quantity": "10", "remaining-quantity": "10", "fills": []}]
            },
            "fee-calculation": {"total-fees": "0.01", "total-fees-effect": "Debit"},
            "warnings": [],
            "errors": []
          },
          "context": "/accounts/5WT00001/orders"
        }
        """,
        facts={
            "order.id": "54758826",
            "order.external_identifier": "once-only-17",
            "order.status": "Routed",
            "order.cancellable": True,
            "order.received_at": dt.datetime(2026, 3, 9, 14, 59, 58, 900000, tzinfo=dt.UTC),
            "order.legs[0].remaining_quantity": Decimal(10),
            "warnings.#": 0,
        },
    ),
    Exchange(
        name="preview of an edit",
        operation="orders.edit_dry_run",
        arguments=(ACCOUNT, 54758826, OrderEditDryRun.of(EDIT)),
        method="POST",
        target="/accounts/5WT00001/orders/54758826/dry-run",
        sent=EDIT_SENT,
        status=201,
        answer=PREVIEW,
        facts=PREVIEW_FACTS,
    ),
    Exchange(
        name="replaced as a whole",
        operation="orders.replace",
        arguments=(ACCOUNT, "54758826", EDIT),
        method="PUT",
        target="/accounts/5WT00001/orders/54758826",
        sent=EDIT_SENT,
        answer="""
        {
          "data": {
            "id": 54758830,
            "status": "Received",
            "edited": false,
            "replaces-order-id": 54758826,
            "price": "400.95",
            "time-in-force": "GTC"
          },
          "context": "/accounts/5WT00001/orders/54758826"
        }
        """,
        facts={
            "id": "54758830",
            "replaces_order_id": "54758826",
            "price": Decimal("400.95"),
            "time_in_force": "GTC",
        },
        observed=True,
    ),
    Exchange(
        name="edited in place of the price",
        operation="orders.edit",
        arguments=(ACCOUNT, 54758826, EDIT),
        method="PATCH",
        target="/accounts/5WT00001/orders/54758826",
        sent=EDIT_SENT,
        answer='{"data":{"id":"54758831","status":"Received","replaces-order-id":"54758826"},"context":"/orders"}',
        facts={"id": "54758831", "replaces_order_id": "54758826"},
        observed=True,
    ),
    Exchange(
        name="asked to be cancelled, every field of an order",
        operation="orders.cancel",
        arguments=(ACCOUNT, 54758826),
        method="DELETE",
        target="/accounts/5WT00001/orders/54758826",
        answer=f'{{"data": {FULL_ORDER}, "context": "/accounts/5WT00001/orders/54758826"}}',
        facts=FULL_ORDER_FACTS,
    ),
    Exchange(
        name="waiting for the exchange to confirm",
        operation="orders.cancel",
        arguments=(ACCOUNT, "54758827"),
        method="DELETE",
        target="/accounts/5WT00001/orders/54758827",
        answer='{"data":{"id":"54758827","status":"Cancel Requested","cancellable":false},"context":"/orders"}',
        facts={"id": "54758827", "status": "Cancel Requested", "cancellable": False, "cancelled_at": None},
    ),
    Exchange(
        name="every filter",
        operation="orders.search",
        arguments=(CUSTOMER, [ACCOUNT, "5WT00002"]),
        options={
            "page_offset": 0,
            "per_page": 10,
            "start_at": dt.datetime(2026, 3, 1, 9, 30, tzinfo=dt.timezone(dt.timedelta(hours=-5))),
            "end_at": dt.datetime(2026, 3, 9, 21, 0, tzinfo=dt.UTC),
            "start_date": dt.date(2026, 3, 1),
            "end_date": dt.date(2026, 3, 9),
            "futures_symbol": "./ESZ6 EW3U6 260918P9100",
            "sort": "Asc",
            "statuses": ["Live", "Cancel Requested"],
            "underlying_instrument_type": "Future Option",
            "underlying_symbol": "/ESZ6",
        },
        target="/customers/7654321/orders?account-numbers[]=5WT00001&account-numbers[]=5WT00002"
        "&page-offset=0&per-page=10"
        "&start-at=2026-03-01T09%3A30%3A00-05%3A00&end-at=2026-03-09T21%3A00%3A00Z"
        "&start-date=2026-03-01&end-date=2026-03-09"
        "&futures-symbol=.%2FESZ6%20EW3U6%20260918P9100&sort=Asc"
        "&status[]=Live&status[]=Cancel%20Requested"
        "&underlying-instrument-type=Future%20Option&underlying-symbol=%2FESZ6",
        answer=f'{{"data": {{"items": [{FULL_ORDER}]}}, "context": "/customers/7654321/orders", {ONE_PAGE}}}',
        facts={"#": 1, **{f"[0].{path}": fact for path, fact in FULL_ORDER_FACTS.items()}},
        pagination={"per_page": 10, "page_offset": 0, "total_items": 1, "total_pages": 1, "current_item_count": 1},
    ),
    Exchange(
        name="the orders of the day in any status",
        operation="orders.live",
        arguments=(CUSTOMER, [ACCOUNT]),
        target="/customers/7654321/orders/live?account-numbers[]=5WT00001",
        answer="""
        {
          "data": {
            "items": [
              {"id": "3", "status": "Live", "cancellable": true},
              {"id": "2", "status": "Filled", "terminal-at": "2026-03-09T15:00:00Z"},
              {"id": "1", "status": "Expired"}
            ]
          },
          "context": "/customers/7654321/orders/live"
        }
        """,
        facts={
            "#": 3,
            "[0].status": "Live",
            "[1].terminal_at": dt.datetime(2026, 3, 9, 15, tzinfo=dt.UTC),
            "[2].status": "Expired",
        },
    ),
    Exchange(
        name="the list of one account",
        operation="orders.list",
        arguments=(ACCOUNT,),
        options={"page_offset": 0, "per_page": 10, "sort": "Desc", "statuses": ["Filled"]},
        target="/accounts/5WT00001/orders?page-offset=0&per-page=10&sort=Desc&status[]=Filled&start-date=2000-01-01",
        answer=f'{{"data":{{"items":[{{"id":"9","status":"Filled"}}]}},"context":"/accounts/5WT00001/orders",{ONE_PAGE}}}',
        facts={"#": 1, "[0].id": "9", "[0].status": "Filled"},
        pagination={"total_pages": 1, "current_item_count": 1},
    ),
    Exchange(
        name="the live list of one account",
        operation="orders.list_live",
        arguments=(ACCOUNT,),
        options={"page_offset": 0, "per_page": 10, "underlying_symbol": "BRK/B"},
        target="/accounts/5WT00001/orders/live?page-offset=0&per-page=10&underlying-symbol=BRK%2FB",
        answer=f'{{"data":{{"items":[{{"id":"9","status":"Live"}}]}},"context":"/orders/live",{ONE_PAGE}}}',
        facts={"#": 1, "[0].id": "9"},
        pagination={"total_pages": 1, "current_item_count": 1},
    ),
    Exchange(
        name="an order that triggers two others",
        operation="complex_orders.get",
        arguments=(ACCOUNT, 310),
        target="/accounts/5WT00001/complex-orders/310",
        answer=f"""
        {{
          "data": {{
            "id": "310",
            "account-number": "5WT00001",
            "type": "OTOCO",
            "terminal-at": "2026-03-09T20:00:00.000+00:00",
            "related-orders": [
              {{
                "id": "7",
                "complex-order-id": "310",
                "complex-order-tag": "OTOCO::order",
                "replaces-order-id": "5",
                "replacing-order-id": "9",
                "status": "Cancelled"
              }}
            ],
            "orders": [
              {{"id": "8", "complex-order-tag": "OTOCO::order", "contingent-status": "Pending Order"}},
              {{"id": "9", "complex-order-tag": "OTOCO::order", "contingent-status": "Pending Order"}}
            ],
            "trigger-order": {FULL_ORDER}
          }},
          "context": "/accounts/5WT00001/complex-orders/310"
        }}
        """,
        facts={
            "id": "310",
            "account_number": "5WT00001",
            "type": "OTOCO",
            "terminal_at": dt.datetime(2026, 3, 9, 20, tzinfo=dt.UTC),
            "related_orders[0].id": "7",
            "related_orders[0].complex_order_id": "310",
            "related_orders[0].replaces_order_id": "5",
            "related_orders[0].replacing_order_id": "9",
            "related_orders[0].status": "Cancelled",
            "orders.#": 2,
            "orders[1].contingent_status": "Pending Order",
            **{f"trigger_order.{path}": fact for path, fact in FULL_ORDER_FACTS.items()},
        },
    ),
    Exchange(
        name="a pair of prices",
        operation="complex_orders.get",
        arguments=(ACCOUNT, "311"),
        target="/accounts/5WT00001/complex-orders/311",
        answer="""
        {
          "data": {
            "id": "311",
            "type": "PAIRS",
            "ratio-price-comparator": "gte",
            "ratio-price-is-threshold-based-on-notional": true,
            "ratio-price-threshold": "1.25",
            "orders": []
          },
          "context": "/accounts/5WT00001/complex-orders/311"
        }
        """,
        facts={
            "type": "PAIRS",
            "ratio_price_comparator": "gte",
            "ratio_price_is_threshold_based_on_notional": True,
            "ratio_price_threshold": Decimal("1.25"),
            "orders": (),
            "trigger_order": None,
        },
    ),
    Exchange(
        name="another ratio for a pair",
        operation="complex_orders.edit_pairs",
        arguments=(ACCOUNT, 311),
        options={"ratio_price_comparator": "lte", "ratio_price_threshold": Decimal("1.30")},
        method="PATCH",
        target="/accounts/5WT00001/complex-orders/311",
        sent='{"ratio-price-comparator": "lte", "ratio-price-threshold": "1.30"}',
        answer="""
        {
          "data": {
            "complex-order": {"id": "311", "type": "PAIRS", "ratio-price-threshold": "1.30"},
            "warnings": []
          },
          "context": "/accounts/5WT00001/complex-orders/311"
        }
        """,
        facts={"complex_order.id": "311", "complex_order.ratio_price_threshold": Decimal("1.30"), "order": None},
    ),
    Exchange(
        name="only one of the two fields",
        operation="complex_orders.edit_pairs",
        arguments=(ACCOUNT, 311),
        options={"ratio_price_threshold": Decimal("0.5")},
        method="PATCH",
        target="/accounts/5WT00001/complex-orders/311",
        sent='{"ratio-price-threshold": "0.5"}',
        answer='{"data":{"complex-order":{"id":"311"}},"context":"/complex-orders/311"}',
        facts={"complex_order.id": "311"},
    ),
)
