"""Orders and complex orders, and the store that holds them."""

from decimal import Decimal

import pytest

from brokerage_async._generated.models import ComplexOrderType, LegAction, OrderStatus, OrderType, PriceEffect
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.simulator.clock import EventQueue
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.ledger import Ledger
from brokerage_async.simulator.trading.order_desk import tag_of
from brokerage_async.simulator.trading.orders import IllegalTransitionError, OrderStore, number_of
from tests.simulator.factories import START, account, legs, order, terms
from tests.simulator.harness import Harness
from tests.tables import for_each


def test_no_transition_leaves_a_terminal_status() -> None:
    for name in TERMINAL:
        one = order()
        one.status = OrderStatus(name)
        for status in OrderStatus:
            with pytest.raises(IllegalTransitionError):
                one.move(status, 1.0)


def test_move_sets_the_times_of_the_status() -> None:
    one = order()
    one.rendered = b"{}"
    path = ("Routed", "In Flight", "Live", "Replace Requested", "Live", "Cancel Requested", "Cancelled")
    for at, status in enumerate(path):
        one.move(OrderStatus(status), float(at))
    assert (one.in_flight_at, one.live_at, one.cancelled_at, one.terminal_at, one.updated_at) == (1, 2, 6, 6, 6)
    assert one.rendered is None
    one = order()
    with pytest.raises(IllegalTransitionError, match="order 7: Received cannot become Filled"):
        one.move(OrderStatus.FILLED, 1.0)
    assert (one.status, one.updated_at) == (OrderStatus.RECEIVED, None)


@for_each(
    "quantities, units",
    [(("6",), 6), (("4", "6"), 2), (("0.5",), 1), (("0.5", "2"), 1), (("0",), 1)],
)
def test_units_of_the_remaining_quantities(quantities: tuple[str, ...], units: int) -> None:
    assert order(*quantities).units == units


@for_each(
    "action, effect, limit",
    [
        (LegAction.BUY_TO_OPEN, None, 5),
        (LegAction.SELL_TO_CLOSE, None, -5),
        (LegAction.SELL_TO_CLOSE, PriceEffect.DEBIT, 5),
        (LegAction.BUY_TO_OPEN, PriceEffect.CREDIT, -5),
        (LegAction.BUY_TO_OPEN, PriceEffect.NONE, 5),
    ],
)
def test_signed_limit_by_action_and_effect(action: LegAction, effect: PriceEffect | None, limit: int) -> None:
    assert order(action=action, price_effect=effect).signed_limit == limit
    assert order(action=action, price_effect=effect, order_type=OrderType.MARKET).signed_limit is None


def test_order_is_editable_once_and_not_while_waiting() -> None:
    old, new = order(number=1), order(number=2)
    assert old.is_editable
    old.replaced_by, new.replaces = new, old
    assert not old.is_editable
    assert not new.is_editable
    old.move(OrderStatus.CANCELLED, 1.0)
    assert new.is_editable
    assert (number_of(old.replaced_by), number_of(old.replaces)) == (2, None)
    assert len(repr(old)) < 5000


def order_store() -> OrderStore:
    return OrderStore(Ledger(), KeyedRandom(0), lambda behaviour: True)


def test_orders_have_numbers_accounts_and_originals() -> None:
    first, second = order_store(), order_store()
    numbers = [[store.number() for _ in range(3)] for store in (first, second)]
    assert numbers[0] == numbers[1] == [order_store().number() + more for more in range(3)]
    kept, first, second = order_store(), account("A"), account("B")
    made = [kept.add(one, legs(), terms(), START) for one in (first, second, first)]
    assert kept.of([second, first]) == made
    assert kept.of([first]) == [made[0], made[2]]
    assert kept.of([account("C")]) == kept.of([]) == []
    kept, own = order_store(), account()
    old = kept.add(own, legs(), terms(), START)
    new = kept.add(own, legs(), terms(), START, replaces=old)
    assert (new.replaces, new.edited, old.edited) == (old, True, False)


@for_each("identifier", ["", "1", "-1", "x", "{}.0", " {}", "0{}", "+{}", "9" * 5000])
def test_get_requires_the_exact_identifier(identifier: str) -> None:
    kept, own = order_store(), account()
    order = kept.add(own, legs(), terms(), START)
    assert kept.get(own, str(order.number)) is order
    assert kept.get(own, identifier.format(order.number)) is None
    assert kept.get(account("B"), str(order.number)) is None


def test_every_change_reaches_listeners_and_ledger() -> None:
    ledger = Ledger()
    kept, heard = OrderStore(ledger, KeyedRandom(0), lambda behaviour: True), []
    kept.on_change(lambda order, now: heard.append((order.status, now)))
    order = kept.add(account(), legs(), terms(external_identifier="mine"), START)
    kept.move(order, OrderStatus.ROUTED, START + 1)
    kept.changed(order, START + 2)
    assert heard == [("Received", START), ("Routed", START + 1), ("Routed", START + 2)]
    assert [(event.before, event.after) for event in ledger.events] == [(None, "Received"), ("Received", "Routed")]
    assert [record.order_id for record in ledger.orders(external_identifier="mine")] == [str(order.number)]
    assert kept.version == 3


def test_terminal_status_releases_buying_power_and_cancels_events() -> None:
    kept, event_queue, own = order_store(), EventQueue(), account()
    order = kept.add(own, legs(), terms(), START)
    kept.release(order, Decimal(30))
    kept.release(order, Decimal(20))
    assert own.reserved == order.reserved == 20
    order.scheduled["next"] = event_queue.at(START, lambda _: pytest.fail("was called off"))
    kept.move(order, OrderStatus.CANCELLED, START)
    event_queue.run(START)
    assert (own.reserved, order.scheduled) == (0, {})
    with pytest.raises(IllegalTransitionError):
        kept.move(order, OrderStatus.LIVE, START)


def test_components_have_published_tags_and_related_orders(harness: Harness) -> None:
    for kind, other in (("OTOCO", "oco-1-order"), ("OTO", "order"), ("OCO", "order")):
        tags = tag_of(ComplexOrderType(kind), trigger=True), tag_of(ComplexOrderType(kind))
        assert tags == (f"{kind}::trigger-order", f"{kind}::{other}")
    harness.wait(5)
    first = harness.complex_order("OCO")["orders"][0]["id"]
    edit = {"order-type": "Limit", "time-in-force": "GTC", "price": "151.00"}
    harness.data("PATCH", f"/accounts/{harness.accounts[1]}/orders/{first}", edit)
    harness.wait(3)
    data = harness.complex_order("OCO")
    (related,) = data["related-orders"]
    assert (related["id"], related["status"]) == (str(first), "Cancelled")
    assert {type(value) for value in related.values()} == {str}
    assert data["orders"][0]["replaces-order-id"] == first
