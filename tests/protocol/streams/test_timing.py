"""Pauses between attempts to connect."""

from __future__ import annotations

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.protocol.streams.timing import Backoff, Timing


@pytest.mark.parametrize(
    ("failures", "chance", "pause"), [(1, 0.0, 0.5), (1, 1.0, 0.25), (2, 0.0, 1.0), (7, 0.0, 30.0), (10**6, 0.5, 22.5)]
)
def test_pause_doubles_up_to_the_maximum(failures: int, chance: float, pause: float) -> None:
    assert Backoff().pause(failures, chance) == pause


def test_times_must_be_positive() -> None:
    with pytest.raises(ConfigurationError, match="heartbeat must be a number of seconds greater than 0"):
        Timing(heartbeat=0)
