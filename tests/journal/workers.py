"""Workers of several processes on one durable journal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from multiprocessing.connection import Connection
from typing import Any

from brokerage_async.errors import OrderRefusedError
from brokerage_async.journal import EntryKey, Journal
from brokerage_async.journal.caps import Usage
from tests.journal_servers import Durable
from tests.processes import DRIVER, Crowd, preload

preload("tests.journal.workers", *DRIVER)


async def start_together(workers: Crowd, work: Callable[..., Any], durable: Durable, count: int) -> None:
    """Start workers, and let all begin at the same moment once they are ready."""
    for number in range(count):
        workers.start(_work, work, durable, f"p{number}")
    await workers.wait_for(lambda them: len(them.of("ready")) == count, 60)
    workers.go()


async def _work(channel: Connection, work: Callable[..., Any], durable: Durable, name: str) -> None:
    async with durable.open() as journal:
        await journal.now()
        channel.send(("ready", None))
        channel.recv()
        await work(channel, journal, name)


async def claim_every_entry(channel: Connection, journal: Journal, name: str) -> None:
    for entry in await journal.entries("sandbox"):
        if await journal.claim(entry.key, owner=name, lease=600):
            channel.send(("claimed", entry.key.external_identifier))


async def open_up_to_a_cap(channel: Connection, journal: Journal, name: str) -> None:
    usage = Usage(value=Decimal(10), max_value_per_day=Decimal(500))
    with suppress(OrderRefusedError):
        for number in range(1000):
            key = EntryKey("https://a.example", "sandbox", "A1", f"{name}-{number}")
            await journal.open(key, b"", owner=name, lease=600, usage=usage)
    channel.send(("refused", None))
