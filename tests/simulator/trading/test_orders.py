"""Orders and complex orders, the store that holds them, and the desk that accepts, cancels and replaces them."""

from decimal import Decimal

import pytest

from brokerage_async._generated.models import OrderStatus
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.simulator.trading.orders import IllegalTransitionError
from tests.simulator.harness import EDIT, Harness, leg, limit, lone_order, market, switched
from tests.tables import for_each


def test_no_transition_leaves_a_terminal_status() -> None:
    for name in TERMINAL:
        one = lone_order()
        one.status = OrderStatus(name)
        for status in OrderStatus:
            with pytest.raises(IllegalTransitionError):
                one.move(status, 1.0)


def target(harness: Harness, identifier: object) -> str:
    return f"/accounts/{harness.account}/orders/{identifier}"


def test_submissions_are_not_deduplicated(harness: Harness) -> None:
    body = limit(external_identifier="twice")
    assert harness.place(body) != harness.place(body)
    assert len(harness.sim.ledger.orders(external_identifier="twice")) == 2


def test_live_order_is_cancelled_once_the_exchange_confirms(harness: Harness) -> None:
    identifier = harness.trade(limit(), seconds=2)
    answer = harness.call("orders.cancel", id=identifier)
    assert (answer["status"], answer["cancellable"]) == ("Cancel Requested", False)
    assert "cancelled-at" not in answer
    order = harness.order(identifier, after=1)
    assert (order["status"], order["cancel-username"]) == ("Cancelled", "simulated-owner")
    assert order["cancelled-at"] == order["terminal-at"]
    spellings = (f"{identifier}.0", f"%20{identifier}", f"0{identifier}", f"%2B{identifier}")
    for unknown in ("1", "-1", "abc", "9" * 5000, *spellings, harness.place(limit(), harness.accounts[2])):
        assert harness.cancel(unknown).status == 404


def test_order_not_at_the_exchange_is_cancelled_at_once(harness: Harness) -> None:
    assert harness.call("orders.cancel", id=harness.place(limit()))["status"] == "Cancelled"


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
    before = harness.order(old, after=3)
    assert (before["status"], before["edited"], before["replacing-order-id"]) == ("Cancelled", True, new["id"])
    assert harness.status(str(new["id"])) == "Live"
    assert len(harness.sim.ledger.orders(external_identifier="mine")) == 2


def test_edit_dry_run_changes_nothing(harness: Harness) -> None:
    identifier = harness.trade(limit(), seconds=2)
    answer = harness.call("orders.edit_dry_run", EDIT, id=identifier)
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
    for harness, statuses in switched("edits_take_no_legs", (422, 422), (200, 201)):
        first, second = (target(harness, harness.place(limit(external_identifier="mine"))) for _ in range(2))
        harness.wait(2)
        dry_run = harness.ask("POST", f"{first}/dry-run", EDIT | {"rules": rules})
        edited = harness.ask(method, first, EDIT | {"legs": [leg()]})
        assert (edited.status, dry_run.status) == statuses
        shown = harness.data(method, second, EDIT | {"rules": rules})
        assert "external-identifier" not in shown
        harness.wait_until("2026-06-10T15:00:30+00:00")
        assert harness.status(str(shown["id"])) == "Cancelled"


def replaced(harness: Harness, identifier: str, **change: str) -> str:
    return str(harness.call("orders.replace", EDIT | change, id=identifier)["id"])


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
        harness.sim.hold_order(identifier, status=status)
        order = harness.order(identifier, after=5)
        assert (order["status"], order["cancellable"], order["editable"]) == (status, False, False)
        for method, tail in (("DELETE", ""), ("PUT", ""), ("PATCH", ""), ("POST", "/dry-run")):
            error = harness.error(method, f"{path}{tail}", None if method == "DELETE" else EDIT)
            assert error["code"] == "cannot_update_order"
        harness.sim.release_order(identifier)
    assert harness.order(identifier, after=1)["cancellable"]
    assert harness.cancel(identifier).status == 200
    harness = Harness(without=["no_change_before_live"]).login()
    identifier = harness.place(limit())
    harness.sim.hold_order(identifier, status="Routed")
    assert harness.order(identifier, after=5)["cancellable"]
    assert harness.cancel(identifier).status == 200
    harness.wait(1)
    assert harness.history(identifier) == ["Received", "Routed", "Cancel Requested", "Cancelled"]


def test_replacement_is_contingent_until_the_original_is_cancelled() -> None:
    for harness, waits in switched("replacements_wait_for_the_cancel", "Contingent", "Received"):
        old = harness.trade(limit(), seconds=2)
        harness.sim.hold_order(old, status="Replace Requested")
        new = replaced(harness, old)
        assert harness.state.order_store.get(harness.own(), old).reserved == 0
        assert (harness.status(old, after=60), harness.status(new)) == ("Replace Requested", waits)
        harness.sim.release_order(old)
        assert (harness.status(old, after=2), harness.status(new)) == ("Cancelled", "Live")


@for_each("quantity, becomes, left", [(3, "Live", 4), (None, "Filled", 0)])
def test_any_fill_of_the_original_ends_its_replacement(quantity: int | None, becomes: str, left: int) -> None:
    harness = Harness().login()
    old = harness.trade(limit("100.00", leg(quantity="7")), seconds=2)
    reserved = harness.own().reserved
    harness.sim.hold_order(old, status="Replace Requested")
    new = replaced(harness, old)
    harness.sim.fill_order(old, quantity=quantity, price="100")
    harness.sim.release_order(old)
    assert (harness.status(old, after=5), harness.history(new)) == (becomes, ["Received", "Contingent", "Rejected"])
    assert "replacing-order-id" not in harness.order(old)
    assert harness.own().reserved == (reserved * left / 7).quantize(Decimal("0.001"))


def test_replacement_waits_for_its_original_and_expires_with_it(harness: Harness) -> None:
    old = harness.trade(limit(), seconds=2)
    new = replaced(harness, old)
    assert not harness.order(new)["editable"]
    assert harness.ask("PUT", target(harness, new), EDIT).status == 422
    assert harness.order(new, after=3)["editable"]
    store, account = harness.state.order_store, harness.own()
    assert store.get(account, replaced(harness, new)).replaces is store.get(account, new)
    harness.wait_until("2026-06-10T19:59:30+00:00")
    old = harness.trade(limit(), seconds=29.98)
    new = replaced(harness, old)
    assert (harness.status(old, after=2), harness.status(new)) == ("Expired", "Expired")
