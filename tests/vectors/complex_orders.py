"""Complex orders, and one order by its identifier."""

import datetime as dt
from decimal import Decimal

from brokerage_async.models import (
    Comparator,
    ComplexOrderType,
    InstrumentType,
    LegAction,
    NewComplexOrder,
    NewOrder,
    NewOrderLeg,
    OrderType,
    PriceEffect,
    TimeInForce,
)
from tests.vectors.exchange import ACCOUNT, Exchange


def shares(action: LegAction, **terms: object) -> NewOrder:
    """An order for 100 shares."""
    leg = NewOrderLeg(action=action, instrument_type=InstrumentType.EQUITY, symbol="QNTX", quantity=Decimal(100))
    return NewOrder(legs=[leg], **{"time_in_force": TimeInForce.GTC, **terms})  # type: ignore[arg-type]


BUY = shares(
    LegAction.BUY_TO_OPEN,
    order_type=OrderType.LIMIT,
    time_in_force=TimeInForce.DAY,
    price=Decimal("45.00"),
    price_effect=PriceEffect.DEBIT,
)
PROFIT = shares(
    LegAction.SELL_TO_CLOSE, order_type=OrderType.LIMIT, price=Decimal("49.50"), price_effect=PriceEffect.CREDIT
)
LOSS = shares(LegAction.SELL_TO_CLOSE, order_type=OrderType.STOP, stop_trigger=Decimal("42.50"))

BRACKET = NewComplexOrder(type=ComplexOrderType.OTOCO, orders=[PROFIT, LOSS], trigger_order=BUY, source="vectors/1.0")
PAIRS = NewComplexOrder(
    type=ComplexOrderType.PAIRS,
    orders=[BUY, PROFIT],
    ratio_price_comparator=Comparator.GTE,
    ratio_price_threshold=Decimal("1.25"),
    ratio_price_is_threshold_based_on_notional=True,
)

BUY_SENT = """
{"order-type": "Limit", "time-in-force": "Day",
 "legs": [{"action": "Buy to Open", "instrument-type": "Equity", "quantity": "100", "symbol": "QNTX"}],
 "price": "45.00", "price-effect": "Debit"}
"""
PROFIT_SENT = """
{"order-type": "Limit", "time-in-force": "GTC",
 "legs": [{"action": "Sell to Close", "instrument-type": "Equity", "quantity": "100", "symbol": "QNTX"}],
 "price": "49.50", "price-effect": "Credit"}
"""
LOSS_SENT = """
{"order-type": "Stop", "time-in-force": "GTC",
 "legs": [{"action": "Sell to Close", "instrument-type": "Equity", "quantity": "100", "symbol": "QNTX"}],
 "stop-trigger": "42.50"}
"""
BRACKET_SENT = (
    f'{{"type": "OTOCO", "orders": [{PROFIT_SENT}, {LOSS_SENT}], "trigger-order": {BUY_SENT}, "source": "vectors/1.0"}}'
)
PAIRS_SENT = (
    f'{{"type": "PAIRS", "orders": [{BUY_SENT}, {PROFIT_SENT}], "ratio-price-comparator": "gte",'
    ' "ratio-price-threshold": "1.25", "ratio-price-is-threshold-based-on-notional": true}'
)

PLACED = """
{
  "id": 2147480001, "account-number": "5WT00001", "type": "OTOCO",
  "trigger-order": {"id": 700101, "account-number": "5WT00001", "status": "Contingent", "complex-order-id": 2147480001,
                    "complex-order-tag": "OTOCO::trigger-order", "contingent-status": "Pending Order",
                    "preflight-id": 0, "cancellable": true, "editable": true, "size": 100,
                    "global-request-id": "a1b2c3"},
  "orders": [
    {"id": 700102, "status": "Contingent", "complex-order-tag": "OTOCO::oco-1-order", "preflight-id": 1,
     "contingent-status": "Pending Order", "global-request-id": "a1b2c3"},
    {"id": 700103, "status": "Contingent", "complex-order-tag": "OTOCO::oco-1-order", "preflight-id": 2,
     "contingent-status": "Pending Order", "global-request-id": "a1b2c3"}
  ],
  "related-orders": []
}
"""
EFFECT = """
"buying-power-effect": {"change-in-buying-power": "2250.0", "change-in-buying-power-effect": "Debit"},
"fee-calculation": {"total-fees": "0.1", "total-fees-effect": "Debit", "rebates": "0.02", "rebates-effect": "Credit",
                    "rebates-breakdown": [{"name": "pool", "value": "0.02", "effect": "Credit"}]},
"warnings": [{"code": "tif_next_valid_sesssion", "message": "Works from the next session", "preflight-id": 0}]
"""

EXCHANGES = (
    Exchange(
        name="one order of any age",
        operation="orders.get",
        arguments=(ACCOUNT, 700100),
        target="/accounts/5WT00001/orders/700100",
        answer="""
        {
          "data": {"id": 700100, "account-number": "5WT00001", "status": "Filled", "size": 10, "price": "45.0",
                   "updated-at": 1783344615002, "confirmation-status": "Confirmed",
                   "legs": [{"symbol": "QNTX", "quantity": 10, "remaining-quantity": 0,
                             "fills": [{"fill-id": "f1", "fill-price": "44.99", "quantity": 10}]}]},
          "context": "/accounts/5WT00001/orders/700100"
        }
        """,
        facts={
            "id": "700100",
            "status": "Filled",
            "legs[0].fills[0].fill_price": Decimal("44.99"),
            "updated_at": dt.datetime(2026, 7, 6, 13, 30, 15, 2000, tzinfo=dt.UTC),
            "confirmation_status": "Confirmed",
        },
    ),
    Exchange(
        name="complex orders in pages of ten",
        operation="complex_orders.list",
        arguments=(ACCOUNT,),
        options={"page_offset": 1, "per_page": 10},
        target="/accounts/5WT00001/complex-orders?page-offset=1&per-page=10",
        answer='{"data": {"items": ['
        + PLACED
        + ']}, "pagination": {"per-page": 10, "page-offset": 1, "total-items": 11,'
        ' "total-pages": 2, "current-item-count": 1, "next-link": null}}',
        facts={"#": 1, "[0].id": "2147480001", "[0].orders[1].preflight_id": "2"},
        pagination={"total_pages": 2, "next_link": None},
    ),
    Exchange(
        name="complex orders of the day",
        operation="complex_orders.live",
        arguments=(ACCOUNT,),
        target="/accounts/5WT00001/complex-orders/live",
        answer='{"data": {"items": [{"id": 5, "type": "PAIRS", "ratio-price-threshold": 1.25,'
        ' "ratio-price-comparator": "gte", "terminal-at": "2026-03-02T15:00:00Z", "orders": []}]}}',
        facts={
            "#": 1,
            "[0].ratio_price_threshold": Decimal("1.25"),
            "[0].ratio_price_comparator": "gte",
            "[0].terminal_at": dt.datetime(2026, 3, 2, 15, tzinfo=dt.UTC),
            "[0].orders": (),
        },
    ),
    Exchange(
        name="a bracket: entry, profit and loss",
        operation="complex_orders.submit",
        arguments=(ACCOUNT, BRACKET),
        method="POST",
        target="/accounts/5WT00001/complex-orders",
        sent=BRACKET_SENT,
        status=201,
        answer='{"data": {"complex-order": '
        + PLACED
        + ","
        + EFFECT
        + '}, "context": "/accounts/5WT00001/complex-orders"}',
        facts={
            "complex_order.id": "2147480001",
            "complex_order.type": "OTOCO",
            "complex_order.trigger_order.contingent_status": "Pending Order",
            "complex_order.trigger_order.preflight_id": "0",
            "complex_order.orders.#": 2,
            "complex_order.orders[0].complex_order_tag": "OTOCO::oco-1-order",
            "order": None,
            "fee_calculation.rebates": Decimal("0.02"),
            "fee_calculation.rebates_breakdown[0].name": "pool",
            "warnings[0].code": "tif_next_valid_sesssion",
        },
    ),
    Exchange(
        name="a pair with a ratio, only checked",
        operation="complex_orders.dry_run",
        arguments=(ACCOUNT, PAIRS),
        method="POST",
        target="/accounts/5WT00001/complex-orders/dry-run",
        sent=PAIRS_SENT,
        status=201,
        answer='{"data": {"complex-order": {"type": "PAIRS", "orders": [{"status": "Received"}]},' + EFFECT + "}}",
        facts={
            "complex_order.id": None,
            "complex_order.type": "PAIRS",
            "buying_power_effect.change_in_buying_power": Decimal("2250.0"),
        },
    ),
    Exchange(
        name="a new ratio, only checked",
        operation="complex_orders.edit_pairs_dry_run",
        arguments=(ACCOUNT, "5"),
        options={"ratio_price_threshold": Decimal("1.5")},
        method="POST",
        target="/accounts/5WT00001/complex-orders/5/dry-run",
        sent='{"ratio-price-threshold": "1.5"}',
        status=201,
        answer='{"data": {' + EFFECT + "}}",
        facts={"complex_order": None, "buying_power_effect.change_in_buying_power_effect": "Debit"},
    ),
    Exchange(
        name="components at the exchange are asked, the others cancelled at once",
        operation="complex_orders.cancel",
        arguments=(ACCOUNT, 2147480001),
        method="DELETE",
        target="/accounts/5WT00001/complex-orders/2147480001",
        answer="""
        {
          "data": {"id": 2147480001, "type": "OTOCO",
                   "trigger-order": {"id": 700101, "status": "Cancel Requested", "cancellable": false},
                   "orders": [{"id": 700102, "status": "Cancelled", "cancelled-at": "2026-03-02T15:00:00.000+00:00"}]},
          "context": "/accounts/5WT00001/complex-orders/2147480001"
        }
        """,
        facts={
            "trigger_order.status": "Cancel Requested",
            "orders[0].status": "Cancelled",
            "orders[0].cancelled_at": dt.datetime(2026, 3, 2, 15, tzinfo=dt.UTC),
            "terminal_at": None,
        },
    ),
)
