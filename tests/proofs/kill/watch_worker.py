"""A consumer of a durable watcher in a separate process, to be killed at a point or at any time."""

import asyncio
import json
import os
from multiprocessing.connection import Connection
from typing import Any

import attrs

from brokerage_async.watch import SqliteState
from tests.processes import Service
from tests.proofs.kill.killer import Killer, points

STORED, ACKNOWLEDGED = "changes are stored", "a change is acknowledged"
POINTS = (*points(STORED), "before the work", "after the work", *points(ACKNOWLEDGED))


@attrs.frozen(kw_only=True)
class Job:
    """Where the service, the state and the log of the consumer are, and when to die."""

    service: Service
    state: str
    log: str
    push: bool = False
    point: str = ""
    at_change: int = 0
    quiet: float = 0.0
    early: bool = False


class DeadlyState(SqliteState):
    def __init__(self, job: Job, killer: Killer) -> None:
        super().__init__(job.state)
        self._killer = killer

    async def report(self, changes: Any, begun: Any) -> None:
        await self._killer.watch(STORED, super().report(changes, begun))

    async def acknowledge(self, sequences: Any) -> None:
        await self._killer.watch(ACKNOWLEDGED, super().acknowledge(sequences))


async def consume(channel: Connection, job: Job) -> None:
    """Handle changes until killed, or until ``quiet`` seconds have passed without one."""
    log = os.open(job.log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    killer = Killer(job.point, job.at_change)

    def note(**fact: Any) -> None:
        os.write(log, json.dumps(fact).encode() + b"\n")  # in the page cache, which survives the process

    async with job.service.client(timeout=5) as client:
        state = DeadlyState(job, killer)
        options: dict[str, Any] = {"interval": 0.05, "min_interval": 0.0, "push": job.push, "state": state}
        async with client.watch.orders("me", [job.service.account], **options) as changes:
            is_ready = job.early
            if is_ready:
                channel.send(("ready", None))
            while True:
                try:
                    change = await asyncio.wait_for(anext(changes), job.quiet or None)
                except TimeoutError:
                    break
                if not is_ready:  # once: the other side reads no more, and a full pipe would block
                    channel.send(("ready", None))
                    is_ready = True
                async with change:
                    killer.at("before the work")
                    statuses = [None if each is None else str(each.status) for each in (change.before, change.after)]
                    key, kind = change.idempotency_key, change.kind
                    note(what="handled", key=key, order=change.key, kind=kind, statuses=statuses)
                    killer.at("after the work")
                note(what="acknowledged", key=change.idempotency_key)
    os.close(log)
