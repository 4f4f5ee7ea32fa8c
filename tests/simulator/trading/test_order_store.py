"""Storage of orders, and notification of their changes."""

from __future__ import annotations

from decimal import Decimal

import pytest

from brokerage_async._generated.models import OrderStatus
from brokerage_async.simulator.clock import EventQueue
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.ledger import Ledger
from brokerage_async.simulator.trading.orders import IllegalTransitionError, OrderStore
from tests.simulator.factories import START, account, legs, terms

DAY = 86400.0


def order_store() -> OrderStore:
    return OrderStore(Ledger(), KeyedRandom(0), lambda behaviour: True)


def test_orders_have_numbers_accounts_and_originals() -> None:
    first, second = order_store(), order_store()
    assert [first.number(), first.number()] == [second.number(), second.number()]
    assert first.number() == second.number() == order_store().number() + 2
    kept, first, second = order_store(), account("A"), account("B")
    made = [kept.add(one, legs(), terms(), START) for one in (first, second, first)]
    assert kept.of([second, first]) == made
    assert kept.of([first]) == [made[0], made[2]]
    assert kept.of([account("C")]) == kept.of([]) == []
    kept, own = order_store(), account()
    old = kept.add(own, legs(), terms(), START)
    new = kept.add(own, legs(), terms(), START, replaces=old)
    assert (new.replaces, new.edited, old.edited) == (old, True, False)


@pytest.mark.parametrize(
    "identifier", ["", "1", "-1", "x", "{}.0", " {}", "0{}", "+{}", "9" * 5000], ids=lambda text: text[:8]
)
def test_get_requires_the_exact_identifier(identifier: str) -> None:
    kept, own = order_store(), account()
    order = kept.add(own, legs(), terms(), START)
    assert kept.get(own, str(order.number)) is order
    assert kept.get(own, identifier.format(order.number)) is None
    assert kept.get(account("B"), str(order.number)) is None


def test_live_returns_orders_that_work_or_changed_on_the_day() -> None:
    for lists_working in (True, False):
        kept, own = OrderStore(Ledger(), KeyedRandom(0), lambda _, on=lists_working: on), account()
        first, second, third = (kept.add(own, legs(), terms(), START) for _ in range(3))
        assert kept.live([own], START) == [first, second, third]
        kept.move(third, OrderStatus.REJECTED, START)
        assert kept.live([own], START) == [first, second, third]
        assert kept.live([own], START + DAY) == ([first, second] if lists_working else [])
        kept.move(second, OrderStatus.ROUTED, START + DAY)
        assert kept.live([own], START + DAY) == ([first, second] if lists_working else [second])
        assert kept.live([account("B")], START) == []


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
