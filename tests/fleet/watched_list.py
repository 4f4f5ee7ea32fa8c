"""A list that a feed publishes, set by the test, and reading its changes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from brokerage_async.fleet import FeedReader, Fleet, RedisFeed
from brokerage_async.observers import Attempt, Event, FeedLag
from brokerage_async.watch import Change, poll

LEASE = 0.6


class Lags:
    def __init__(self) -> None:
        self.found: list[FeedLag] = []

    def __call__(self, attempt: Attempt) -> None:
        raise AssertionError("a feed makes no calls")

    def on_event(self, event: Event) -> None:
        assert isinstance(event, FeedLag)
        self.found.append(event)

    def take(self) -> list[FeedLag]:
        found, self.found = self.found, []
        return found


class Lists:
    """The list that a poller reads, set by the test."""

    def __init__(self, **rows: int) -> None:
        self.rows: dict[str, int] = rows
        self.polls: list[str] = []

    def watching(self, name: str = "poller") -> Callable[[Any], Any]:
        async def fetch() -> list[dict[str, Any]]:
            self.polls.append(name)
            return [{"id": key, "n": n} for key, n in self.rows.items()]

        return lambda state: poll(fetch, key=lambda item: str(item["id"]), interval=0.02, name="things", state=state)


Things = RedisFeed[dict[str, Any]]


def feed_of(fleet: Fleet, **options: Any) -> Things:
    return RedisFeed(fleet, "things", lease=LEASE, **options)


async def run(feed: Things, command: str, key: str, *arguments: str | int | bytes) -> Any:
    """Run a command of the engine on a key of a feed."""
    return await feed._feed.connection.command(command, feed._feed.key(key), *arguments)


@contextlib.asynccontextmanager
async def publishing(feed: RedisFeed[Any], lists: Lists, name: str = "poller") -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(feed.publish(lists.watching(name)))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


def brief(change: Change[dict[str, Any]]) -> tuple[str, Any, Any]:
    return change.kind, change.key, change.after and change.after["n"]


async def take(reader: FeedReader[Any], count: int, *, ack: bool = True) -> list[tuple[str, Any, Any]]:
    found = []
    async with asyncio.timeout(20):
        for _ in range(count):
            change = await anext(reader)
            if ack:
                await change.ack()
            found.append(brief(change))
    return found


async def published(feed: RedisFeed[Any], count: int) -> None:
    for _ in range(1000):
        if (await feed.status()).published == count:
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"{count} changes were not published")
