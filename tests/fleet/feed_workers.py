"""Pollers and consumers of the proof of change feeds: each keeps a log, and is killed at any time."""

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import attrs

from brokerage_async.fleet import EngineUnavailableError, Fleet, LeaseLostError, RedisFeed
from brokerage_async.watch import Change, Watcher, poll

KEEP = 50_000


@attrs.frozen(kw_only=True)
class Place:
    """Where the engine is, the list that is polled, and the folder of the logs."""

    engine: str
    folder: str
    lease: float

    @property
    def listing(self) -> Path:
        return Path(self.folder) / "list.json"

    def feed(self, fleet: Fleet) -> RedisFeed[dict[str, Any]]:
        return RedisFeed(fleet, "things", lease=self.lease, keep=KEEP, max_length=KEEP)


class Log:
    """Lines in a file of one process, which survive its death."""

    def __init__(self, place: Place, name: str) -> None:
        path = os.path.join(place.folder, f"{name}-{os.getpid()}.log")
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def note(self, **fact: Any) -> None:
        os.write(self._file, json.dumps(fact | {"time": time.monotonic()}).encode() + b"\n")


def run(work: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
    logging.disable(logging.CRITICAL)
    asyncio.run(work(*arguments))


async def publish(place: Place) -> None:
    log = Log(place, "polls")

    def watching(state: Any) -> Watcher[dict[str, Any]]:
        token = state.token

        async def fetch() -> list[dict[str, Any]]:
            log.note(what="begin", turn=token)
            await asyncio.sleep(0.002)
            rows: list[dict[str, Any]] = json.loads(await asyncio.to_thread(place.listing.read_bytes))
            log.note(what="end", turn=token)
            return rows

        return poll(fetch, key=lambda item: str(item["id"]), interval=0.03, name="things", state=state)

    async with Fleet(place.engine) as fleet:
        await place.feed(fleet).publish(watching)


async def consume(place: Place, group: str) -> None:
    log = Log(place, f"group-{group}")
    async with Fleet(place.engine) as fleet, place.feed(fleet).read_group(group, start="beginning") as reader:
        while True:
            try:
                change = await anext(reader)
            except EngineUnavailableError:
                await asyncio.sleep(0.1)
                continue
            log.note(what="handled", **fact_of(change))
            await _acknowledge(change, log)


async def _acknowledge(change: Change[Any], log: Log) -> None:
    while True:
        try:
            await change.ack()
        except EngineUnavailableError:
            await asyncio.sleep(0.1)
        except LeaseLostError:
            return
        else:
            log.note(what="acknowledged", id=change.idempotency_key)
            return


def fact_of(change: Change[dict[str, Any]]) -> dict[str, Any]:
    return {"id": change.idempotency_key, "key": change.key, "before": change.before, "after": change.after}
