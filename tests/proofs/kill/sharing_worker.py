"""A process that places the same orders as others, until each has an outcome, and recovers at the end."""

import asyncio
import logging
import random
import time
from multiprocessing.connection import Connection

import attrs

from brokerage_async import Client, Environment, Limits, RetryPolicy, StaticToken, tickets
from brokerage_async.errors import OrderOutcomeUnknownError
from brokerage_async.journal import JournalError, PostgresJournal
from brokerage_async.order_entry import OrderEntry, OrderGuard, Placement, ReconcilePolicy
from tests.proofs.kill.scripted_brokerage import LEASE, VISIBLE

POLICY = ReconcilePolicy(visibility_delay=VISIBLE + 0.7, first=0.05, max_interval=0.3, give_up=30)
AT_ONCE = 12
NEIGHBOURS = 24
"""So many orders lie together in the list of every worker, in another order each: workers meet, but at random."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.15
"""Seconds between two placements of the same order, on average."""
PRICE = 10
FINAL = ("placed", "refused")


@attrs.frozen(kw_only=True)
class Share:
    """Assignment of one worker. ``cap``: how many orders its guard lets through, by their values. 0 for no guard."""

    sender: str
    base_url: str
    dsn: str
    names: tuple[tuple[str, str], ...]
    seed: int
    seconds: float
    attempts: int
    cap: int = 0


@attrs.frozen
class Report:
    """Outcome that one call reported, with its times on the monotonic clock of the machine."""

    sender: str
    account: str
    identifier: str
    outcome: str
    began: float
    ended: float
    order_id: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether the worker leaves the order alone after this."""
        return self.outcome in FINAL


async def work(channel: Connection, share: Share) -> None:
    """Place and report. Wait for the go-ahead. Recover and report."""
    logging.disable(logging.CRITICAL)
    client = Client(
        Environment.sandbox(share.base_url),
        StaticToken("token"),
        user_agent=share.sender,
        timeout=5,
        retry=RetryPolicy(max_attempts=share.attempts, base_delay=0.02, budget=None),
        limits=Limits.unlimited(),
    )
    async with client, PostgresJournal(share.dsn, timeout=3) as journal:
        guard = OrderGuard(max_value_per_day=PRICE * share.cap) if share.cap else None
        worker = _Worker(share, OrderEntry(client, journal, guard=guard, reconcile=POLICY, lease=LEASE), channel)
        await worker.place_all()
        channel.send(("finished", None))
        await asyncio.to_thread(channel.recv)
        await worker.recover()
        channel.send(("finished", None))


class _Worker:
    def __init__(self, share: Share, entry: OrderEntry, channel: Connection) -> None:
        self._share = share
        self._entry = entry
        self._channel = channel
        self._chance = random.Random(f"{share.seed} {share.sender}")
        self._deadline = time.monotonic() + share.seconds

    async def place_all(self) -> None:
        """See every order through, several at once."""
        groups = [self._share.names[n : n + NEIGHBOURS] for n in range(0, len(self._share.names), NEIGHBOURS)]
        names = iter([name for group in groups for name in self._chance.sample(group, len(group))])

        async def take() -> None:
            for account, identifier in names:
                await self._see_through(account, identifier)

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(take())

    async def recover(self) -> None:
        began = time.monotonic()
        for placement in await self._entry.recover():
            self._channel.send(("report", self._report_of(placement, began)))

    async def _see_through(self, account: str, identifier: str) -> None:
        """Place an order until its outcome is final. Every call may resubmit it once."""
        pause = SHORTEST_PAUSE
        while time.monotonic() < self._deadline:
            report = await self._place(account, identifier)
            self._channel.send(("report", report))
            if report.is_final:
                return
            await asyncio.sleep(self._chance.uniform(0.2, 1.8) * pause)
            pause = min(1.5 * pause, LONGEST_PAUSE)

    async def _place(self, account: str, identifier: str) -> Report:
        ticket = tickets.limit(tickets.buy_to_open("AAPL", 1), price=PRICE)
        began = time.monotonic()
        try:
            order = attrs.evolve(ticket, external_identifier=identifier)
            return self._report_of(await self._entry.place(account, order, resubmit=1), began)
        except OrderOutcomeUnknownError as error:
            outcome = f"unknown: {error.code}"
        except JournalError:
            outcome = "journal"
        return Report(self._share.sender, account, identifier, outcome, began, time.monotonic())

    def _report_of(self, placement: Placement, began: float) -> Report:
        name = placement.account_number, placement.external_identifier
        order_id = placement.order and placement.order.id
        return Report(self._share.sender, *name, placement.outcome.value, began, time.monotonic(), order_id)
