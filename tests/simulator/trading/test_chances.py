"""Rare events happen by the seed, at the rates of one table, and each can be switched off."""

import json
from typing import Any, cast

import attrs
import pytest

from brokerage_async._generated.behaviours import BEHAVIOURS
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.trading.exchange import RATES, Chances
from tests.simulator.factories import START, order
from tests.simulator.harness import Harness, limit, spread
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


def cancelled(harness: Harness) -> str:
    """Place an order that rests, and cancel it once it is live."""
    identifier = harness.trade(limit(), seconds=1)
    assert harness.cancel(identifier).status == 200
    return identifier


def in_an_outage(harness: Harness) -> str:
    """Place an order that rests, once the sandbox's session is offline."""
    chances = Chances(harness.state.random, "sandbox", lambda behaviour: True)
    outage = next(now for now in at_each_minute(harness.now) if chances.is_offline(now))
    harness.wait(outage - harness.now)
    return harness.login().place(limit())


def at_each_minute(start: float) -> range:
    """Return the minutes of three days from a time on."""
    return range(int(start), int(start) + 3 * 86400, 60)


def resting(harness: Harness) -> str:
    return harness.place(limit())


def spreading(harness: Harness) -> str:
    return harness.place(spread())


@for_each(
    "behaviour, begin, seconds, usual, rare",
    [
        ("filled_with_fills_to_come", spreading, 4.0, ("Filled", 0), ("Filled", 1)),
        ("cancels_confirmed_late", cancelled, 1.0, ("Cancelled", 10), ("Cancel Requested", 10)),
        ("fills_after_cancel_requests", cancelled, 1.0, ("Cancelled", 10), ("Filled", 0)),
        ("live_orders_can_be_rejected", resting, 61.0, ("Live", 10), ("Rejected", 10)),
        ("administrators_remove_orders", resting, 606.0, ("Live", 10), ("Removed", 10)),
        ("orders_can_be_dead", resting, 1.0, ("Live", 10), ("Dead", 10)),
        ("sandbox_sessions_go_offline", in_an_outage, 1.0, ("Live", 10), ("Rejected", 10)),
    ],
)
def test_each_event_happens_by_the_seed_and_can_be_switched_off(
    behaviour: str, begin: Any, seconds: float, usual: tuple[str, int], rare: tuple[str, int]
) -> None:
    for without, expected in (((), rare), ((behaviour,), usual)):
        with pytest.MonkeyPatch.context() as patch:
            always(patch, behaviour)
            harness = Harness(without=without).login()
            identifier = begin(harness)
            harness.wait(seconds)
            shown = harness.login().order(identifier)
            found = shown["status"], sum(each["remaining-quantity"] for each in shown["legs"])
            assert found == expected, (behaviour, without, harness.history(identifier))


def test_session_of_the_sandbox_is_offline_for_25_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, "sandbox_sessions_go_offline")
    for environment, minutes in (("sandbox", 25), ("production", 0)):
        one = Chances(KeyedRandom(3), environment, lambda behaviour: True)
        offline = [now for now in at_each_minute(START)[: 24 * 60] if one.is_offline(now)]
        assert len(offline) == minutes
    harness = Harness().login()
    refused = in_an_outage(harness)
    harness.wait(1)
    shown = harness.order(refused)
    assert (shown["status"], shown["reject-reason"]) == ("Rejected", "Session offline")
    harness.wait(25 * 60)
    assert harness.login().status(harness.trade(limit(), seconds=1)) == "Live"


def test_fill_before_a_cancellation_is_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, "fills_after_cancel_requests")
    harness = Harness().login()
    identifier = cancelled(harness)
    harness.wait(1)
    assert harness.history(identifier)[-2:] == ["Cancel Requested", "Filled"]
    assert harness.fills(identifier) == [(10, 100)]
    assert json.loads(harness.cancel(identifier).body)["error"]["code"] == "cannot_update_order"
