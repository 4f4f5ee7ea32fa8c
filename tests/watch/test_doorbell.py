"""Push as a doorbell: when events cause an early poll."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.errors import ConfigurationError
from brokerage_async.watch import Watch
from brokerage_async.watch.doorbell import LookBudget
from tests.fake_transport import FakeTransport


def test_events_of_one_burst_cause_one_poll() -> None:
    budget = LookBudget()
    assert budget.ring(5.0) == pytest.approx(5.01)
    assert budget.ring(5.005) is None
    budget.polled()
    assert budget.ring(5.02) == pytest.approx(5.03)


def test_raining_events_cause_two_polls_per_second() -> None:
    budget, polls, now = LookBudget(), [], 0.0
    due: float | None = None
    while now < 60:
        if due is not None and now >= due:
            polls.append(now)
            budget.polled()
            due = None
        due = budget.ring(now) or due
        now += 0.005
    assert 120 <= len(polls) <= 132


@given(st.lists(st.floats(0.001, 5.0), max_size=50))
def test_no_event_is_forgotten_and_the_rate_is_bounded(pauses: list[float]) -> None:
    budget, now, due = LookBudget(), 0.0, None
    polls = 0
    for pause in pauses:
        now += pause
        if due is not None and due <= now:
            polls += 1
            budget.polled()
            due = None
        found = budget.ring(now)
        assert (found is None) == (due is not None)
        due = due if found is None else found
        assert due is not None
        assert now < due <= now + 0.51
    assert polls <= now * 2.0 + 11


WATCHES: list[Any] = [
    lambda watch: watch.orders("me", ["A"], push=True),
    lambda watch: watch.quote_alerts(push=True),
    lambda watch: watch.positions(["A"], push=True),
    lambda watch: watch.balances(["A"], push=True),
]


@pytest.mark.parametrize("make", WATCHES)
def test_push_without_an_address_is_an_error_at_once(make: Any) -> None:
    client = Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport())
    with pytest.raises(ConfigurationError, match="streamer_url must be the address of the account stream"):
        make(client.watch)
    with pytest.raises(ConfigurationError, match="made without the streams of a client"):
        make(Watch(client))


def test_push_is_a_flag() -> None:
    client = Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport())
    with pytest.raises(ConfigurationError, match="push must be True or False, got 'yes'"):
        client.watch.orders("me", ["A"], push="yes")  # type: ignore[arg-type]
