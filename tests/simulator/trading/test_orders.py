"""Orders and complex orders, the store that holds them, and the desk that accepts, cancels and replaces them."""

from decimal import Decimal
from typing import Any

import pytest

from brokerage_async._generated.models import ComplexOrderType, LegAction, OrderStatus, OrderType, PriceEffect
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.simulator.clock import EventQueue
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.ledger import Ledger
from brokerage_async.simulator.trading.order_desk import tag_of
from brokerage_async.simulator.trading.orders import IllegalTransitionError, OrderStore, number_of
from tests.simulator.factories import START, account, legs, order, terms
from tests.simulator.harness import EDIT, Harness, leg, limit, market
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
    assert (one.in_flight_at, one.live_at, one.terminal_at, one.updated_at) == (1, 2, 6, 6)
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


def target(harness: Harness, identifier: object) -> str:
    return f"/accounts/{harness.account}/orders/{identifier}"


def test_submissions_are_not_deduplicated(harness: Harness) -> None:
    body = limit(external_identifier="twice")
    assert harness.place(body) != harness.place(body)
    assert len(harness.sim.ledger.orders(external_identifier="twice")) == 2


def test_live_order_is_cancelled_once_the_exchange_confirms(harness: Harness) -> None:
    identifier = harness.trade(limit(), seconds=2)
    answer = harness.data("DELETE", target(harness, identifier))
    assert (answer["status"], answer["cancellable"]) == ("Cancel Requested", False)
    assert "cancelled-at" not in answer
    harness.wait(1)
    order = harness.order(identifier)
    assert (order["status"], order["cancel-username"]) == ("Cancelled", "simulated-owner")
    assert order["cancelled-at"] == order["terminal-at"]
    for unknown in ("1", "abc", "9" * 5000, harness.place(limit(), harness.accounts[2])):
        assert harness.cancel(unknown).status == 404


def test_order_not_at_the_exchange_is_cancelled_at_once(harness: Harness) -> None:
    assert harness.data("DELETE", target(harness, harness.place(limit())))["status"] == "Cancelled"


def test_terminal_or_cancelling_order_cannot_be_cancelled(harness: Harness) -> None:
    filled, cancelling = harness.trade(market()), harness.trade(limit(), seconds=2)
    assert harness.cancel(cancelling).status == 200
    for identifier in (filled, cancelling):
        assert harness.error("DELETE", target(harness, identifier))["code"] == "cannot_update_order"


@for_each("method", ["PUT", "PATCH"])
def test_replacement_is_a_new_order_that_references_the_original(method: str) -> None:
    harness = Harness().login()
    old = harness.trade(limit("100.00", external_identifier="mine"), seconds=2)
    new = harness.data(method, target(harness, old), EDIT | {"external-identifier": "mine"})
    assert (str(new["replaces-order-id"]), new["edited"], new["price"]) == (old, True, "101.00")
    assert harness.status(old) == "Replace Requested"
    harness.wait(3)
    before = harness.order(old)
    assert (before["status"], before["edited"], before["replacing-order-id"]) == ("Cancelled", True, new["id"])
    assert harness.status(str(new["id"])) == "Live"
    assert len(harness.sim.ledger.orders(external_identifier="mine")) == 2


def test_edit_dry_run_changes_nothing(harness: Harness) -> None:
    identifier = harness.trade(limit(), seconds=2)
    answer = harness.data("POST", f"{target(harness, identifier)}/dry-run", EDIT, 201)
    assert "id" not in answer["order"]
    assert (harness.status(identifier), harness.order(identifier)["edited"]) == ("Live", False)


def test_replacement_of_a_terminal_order_or_with_another_instrument_is_rejected(harness: Harness) -> None:
    path = f"{target(harness, harness.place(limit()))}/dry-run"
    harness.error("POST", path, {**EDIT, "legs": [leg("MSFT")]})
    harness.data("POST", path, {**EDIT, "legs": [leg()]}, 201)
    path = target(harness, harness.trade(market()))
    for method, suffix in (("PUT", ""), ("PATCH", ""), ("POST", "/dry-run")):
        harness.error(method, f"{path}{suffix}", EDIT)
    harness.error("PUT", target(harness, "1"), EDIT, 404)


@for_each("method", ["PUT", "PATCH"])
def test_edit_takes_what_belongs_to_it(method: str) -> None:
    """Legs belong to the dry-run, rules to the edit, and the identifier is the one that was sent."""
    rules = {"cancel-at": "2026-06-10T15:00:00Z"}
    for without, statuses in (((), (422, 422)), (("edits_take_no_legs",), (200, 201))):
        harness = Harness(without=without).login()
        first, second = (target(harness, harness.place(limit(external_identifier="mine"))) for _ in range(2))
        harness.wait(2)
        dry_run = harness.ask("POST", f"{first}/dry-run", EDIT | {"rules": rules})
        edited = harness.ask(method, first, EDIT | {"legs": [leg()]})
        assert (edited.status, dry_run.status) == statuses
        shown = harness.data(method, second, EDIT | {"rules": rules})
        assert "external-identifier" not in shown
        harness.wait_until("2026-06-10T15:00:30+00:00")
        assert harness.status(str(shown["id"])) == "Cancelled"


def working(harness: Harness, identifier: str) -> Any:
    return harness.state.order_store.get(harness.own(), identifier)


def replaced(harness: Harness, identifier: str, **change: str) -> str:
    return str(harness.data("PUT", target(harness, identifier), EDIT | change)["id"])


def test_replacement_never_trades_beside_its_original() -> None:
    for seed in range(60):
        harness = Harness(seed=seed, equities=20).login()
        old = harness.place(limit("250.00", leg(quantity="7")))
        while harness.status(old) != "Live":
            harness.wait(0.01)
        replaced(harness, old, price="260.00")
        harness.wait(30)
        assert harness.own().held("AAPL") == 7


def test_order_on_its_way_takes_no_change_yet(harness: Harness) -> None:
    identifier = harness.place(limit())
    path = target(harness, identifier)
    for status in ("Routed", "In Flight"):
        harness.act("hold_order", order_id=identifier, status=status)
        harness.wait(5)
        order = harness.order(identifier)
        assert (order["status"], order["cancellable"], order["editable"]) == (status, False, False)
        for method, tail in (("DELETE", ""), ("PUT", ""), ("PATCH", ""), ("POST", "/dry-run")):
            error = harness.error(method, f"{path}{tail}", None if method == "DELETE" else EDIT)
            assert error["code"] == "cannot_update_order"
        harness.act("release_order", order_id=identifier)
    harness.wait(1)
    assert harness.order(identifier)["cancellable"]
    assert harness.cancel(identifier).status == 200
    lenient = Harness(without=["no_change_before_live"]).login()
    identifier = lenient.place(limit())
    lenient.act("hold_order", order_id=identifier, status="Routed")
    lenient.wait(5)
    assert lenient.order(identifier)["cancellable"]
    assert lenient.cancel(identifier).status == 200
    lenient.wait(1)
    assert lenient.history(identifier) == ["Received", "Routed", "Cancel Requested", "Cancelled"]


def test_replacement_is_contingent_until_the_original_is_cancelled() -> None:
    for without, waits in (((), "Contingent"), (("replacements_wait_for_the_cancel",), "Received")):
        harness = Harness(without=without).login()
        old = harness.trade(limit(), seconds=2)
        harness.act("hold_order", order_id=old, status="Replace Requested")
        new = replaced(harness, old)
        harness.wait(60)
        assert (harness.status(old), harness.status(new)) == ("Replace Requested", waits)
        harness.act("release_order", order_id=old)
        harness.wait(2)
        assert (harness.status(old), harness.status(new)) == ("Cancelled", "Live")


@for_each("quantity, becomes", [("4", "Live"), (None, "Filled")])
def test_any_fill_of_the_original_ends_its_replacement(quantity: str | None, becomes: str) -> None:
    harness = Harness().login()
    old = harness.trade(limit(), seconds=2)
    harness.act("hold_order", order_id=old, status="Replace Requested")
    new = replaced(harness, old)
    harness.act("fill_order", order_id=old, quantity=quantity, price="100")
    harness.act("release_order", order_id=old)
    harness.wait(5)
    assert (harness.status(old), harness.history(new)) == (becomes, ["Received", "Contingent", "Rejected"])
    assert "replacing-order-id" not in harness.order(old)


def test_replacement_waits_for_its_original_and_expires_with_it(harness: Harness) -> None:
    old = harness.trade(limit(), seconds=2)
    new = replaced(harness, old)
    assert not harness.order(new)["editable"]
    assert harness.ask("PUT", target(harness, new), EDIT).status == 422
    harness.wait(3)
    assert harness.order(new)["editable"]
    assert working(harness, replaced(harness, new)).replaces is working(harness, new)
    harness.wait_until("2026-06-10T19:59:30+00:00")
    old = harness.place(limit())
    harness.wait(29.98)
    new = replaced(harness, old)
    harness.wait(2)
    assert (harness.status(old), harness.status(new)) == ("Expired", "Expired")


def test_partial_fill_of_the_original_keeps_its_own_reservation(harness: Harness) -> None:
    seen = 0
    for _ in range(40):
        old = harness.place(limit("250.00", leg(quantity="7")))
        reserved = working(harness, old).reserved
        while harness.status(old) in ("Received", "Routed", "In Flight"):
            harness.wait(0.01)
        if harness.status(old) == "Live":
            new = replaced(harness, old, price="101.00")
            assert working(harness, old).reserved == 0
            while working(harness, new).status == "Contingent":
                harness.wait(0.01)
            left = working(harness, old).legs[0].remaining
            if not working(harness, old).is_terminal:
                seen += 1
                assert working(harness, old).reserved == (reserved * left / 7).quantize(Decimal("0.001"))
        harness.wait(10)
    assert seen > 0
