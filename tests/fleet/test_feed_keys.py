"""Settings of a feed, and the names of its keys."""

from __future__ import annotations

from typing import Any

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet.connection import Connection
from brokerage_async.fleet.feed_keys import FeedGapError, FeedKeys


class Engine:
    """A client of an engine that is never asked."""

    async def aclose(self) -> None:
        raise AssertionError("a borrowed client stays open")

    async def execute_command(self, *command: Any) -> None:
        raise AssertionError("names of keys need no engine")


def keys(**options: Any) -> FeedKeys:
    engine: Any = Engine()
    connection = Connection(engine, name="desk", timeout=1.0)
    defaults: dict[str, Any] = {"name": "things", "lease": 5.0, "keep": 10, "max_length": 100}
    return FeedKeys(connection=connection, **(defaults | options))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "a b"}, "name must be 1 to 64 letters"),
        ({"name": ""}, "name must be 1 to 64 letters"),
        ({"name": "a" * 65}, "name must be 1 to 64 letters"),
        ({"name": "a:b"}, "name must be 1 to 64 letters"),
        ({"name": None}, "name must be 1 to 64 letters"),
        ({"lease": 0}, "lease must be"),
        ({"lease": "5"}, "lease must be"),
        ({"lease": 1e-4}, "lease must be"),  # the engine would reject 0 ms, again and again
        ({"lease": 1e300}, "lease must be"),
        ({"keep": 5, "max_length": 4}, r"max_length must be at least keep \(5\), got 4"),
        ({"keep": 0}, "keep must be"),
        ({"max_length": "10"}, "max_length must be"),
    ],
    ids=str,
)
def test_invalid_settings_are_rejected(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        keys(**options)


def test_keys_are_in_one_slot_and_belong_to_one_feed() -> None:
    feed = keys()
    found = [*feed.keys("lease", "meta"), *feed.group_keys("one"), *feed.group_keys("two")]
    assert all(key.startswith("{desk}:1:feed:things:") for key in found)
    assert not set(found) & set(keys(name="others").keys("lease", "meta"))


def test_group_keys_have_the_stream_in_common_and_nothing_else() -> None:
    one, two = (keys().group_keys(group) for group in ("one", "two"))
    assert one[:2] == two[:2] == keys().keys("stream", "meta")
    assert len({*one, *two}) == 2 + 2 + 2


def test_lease_is_passed_in_milliseconds() -> None:
    assert keys(lease=0.6).lease_ms == 600


def test_gap_counts_what_was_lost() -> None:
    assert FeedGapError("gap", lost=3).lost == 3
