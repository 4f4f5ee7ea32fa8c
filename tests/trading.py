"""A client, a brokerage and a journal together on virtual time: what the tests of order entry play with."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Generator
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

import attrs
import pytest

from brokerage_async import tickets
from brokerage_async._generated.models import NewOrder
from brokerage_async.client import Client
from brokerage_async.config import RetryPolicy
from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.http.transport import Transport
from brokerage_async.journal import EntryKey, EntryState, JournalEntry, JournalError, MemoryJournal
from brokerage_async.order_entry import OrderEntry, Outcome, Placement, ReconcilePolicy
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.ledger import OrderRecord

T = TypeVar("T")

SMALL = {"equities": 60, "equity_options": 10, "chain_rows": 10, "warrants": 5}
SUBMIT = r"/orders$"
DRY_RUN = r"/orders/dry-run$"
LISTS = r"/orders(/live)?($|\?)"
NOTHING_LISTED = (
    b'{"data":{"items":[]},"context":"/","pagination":{"per-page":200,"page-offset":0,"item-offset":0,'
    b'"total-items":0,"total-pages":0,"current-item-count":0}}'
)
FAILED = b'{"data":{"errors":[{"code":"margin_check_failed","message":"Not enough buying power"}]},"context":"/"}'
POLICY = ReconcilePolicy()
TIMEOUT = 5.0


class Recorder:
    """A transport that keeps the bodies of what passes: what really went over the wire."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.bodies: dict[str, list[bytes | None]] = defaultdict(list)

    async def send(self, request: Request) -> Response:
        name = request.operation.name if request.operation is not None else "other"
        self.bodies[name].append(request.body)
        return await self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


@attrs.frozen(kw_only=True)
class Floor:
    """Where orders are placed."""

    sim: Simulator
    wire: Recorder
    client: Client
    journal: MemoryJournal
    entry: OrderEntry
    account: str

    def orders(self, external_identifier: str) -> list[OrderRecord]:
        """What the brokerage has under this identifier, by its own books."""
        self.sim.settle()
        return self.sim.ledger.orders(external_identifier=external_identifier)

    async def journaled(self) -> list[JournalEntry]:
        return await self.journal.entries("sandbox")

    def key(self, external_identifier: str) -> EntryKey:
        """Key of an entry of this account."""
        return EntryKey(self.client.environment.origin, "sandbox", self.account, external_identifier)

    def another_entry(self) -> OrderEntry:
        """Order entry of a process that starts later, over the same journal."""
        return OrderEntry(self.client, self.journal, reconcile=POLICY)


@asynccontextmanager
async def floor(*, seed: int = 0, latency: float = 0.1, **options: Any) -> AsyncIterator[Floor]:
    sim = Simulator(seed=seed, latency=latency, **SMALL)
    journal = MemoryJournal(clock=sim.clock.now)
    wire = Recorder(sim.transport())
    retry = RetryPolicy(jitter=random.Random(seed).random)
    async with sim.client(timeout=TIMEOUT, transport=wire, **{"retry": retry, **options}) as client:
        yield Floor(
            sim=sim,
            wire=wire,
            client=client,
            journal=journal,
            entry=OrderEntry(client, journal, reconcile=POLICY),
            account=sim.account_numbers[0],
        )


def order(external_identifier: str | None = None, quantity: int = 10) -> NewOrder:
    """A buy far below the market: it is taken and stays working."""
    ticket = tickets.limit(tickets.buy_to_open("AAPL", quantity), price="10")
    return attrs.evolve(ticket, external_identifier=external_identifier)


async def place_unknown(here: Floor, **options: Any) -> OrderOutcomeUnknownError:
    """Place an order, ``mine``, whose outcome stays unknown."""
    with pytest.raises(OrderOutcomeUnknownError) as caught:
        await here.entry.place(here.account, order("mine"), **options)
    return caught.value


class FailingJournal(MemoryJournal):
    """A journal whose named methods fail."""

    def __init__(self, *methods: str) -> None:
        super().__init__()
        for name in methods:
            setattr(self, name, self._fail)

    async def _fail(self, *_: Any, **__: Any) -> Any:
        raise JournalError("the journal cannot be used: database or disk is full")


def check_agreement(placement: Placement, records: list[OrderRecord]) -> None:
    """What was reported must be what the brokerage has."""
    originals = [record for record in records if record.replaces_order_id is None]
    assert len(originals) <= 1, f"placed {len(originals)} times: {originals}"
    if placement.outcome is Outcome.PLACED:
        assert len(originals) == 1, "reported as placed, but the brokerage has no such order"
        assert placement.order is None or placement.order.id in {record.order_id for record in records}
    elif placement.outcome in (Outcome.REFUSED, Outcome.NOT_SENT):
        assert not originals, f"reported as {placement.outcome}, but the brokerage has it"


STATE_OF = {
    Outcome.PLACED: EntryState.PLACED,
    Outcome.REFUSED: EntryState.REFUSED,
    Outcome.NOT_SENT: EntryState.NOT_SENT,
    Outcome.UNKNOWN: EntryState.OPEN,
}


class CancelledAt(Generic[T]):
    """Awaits ``work`` and cancels the task at its n-th suspension (from 1); ``reached`` tells how many there were."""

    def __init__(self, work: Awaitable[T], suspension: int) -> None:
        self._work = work
        self._suspension = suspension
        self.reached = 0

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        while True:
            try:
                waited_for = next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            self.reached += 1
            if self.reached == self._suspension:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                yield waited_for
            except BaseException as error:  # the cancellation arrives here and goes to whoever is waiting
                try:
                    waited_for = steps.throw(error)
                except StopIteration as end:
                    result = end.value
                    return result
                # It tidies up before it leaves: let it, to the end.
                yield waited_for
