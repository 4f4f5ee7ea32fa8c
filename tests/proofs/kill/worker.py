"""Worker in a separate process, to be killed: places orders one after another, or recovers."""

import asyncio
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import attrs

from brokerage_async import tickets
from brokerage_async.errors import BrokerageError
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.journal import PostgresJournal, SqliteJournal
from brokerage_async.order_entry import OrderEntry, Outcome, ReconcilePolicy
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from tests.processes import Service

POLICY = ReconcilePolicy(visibility_delay=0.4, first=0.05, max_interval=0.1)
LEASE = 0.5
SUBMIT = "orders.submit"

POINTS = (
    "before the journal is written",
    "while the journal is written",
    "after the journal is written",
    "before the order is sent",
    "while the order is sent",
    "after the answer",
    "before the outcome is written",
    "after the outcome is written",
)


@attrs.frozen(kw_only=True)
class Job:
    """Where the service and the journal are, and what to do."""

    service: Service
    journal: str
    where: str
    name: str = ""
    point: str = ""
    at_order: int = 0


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Killer:
    """Kills this process at its point, in the course of the n-th order."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.order = 0

    def at(self, point: str) -> None:
        if point == self._job.point and self.order == self._job.at_order:
            die()


class DeadlyTransport(AiohttpTransport):
    """Sends over HTTP, with a killer watching the submits."""

    killer: Killer

    async def send(self, request: Request) -> Response:
        if request.operation is None or request.operation.name != SUBMIT:
            return await super().send(request)
        self.killer.at("before the order is sent")
        sending = asyncio.ensure_future(super().send(request))
        await asyncio.sleep(0.004)  # the request is on the wire, the answer is not back
        self.killer.at("while the order is sent")
        response = await sending
        self.killer.at("after the answer")
        return response


def deadly(journal: Any, killer: Killer) -> Any:
    """The journal, with a killer watching its writes."""
    opening, closing = journal.open, journal.close

    async def watched(write: Callable[..., Any], what: str, *args: Any, **kwargs: Any) -> Any:
        killer.at(f"before {what} is written")
        writing = asyncio.ensure_future(write(*args, **kwargs))
        await asyncio.sleep(0)
        killer.at(f"while {what} is written")
        done = await writing
        killer.at(f"after {what} is written")
        return done

    journal.open = lambda *args, **kwargs: watched(opening, "the journal", *args, **kwargs)
    journal.close = lambda *args, **kwargs: watched(closing, "the outcome", *args, **kwargs)
    return journal


def make_journal(job: Job) -> Any:
    return SqliteJournal(job.where) if job.journal == "sqlite" else PostgresJournal(job.where)


def place(channel: Connection, job: Job) -> None:
    """Place orders, one after another, until this process is killed."""
    asyncio.run(_place(channel, job))


async def _place(channel: Connection, job: Job) -> None:
    killer = Killer(job)
    transport = DeadlyTransport()
    transport.killer = killer
    account = job.service.account
    async with job.service.client(transport=transport, timeout=5) as client, make_journal(job) as journal:
        await client.orders.list_live(account).collect()
        entry = OrderEntry(client, deadly(journal, killer), reconcile=POLICY, lease=LEASE)
        channel.send(("ready", None))
        while True:
            order = tickets.limit(tickets.buy_to_open("AAPL", 1), price="10")
            named = attrs.evolve(order, external_identifier=f"{job.name}-{killer.order}")
            try:
                await entry.place(account, named)
            except BrokerageError as error:
                channel.send(("error", f"{type(error).__name__}: {error}"))
            killer.order += 1


def recover(channel: Connection, job: Job) -> None:
    """Recover, and report the orders found. Absent ones are abandoned, so that the next run starts afresh."""
    asyncio.run(_recover(channel, job))


async def _recover(channel: Connection, job: Job) -> None:
    async with job.service.client(timeout=5) as client, make_journal(job) as journal:
        entry = OrderEntry(client, journal, reconcile=POLICY, lease=LEASE)
        placements = await entry.recover()
        for placement in placements:
            if placement.outcome is Outcome.UNKNOWN:
                await entry.abandon(job.service.account, placement.external_identifier, note=placement.note)
        channel.send(("recovered", [(p.external_identifier, p.outcome.value, p.note) for p in placements]))
