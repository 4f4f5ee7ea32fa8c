"""Pauses between early polls."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import ConfigurationError
from brokerage_async.protocol.streams.timing import LookBudget, Timing


def test_times_must_be_positive_numbers() -> None:
    for field in attrs.fields(Timing):
        for wrong in (0, "soon"):
            with pytest.raises(ConfigurationError, match=f"{field.name} must be a number of seconds greater than 0"):
                Timing(**{field.name: wrong})


def test_events_of_one_burst_cause_one_poll() -> None:
    budget = LookBudget()
    assert budget.ring(5.0) == pytest.approx(5.01)
    assert budget.ring(5.005) is None
    budget.polled()
    assert budget.ring(5.02) == pytest.approx(5.03)


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
