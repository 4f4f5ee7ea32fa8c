"""Order entry over a real PostgreSQL server on a bad link: lost acknowledgements, and a link that is slow."""

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from brokerage_async.config import Limits, RetryPolicy
from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.journal import EntryState, PostgresJournal
from brokerage_async.order_entry import OrderEntry, Outcome
from brokerage_async.simulator import Simulator
from tests import journal_servers
from tests.proofs.kill.lossy_proxy import LossyProxy
from tests.trading import SMALL, SUBMIT, order

pytestmark = pytest.mark.postgres
ABSENT = journal_servers.missing()


@pytest.fixture(scope="module")
def server() -> Iterator[journal_servers.PostgresServer]:
    if ABSENT:
        pytest.skip(ABSENT)
    with journal_servers.mortal_server() as started:
        yield started


@pytest.fixture
def table() -> str:
    return f"j_{uuid.uuid4().hex[:8]}"


class HeldTransport:
    """Holds back every submit until it may ``proceed``."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.submitting = asyncio.Event()
        self.proceed = asyncio.Event()

    async def send(self, request: Any) -> Any:
        if request.operation is not None and request.operation.name == "orders.submit":
            self.submitting.set()
            await self.proceed.wait()
        return await self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


class LostOutcome:
    """Treatment that drops the acknowledgement of the first ``not_sent``, and holds back new connections."""

    def __init__(self, proxy: LossyProxy) -> None:
        self._proxy = proxy
        self.lost = asyncio.Event()

    async def __call__(self, message: bytes) -> bool:
        if self.lost.is_set() or b"not_sent" not in message or b"INSERT" in message:
            return False
        self._proxy.admitting.clear()
        self.lost.set()
        return True


async def test_a_repeated_outcome_never_closes_the_entry_of_another_worker(
    server: journal_servers.PostgresServer, table: str
) -> None:
    """The outcome is committed, its acknowledgement is lost. It is repeated when another worker has reopened."""
    sim = Simulator(**SMALL)
    account, once = sim.account_numbers[0], RetryPolicy(max_attempts=1)
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(LossyProxy(server.socket))
        proxy.treatment = outcome = LostOutcome(proxy)
        behind_proxy = await stack.enter_async_context(PostgresJournal(proxy.dsn, table=table))
        direct = await stack.enter_async_context(PostgresJournal(server.dsn, table=table))
        held = HeldTransport(sim.transport())
        first_client = await stack.enter_async_context(sim.client(retry=once))
        second_client = await stack.enter_async_context(sim.client(retry=once, transport=held))
        second_entry = OrderEntry(second_client, direct)

        sim.faults.add("POST", SUBMIT, "rate_limited")
        first = asyncio.create_task(OrderEntry(first_client, behind_proxy).place(account, order("mine")))
        await outcome.lost.wait()
        second = asyncio.create_task(second_entry.place(account, order("mine")))
        await held.submitting.wait()
        proxy.admitting.set()
        with pytest.raises(OrderOutcomeUnknownError, match="no longer holds the journal entry"):
            await first
        held.proceed.set()
        assert (await second).outcome is Outcome.PLACED

        third = await second_entry.place(account, order("mine"))
        assert len(sim.ledger.orders(external_identifier="mine")) == 1
        assert third.outcome is Outcome.PLACED
        (entry,) = await direct.entries()
        assert entry.state is EntryState.PLACED
    assert proxy.dropped == 1


LEASE = 3.0
LINK = 0.02
"""Seconds that every message to the database takes. 200 orders need longer for one statement each than the lease."""
ORDERS = 200


async def test_no_live_claim_expires_while_many_orders_share_a_slow_link(
    server: journal_servers.PostgresServer, table: str
) -> None:
    """A tenth of the usual lease over a tenth of a slow link, with submits that outlast the lease."""

    async def slowly(_: bytes) -> bool:
        await asyncio.sleep(LINK)
        return False

    sim = Simulator(latency=lambda request: 2 * LEASE if request.url.endswith("/orders") else 0.0, **SMALL)
    names = [f"order-{number}" for number in range(ORDERS)]
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(LossyProxy(server.socket, slowly))
        journal = await stack.enter_async_context(PostgresJournal(proxy.dsn, table=table))
        watching = await stack.enter_async_context(PostgresJournal(server.dsn, table=table))
        client = await stack.enter_async_context(sim.client(limits=Limits.unlimited()))
        entry = OrderEntry(client, journal, lease=LEASE)

        placing = asyncio.gather(*(entry.place(sim.account_numbers[0], order(name)) for name in names))
        expired = set[str]()
        while not placing.done():
            expired |= await expired_claims(watching)
            await asyncio.sleep(0.05)
        outcomes = {placement.outcome for placement in await placing}
    assert not expired, f"{len(expired)} claims expired while their worker was alive"
    assert outcomes == {Outcome.PLACED}


async def expired_claims(journal: PostgresJournal) -> set[str]:
    """Return the open entries whose claims have ended, although live workers hold all of them."""
    now = await journal.now()
    entries = await journal.entries(state=EntryState.OPEN)
    return {
        entry.key.external_identifier
        for entry in entries
        if entry.claimed_until is not None and entry.claimed_until <= now
    }
