"""Timing of streams: pauses between early polls, and silence that is a fault."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.protocol.streams.timing import WINDOW, LookBudget, Pulse
from tests.tables import for_each


def test_events_of_one_burst_cause_one_poll() -> None:
    budget = LookBudget()
    assert budget.ring(5.0) == pytest.approx(5.01)
    assert budget.ring(5.005) is None
    budget.polled()
    assert budget.ring(5.02) == pytest.approx(5.03)


@given(st.lists(st.floats(0.001, 5.0), max_size=50))
def test_no_event_is_forgotten_and_the_rate_is_bounded(pauses: list[float]) -> None:
    budget, now, due, polls = LookBudget(), 0.0, None, 0
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


def beating(pause: float, seconds: float, key: str = "A") -> Pulse[str]:
    pulse = Pulse[str]()
    for number in range(int(seconds / pause) + 1):
        pulse.note([key], number * pause)
    return pulse


@for_each(
    "pause, seconds, mute_after",
    [
        (1.0, 300.0, 60.0), (5.0, 300.0, 60.0), (10.0, 300.0, 100.0), (30.0, 300.0, 300.0), (31.0, 620.0, None),
        (1.0, 299.0, None), (120.0, 6000.0, None),
    ],
)  # fmt: skip
def test_pulse_silence_of_lively_keys_is_found_at_its_time(pause: float, seconds: float, mute_after: Any) -> None:
    pulse, last = beating(pause, seconds), int(seconds / pause) * pause
    assert next((silence for silence in range(1, 2000) if pulse.mute(last + silence)), None) == mute_after
    assert mute_after is None or pulse.mute(last + mute_after) == {"A": last}


def test_pulse_long_pause_counts_for_the_window_and_then_no_longer() -> None:
    pulse = beating(1.0, 400.0)
    pulse.note(["A"], 440.0)  # a pause of 40 s
    assert pulse.mute(440.0 + 1000.0) == {}
    for second in range(441, 441 + 2 * int(WINDOW)):
        pulse.note(["A"], second)
    assert pulse.mute(second + 60.0) == {"A": second}


def test_pulse_keys_are_judged_apart_and_forgotten() -> None:
    pulse = beating(1.0, 300.0)
    for second in range(301, 400):
        pulse.note(["B"], second)
    assert pulse.mute(399.0) == {"A": 300.0}
    pulse.forget(["A", "C"])
    assert pulse.mute(3000.0) == {}


def test_pulse_of_a_renewed_connection_owes_an_event_with_growing_patience() -> None:
    pulse = beating(1.0, 300.0)
    now, waits = 360.0, []
    for _ in range(6):
        mute = pulse.mute(now)
        assert list(mute) == ["A"]
        pulse.renew(mute, now)
        begin = now
        while not pulse.mute(now):
            now += 1.0
        waits.append(now - begin)
    assert waits == [60.0, 120.0, 240.0, 480.0, 900.0, 900.0]
    pulse.renew([], now)  # lost for another reason: the event is still owed
    assert list(pulse.mute(now + 900.0)) == ["A"]
    pulse.note(["A"], now)
    assert pulse.mute(now + 5000.0) == {}, "it must become lively again before it can be mute"
    pulse.renew(["A"], now)
    assert list(pulse.mute(now + 60.0)) == ["A"]
