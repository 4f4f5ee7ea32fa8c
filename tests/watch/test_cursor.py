"""One consumer within a feed, which is set by hand: no polls, no clock."""

from __future__ import annotations

import gc
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from brokerage_async.errors import NotFoundError, ServerError
from brokerage_async.watch.cursor import Cursor
from brokerage_async.watch.diff import Change
from brokerage_async.watch.feed import Feed
from brokerage_async.watch.schedule import Schedule

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


async def never() -> list[Any]:
    raise AssertionError("not polled")


def feed() -> Feed[int]:
    return Feed(never, key=str, schedule=Schedule(interval=1.0), now=lambda: NOON)


def taken(cursor: Cursor[int]) -> list[tuple[str, Any, int | None, int | None]]:
    changes = iter(cursor.take, None)
    return [(change.kind, change.key, change.before, change.after) for change in changes]


def test_take_reports_what_leads_to_the_latest_state() -> None:
    source = feed()
    cursor = Cursor(source)
    assert (taken(cursor), cursor.snapshot) == ([], {})
    source.latest = {"a": 1, "b": 1}
    assert taken(cursor) == [("added", "a", None, 1), ("added", "b", None, 1)]
    source.latest = {"a": 2}
    assert taken(cursor) == [("changed", "a", 1, 2), ("removed", "b", 1, None)]
    assert cursor.snapshot == {"a": 2}


def test_take_newer_state_replaces_changes_that_are_pending() -> None:
    source = feed()
    cursor = Cursor(source)
    source.latest = {"a": 1, "b": 1}
    assert cursor.take() is not None
    assert cursor.snapshot == {"a": 1}
    source.latest = {"b": 2}
    assert taken(cursor) == [("added", "b", None, 2), ("removed", "a", 1, None)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"initial": False}, []),
        ({"seed": {"a": 1}}, [("changed", "a", 1, 2)]),
        ({"seed": {}, "initial": False}, [("added", "a", None, 2)]),
    ],
)
def test_take_first_state_follows_initial_and_seed(options: dict[str, Any], expected: list[Any]) -> None:
    source = feed()
    cursor = Cursor(source, **options)
    source.latest = {"a": 2}
    assert taken(cursor) == expected


def test_take_derived_changes_replace_the_original() -> None:
    def derive(change: Change[int]) -> list[Change[int]]:
        return [change] * (change.after or 0)

    source = feed()
    cursor = Cursor(source, derive=derive)
    source.latest = {"a": 0, "b": 2}
    assert [key for _, key, _, _ in taken(cursor)] == ["b", "b"]
    assert cursor.snapshot == {"a": 0, "b": 2}


def test_take_kept_item_is_reported_in_its_last_state_before_its_removal() -> None:
    source = feed()
    cursor = Cursor(source, keep=lambda item: item == 9)
    source.latest = {"a": 1, "b": 1}
    assert len(taken(cursor)) == 2
    cursor.on_removed({"a": 9, "b": 2})
    source.latest = {"c": 1}
    assert taken(cursor) == [
        ("changed", "a", 1, 9),
        ("added", "c", None, 1),
        ("removed", "a", 9, None),
        ("removed", "b", 1, None),
    ]


def test_failure_is_logged_or_passed_on_and_a_callback_that_raises_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "brokerage_async.watch")
    Cursor(feed()).on_failure(ServerError("no", status=503))
    assert [record.getMessage() for record in caplog.records] == [
        "poll failed and will be repeated: ServerError None 503"
    ]

    def stop(error: Exception) -> None:
        raise LookupError(str(error))

    cursor = Cursor(feed(), on_error=stop)
    assert not cursor.ended
    cursor.check()
    cursor.on_failure(ServerError("enough"))
    assert cursor.ended
    with pytest.raises(LookupError, match="enough"):
        cursor.check()


def test_error_of_the_feed_is_raised() -> None:
    source = feed()
    cursor = Cursor(source)
    source.error = NotFoundError("gone")
    with pytest.raises(NotFoundError):
        cursor.check()


def test_feed_stops_with_its_last_cursor() -> None:
    source = feed()
    first, second = Cursor(source), Cursor(source)
    del first
    gc.collect()
    assert not source.ended
    del second
    gc.collect()
    assert source.ended
