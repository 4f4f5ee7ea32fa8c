"""Rare events happen by the seed, at the rates of one table, and each can be switched off."""

import json
from typing import Any, cast

import attrs
import pytest

from brokerage_async._generated.behaviours import BEHAVIOURS
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.trading.exchange import RATES, Chances
from tests.simulator.factories import START, order
from tests.simulator.harness import Harness, leg, limit
from tests.tables import for_each


def always(monkeypatch: pytest.MonkeyPatch, behaviour: str) -> None:
    """Let a rare event happen to each order, or on each day."""
    monkeypatch.setitem(cast("dict[str, Any]", RATES), behaviour, attrs.evolve(RATES[behaviour], one_in=1))


def test_rates_are_met_in_a_thousand_days_of_ten_orders() -> None:
    """Of 10,000 orders, each event meets some, and none meets many."""
    chances = Chances(KeyedRandom(7), "sandbox", lambda behaviour: True)
    for behaviour, rate in RATES.items():
        delays = [chances.delay(behaviour, order(number=number)) for number in range(10_000)]
        met = [delay for delay in delays if delay is not None]
        assert 0.4 * 10_000 / rate.one_in < len(met) < 1.8 * 10_000 / rate.one_in
        assert all(rate.seconds[0] <= delay <= rate.seconds[1] for delay in met)
        assert behaviour in BEHAVIOURS


def spread(harness: Harness) -> str:
    """Place a spread that fills at once."""
    legs = [
        leg("AAPL  260717C00200000", "1", "Buy to Open"),
        leg("AAPL  260717C00210000", "1", "Sell to Open"),
    ]
    return harness.place(limit("50.00", *legs))


def cancelled(harness: Harness) -> str:
    """Place an order that rests, and cancel it once it is live."""
    identifier = harness.trade(limit(), seconds=1)
    assert harness.cancel(identifier).status == 200
    return identifier


def resting(harness: Harness) -> str:
    """Place an order that rests."""
    return harness.place(limit())


@for_each(
    "behaviour, begin, seconds, usual, rare",
    [
        ("filled_with_fills_to_come", spread, 4.0, "complete", "incomplete"),
        ("cancels_confirmed_late", cancelled, 1.0, "Cancelled", "Cancel Requested"),
        ("fills_after_cancel_requests", cancelled, 1.0, "Cancelled", "Filled"),
        ("live_orders_can_be_rejected", resting, 61.0, "Live", "Rejected"),
        ("administrators_remove_orders", resting, 606.0, "Live", "Removed"),
        ("orders_can_be_dead", resting, 1.0, "Live", "Dead"),
        ("sandbox_sessions_go_offline", resting, 1.0, "Live", "Rejected"),
    ],
)
def test_each_event_happens_by_the_seed_and_can_be_switched_off(
    behaviour: str, begin: Any, seconds: float, usual: str, rare: str
) -> None:
    for without, expected in (((), rare), ((behaviour,), usual)):
        with pytest.MonkeyPatch.context() as patch:
            always(patch, behaviour)
            harness = Harness(without=without).login()
            if behaviour == "sandbox_sessions_go_offline":
                outage = next(now for now in at_each_minute(harness.now) if chances(harness).is_offline(now))
                harness.wait(outage - harness.now)
                harness.login()
            identifier = begin(harness)
            harness.wait(seconds)
            harness.login()
            shown = harness.order(identifier)
            missing = any(each["remaining-quantity"] for each in shown["legs"])
            found = ("incomplete" if missing else "complete") if begin is spread else shown["status"]
            assert found == expected, (behaviour, without, harness.history(identifier))


def at_each_minute(start: float) -> range:
    """Return the minutes of three days from a time on."""
    return range(int(start), int(start) + 3 * 86400, 60)


def chances(harness: Harness) -> Chances:
    """Return the simulator's chances with every behaviour switched on."""
    settings = harness.state.settings
    return Chances(harness.state.random, settings.environment, lambda behaviour: True)


def test_session_of_the_sandbox_is_offline_for_25_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, "sandbox_sessions_go_offline")
    for environment, minutes in (("sandbox", 25), ("production", 0)):
        one = Chances(KeyedRandom(3), environment, lambda behaviour: True)
        offline = [now for now in at_each_minute(START)[: 24 * 60] if one.is_offline(now)]
        assert len(offline) == minutes
    harness = Harness().login()
    outage = next(now for now in at_each_minute(harness.now) if chances(harness).is_offline(now))
    harness.wait(outage - harness.now)
    harness.login()
    refused = harness.trade(limit(), seconds=1)
    shown = harness.order(refused)
    assert (shown["status"], shown["reject-reason"]) == ("Rejected", "Session offline")
    harness.wait(25 * 60)
    harness.login()
    accepted = harness.trade(limit(), seconds=1)
    assert harness.status(accepted) == "Live"


def test_fill_before_a_cancellation_is_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, "fills_after_cancel_requests")
    harness = Harness().login()
    identifier = cancelled(harness)
    harness.wait(1)
    assert harness.history(identifier)[-2:] == ["Cancel Requested", "Filled"]
    (fill,) = harness.order(identifier)["legs"][0]["fills"]
    assert (fill["fill-price"], fill["quantity"]) == ("100.00", 10)
    assert json.loads(harness.cancel(identifier).body)["error"]["code"] == "cannot_update_order"
