"""Controls of a simulator in use, and the actions behind them."""

from decimal import Decimal
from urllib.parse import urlencode

import pytest

from brokerage_async.simulator import PricePath
from brokerage_async.simulator.control.actions import ACTIONS
from tests.simulator.harness import Harness, limit, market


@pytest.fixture
def standing(harness: Harness) -> Harness:
    """A harness whose simulator's own clock stands still as well."""
    harness.sim.clock.speed = 0
    return harness


def test_prices_and_limits_are_set_while_the_simulator_is_in_use(standing: Harness) -> None:
    sim = standing.sim
    sim.set_source("MSFT", PricePath([(0, "7"), (60, "8")]))
    assert sim.price("MSFT") == 7
    sim.clock.advance(60)
    assert sim.price("MSFT") == 8
    sim.rate_limit = 0
    assert (sim.rate_limit, standing.ask("GET", "/watchlists").status) == (0, 429)
    sim.rate_limit = None
    sim.withdrawn_versions = ["20250101"]
    assert sim.withdrawn_versions == {"20250101"}
    assert standing.ask("GET", "/watchlists", accept_version="20250101").status == 406
    assert standing.ask("GET", "/watchlists", accept_version="20250102").status == 200
    walk = sim.price("AAPL")
    sim.set_price("AAPL", "150.25")
    assert sim.price("AAPL") == Decimal("150.25")
    sim.clock.advance(3600)
    assert sim.price("AAPL") == Decimal("150.25")
    sim.release_price("AAPL")
    assert abs(sim.price("AAPL") - walk) < 20
    assert sim.price("AAPL") != Decimal("150.25")


def test_settle_runs_what_is_due(standing: Harness) -> None:
    identifier = standing.place(market())
    standing.sim.clock.advance(30)
    assert standing.history(identifier) == ["Received"]
    standing.sim.settle()
    assert standing.history(identifier)[-1] == "Filled"


def test_consent_gives_a_code_and_expired_tokens_are_refused(standing: Harness) -> None:
    sim = standing.sim
    query = {"client_id": sim.client_id, "redirect_uri": sim.redirect_uri, "response_type": "code", "state": "s"}
    redirect = sim.authorize(f"{sim.auth_page_url}?{urlencode(query)}")
    assert redirect.startswith(f"{sim.redirect_uri}?code=")
    assert redirect.endswith("&state=s")
    sim.expire_tokens()
    assert standing.ask("GET", "/watchlists").status == 401
    assert standing.login().ask("GET", "/watchlists").status == 200


def test_orders_are_led_through_their_life_by_calls(standing: Harness) -> None:
    sim, clock = standing.sim, standing.sim.clock
    filled, rejected, expired, removed = (standing.place(limit()) for _ in range(4))
    sim.hold_order(filled, "Cancel Requested")
    clock.advance(5)
    standing.now = clock.now()
    assert standing.cancel(filled).status == 200
    clock.advance(60)
    sim.fill_order(filled, quantity=4, price=Decimal("99.5"))
    sim.fill_order(filled)
    sim.reject_order(rejected, "Session offline")
    sim.expire_order(expired)
    sim.remove_order(removed)
    sim.hold_order("*", "Routed")
    held = standing.place(limit())
    clock.advance(60)
    sim.settle()
    standing.now = clock.now()
    standing.login()
    shown = {name: standing.order(name) for name in (filled, rejected, expired, removed, held)}
    assert [each["status"] for each in shown.values()] == ["Filled", "Rejected", "Expired", "Removed", "Routed"]
    assert [fill["quantity"] for fill in shown[filled]["legs"][0]["fills"]] == [4, 6]
    assert shown[rejected]["reject-reason"] == "Session offline"
    before = sim.snapshot()
    sim.release_order()
    clock.advance(5)
    sim.settle()
    assert standing.history(held)[-1] == "Live"
    sim.restore(before)
    assert standing.history(held)[-1] == "Routed"
    with pytest.raises(LookupError, match="unknown order 1"):
        sim.fill_order("1")
    with pytest.raises(ValueError, match="quantity must be a number, got 'x'"):
        sim.fill_order(held, quantity="x")


def test_recorded_actions_give_the_same_history(harness: Harness) -> None:
    count = len(harness.brokerage.entries)
    for price in ("0", "-1", "NaN", "Infinity", "dear", "", "1e99"):
        with pytest.raises(ValueError, match="price must be"):
            harness.act("set_price", symbol="AAPL", price=price)
    assert (harness.sim.price("AAPL"), len(harness.brokerage.entries)) == (200, count)
    harness.act("set_price", symbol="AAPL", price="1")
    assert len(harness.brokerage.entries) == count + 1
    filled, rejected, expired = (harness.place(limit()) for _ in range(3))
    harness.act("fill_order", order_id=filled, quantity="4", price="99.5")
    harness.act("reject_order", order_id=rejected, reason="no")
    harness.act("expire_order", order_id=expired)
    harness.act("set_price", symbol="AAPL", price="150")
    harness.act("release_price", symbol="AAPL")
    harness.act("expire_tokens")
    harness.act("revoke")
    history = harness.brokerage.ledger.history()
    harness.sim.restore(harness.sim.snapshot())
    assert harness.sim.brokerage.ledger.history() == history
    assert {action.__code__.co_argcount for action in ACTIONS.values()} == {2}
