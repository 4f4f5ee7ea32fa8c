"""Every order kept and found again, and everybody told."""

from __future__ import annotations

from decimal import Decimal

import pytest

from brokerage_async._generated.models import OrderStatus
from brokerage_async.simulator.event_queue import Agenda
from brokerage_async.simulator.keyed_random import Chance
from brokerage_async.simulator.ledger import Ledger
from brokerage_async.simulator.trading.order_store import Blotter
from brokerage_async.simulator.trading.orders import IllegalTransitionError
from tests.simulator.made import START, account, legs, terms

DAY = 86400.0


def blotter() -> Blotter:
    return Blotter(Ledger(), Chance(0))


def test_numbers_go_up_and_belong_to_the_seed() -> None:
    first, second = blotter(), blotter()
    assert [first.number(), first.number()] == [second.number(), second.number()]
    assert first.number() == second.number() == Blotter(Ledger(), Chance(0)).number() + 2


@pytest.mark.parametrize(
    "identifier", ["", "1", "-1", "x", "{}.0", " {}", "0{}", "+{}", "9" * 5000], ids=lambda text: text[:8]
)
def test_only_the_identifier_finds_an_order(identifier: str) -> None:
    kept, own = blotter(), account()
    order = kept.add(own, legs(), terms(), START)
    assert kept.get(own, str(order.number)) is order
    assert kept.get(own, identifier.format(order.number)) is None
    assert kept.get(account("B"), str(order.number)) is None


def test_orders_of_several_accounts_come_in_the_order_of_their_making() -> None:
    kept, first, second = blotter(), account("A"), account("B")
    made = [kept.add(one, legs(), terms(), START) for one in (first, second, first)]
    assert kept.of([second, first]) == made
    assert kept.of([first]) == [made[0], made[2]]
    assert kept.of([account("C")]) == kept.of([]) == []


def test_today_is_what_was_touched_on_the_day() -> None:
    kept, own = blotter(), account()
    first, second = (kept.add(own, legs(), terms(), START) for _ in range(2))
    assert kept.today([own], START) == [second, first]
    assert kept.today([own], START + DAY) == []
    kept.move(first, OrderStatus.ROUTED, START + DAY)
    assert kept.today([own], START + DAY) == [first]
    assert kept.today([account("B")], START) == []


def test_listeners_and_the_ledger_hear_of_everything() -> None:
    ledger = Ledger()
    kept, heard = Blotter(ledger, Chance(0)), []
    kept.on_change(lambda order, now: heard.append((order.status, now)))
    order = kept.add(account(), legs(), terms(external_identifier="mine"), START)
    kept.move(order, OrderStatus.ROUTED, START + 1)
    kept.changed(order, START + 2)
    assert heard == [("Received", START), ("Routed", START + 1), ("Routed", START + 2)]
    assert [(event.before, event.after) for event in ledger.events] == [(None, "Received"), ("Received", "Routed")]
    assert [record.order_id for record in ledger.orders(external_identifier="mine")] == [str(order.number)]
    assert kept.version == 3


def test_an_end_releases_what_is_held_back_and_calls_everything_off() -> None:
    kept, agenda, own = blotter(), Agenda(), account()
    order = kept.add(own, legs(), terms(), START)
    kept.release(order, Decimal(30))
    kept.release(order, Decimal(20))
    assert own.reserved == order.reserved == 20
    order.appointments["next"] = agenda.at(START, lambda _: pytest.fail("was called off"))
    kept.move(order, OrderStatus.CANCELLED, START)
    agenda.run(START)
    assert (own.reserved, order.appointments) == (0, {})
    with pytest.raises(IllegalTransitionError):
        kept.move(order, OrderStatus.LIVE, START)


def test_a_replacement_points_back() -> None:
    kept, own = blotter(), account()
    old = kept.add(own, legs(), terms(), START)
    new = kept.add(own, legs(), terms(), START, replaces=old)
    assert (new.replaces, new.edited, old.edited) == (old, True, False)
