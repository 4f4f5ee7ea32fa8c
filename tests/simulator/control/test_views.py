"""Views of the state: the rows of the page, bounded and newest first."""

from __future__ import annotations

from brokerage_async.simulator.control import views
from tests.simulator.harness import Harness, leg, limit, market


def test_price_has_the_course_of_the_past_hour(harness: Harness) -> None:
    prices = harness.state.prices
    view = views.price_view(prices, "AAPL", harness.now)
    assert len(view.history) == 61
    assert view.history[-1] == view.last == str(prices.underlying_price("AAPL", harness.now))
    assert view.history[0] == str(prices.underlying_price("AAPL", harness.now - 3600))
    assert len(set(view.history)) > 10
    harness.sim.set_price("AAPL", "150")
    held = views.price_view(prices, "AAPL", harness.sim.clock.now())
    assert (held.is_held, held.history[-1], held.history[0]) == (True, "150", view.history[0])


def test_orders_are_the_newest_first_with_their_actions(harness: Harness) -> None:
    resting, filled = harness.place(limit("100.00")), harness.place(market())
    first, second, *_ = views.order_views(harness.state)
    assert (first.id, second.id) == (filled, resting)
    assert (second.can_fill, second.can_reject, second.can_expire, second.can_remove) == (True, True, True, True)
    harness.wait(30)
    first, second, *_ = views.order_views(harness.state)
    assert (first.status, first.is_terminal, first.filled, first.size) == ("Filled", True, "10", "10")
    assert (first.can_fill, first.can_reject, first.can_expire) == (False, False, False)
    assert (second.status, second.can_fill, second.can_reject, second.can_expire) == ("Live", True, True, True)


def test_fills_have_their_price_and_leg(harness: Harness) -> None:
    identifier = harness.place(market(leg("MSFT", "3")))
    harness.wait(30)
    fills = views.state_view(harness.brokerage, 1.0, harness.now).fills
    assert sum(int(fill.quantity) for fill in fills) == 3
    assert {(fill.order_id, fill.action, fill.symbol) for fill in fills} == {(identifier, "Buy to Open", "MSFT")}
    assert [fill.at for fill in fills] == sorted((fill.at for fill in fills), reverse=True)


def test_ledger_shows_the_newest_requests_with_their_timings(harness: Harness) -> None:
    harness.ask("GET", "/watchlists")
    under_way, answered = harness.brokerage.ledger.requests[-2:]
    under_way.elapsed, answered.elapsed = None, 0.01234
    shown = views.ledger_view(harness.brokerage.ledger).requests[-2:]
    assert [each.milliseconds for each in shown] == [None, 12.3]
    ledger = harness.brokerage.ledger
    ledger.requests.clear()
    for number in range(300):
        ledger.record_request(harness.now, "GET", f"/{number}")
    shown = views.ledger_view(ledger).requests
    assert len(shown) == views.MAX_ROWS
    assert shown[-1].target == "/299"


def test_prices_are_those_of_traded_and_held_underlyings_up_to_a_number(harness: Harness) -> None:
    harness.place(limit("1.00", leg("BRK/B")))
    shown = [price.symbol for price in views.state_view(harness.brokerage, 1.0, harness.now).prices]
    assert {"AAPL", "MSFT", "SPY", "BRK/B"} <= set(shown)
    for definition in harness.state.catalogue.equities.definitions[:60]:
        harness.sim.set_price(definition.symbol, "5")
    assert len(views.state_view(harness.brokerage, 1.0, harness.now).prices) == views.MAX_PRICES
