"""Feeds of one client by list and schedule."""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from typing import Any

from brokerage_async.watch.feed import Feed
from brokerage_async.watch.feeds import Feeds
from brokerage_async.watch.schedule import Schedule

SCHEDULE = Schedule(interval=2.0)


class Session:
    """Records the feeds that are to be closed with the client."""

    def __init__(self) -> None:
        self.closing: list[Feed[Any]] = []

    def close_with_client(self, resource: Feed[Any]) -> None:
        self.closing.append(resource)


async def read(api: Any) -> list[Any]:
    raise AssertionError("not polled")


def get(feeds: Feeds, name: str = "list", schedule: Schedule = SCHEDULE) -> Feed[Any]:
    return feeds.get(name, schedule, read, str)


def test_get_same_list_and_schedule_is_one_feed() -> None:
    session: Any = Session()
    feeds = Feeds(session, lambda: datetime.now(UTC))
    first = get(feeds)
    assert get(feeds, schedule=Schedule(interval=2.0)) is first
    assert get(feeds, "other") is not first
    assert get(feeds, schedule=Schedule(interval=3.0)) is not first
    assert session.closing[0] is first
    assert len(session.closing) == 3


async def test_get_feed_that_has_ended_is_replaced() -> None:
    session: Any = Session()
    feeds = Feeds(session, lambda: datetime.now(UTC))
    first = get(feeds)
    await first.aclose()
    assert first.ended
    assert get(feeds) is not first


def test_get_feed_without_holder_is_let_go() -> None:
    class Forgetful(Session):
        def close_with_client(self, resource: Feed[Any]) -> None:
            made.append(id(resource))

    made: list[int] = []
    session: Any = Forgetful()
    feeds = Feeds(session, lambda: datetime.now(UTC))
    get(feeds)
    gc.collect()
    assert not feeds._running
