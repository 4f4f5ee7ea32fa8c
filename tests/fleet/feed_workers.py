"""Pollers and consumers of the proof of change feeds: each reports its steps, and is killed at any time."""

import asyncio
import json
import logging
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from brokerage_async.fleet import EngineUnavailableError, Fleet, LeaseLostError, RedisFeed
from brokerage_async.watch import Change, Watcher, poll

LEASE = 1.5
KEEP = 50_000


def feed_of(fleet: Fleet) -> RedisFeed[dict[str, Any]]:
    return RedisFeed(fleet, "things", lease=LEASE, keep=KEEP, max_length=KEEP)


def fact_of(change: Change[dict[str, Any]]) -> dict[str, Any]:
    return {"id": change.idempotency_key, "key": change.key, "before": change.before, "after": change.after}


async def publish(channel: Connection, engine: str, listing: Path) -> None:
    logging.disable(logging.CRITICAL)

    def watching(state: Any) -> Watcher[dict[str, Any]]:
        turn = state.token

        async def fetch() -> list[dict[str, Any]]:
            channel.send(("poll", (turn, time.monotonic())))
            await asyncio.sleep(0.002)
            rows: list[dict[str, Any]] = json.loads(await asyncio.to_thread(listing.read_bytes))
            channel.send(("polled", (turn, time.monotonic())))
            return rows

        return poll(fetch, key=lambda item: str(item["id"]), interval=0.03, name="things", state=state)

    async with Fleet(engine) as fleet:
        await feed_of(fleet).publish(watching)


async def consume(channel: Connection, engine: str, group: str) -> None:
    logging.disable(logging.CRITICAL)

    def note(**fact: Any) -> None:
        channel.send((group, fact | {"time": time.monotonic()}))

    async with Fleet(engine) as fleet, feed_of(fleet).read_group(group, start="beginning") as reader:
        while True:
            try:
                change = await anext(reader)
            except EngineUnavailableError:
                await asyncio.sleep(0.1)
                continue
            note(what="handled", **fact_of(change))
            if await _acknowledged(change):
                note(what="acknowledged", id=change.idempotency_key)


async def _acknowledged(change: Change[Any]) -> bool:
    while True:
        try:
            await change.ack()
        except EngineUnavailableError:
            await asyncio.sleep(0.1)
        except LeaseLostError:
            return False
        else:
            return True
