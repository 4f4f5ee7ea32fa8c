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

LEASE = 3.0
"""Lease of the workers: some waits that a 429 asks for are longer, by far."""
VISIBLE = 0.5
"""Seconds within which the brokerage lists an order."""
POLICY = ReconcilePolicy(visibility_delay=VISIBLE + 0.7, first=0.05, max_interval=0.3, give_up=30)
AT_ONCE = 12
NEIGHBOURS = 24
"""So many orders lie together in the list of every worker, in another order each: workers meet, but at random."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.15
"""Seconds between two placements of the same order, on average."""
QUANTITY, PRICE = 10, 10
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
    chance, deadline = random.Random(f"{share.seed} {share.sender}"), time.monotonic() + share.seconds

    def report(placement: Placement, began: float) -> Report:
        name = placement.account_number, placement.external_identifier
        order_id = placement.order and placement.order.id
        return Report(share.sender, *name, placement.outcome.value, began, time.monotonic(), order_id)

    async def place(entry: OrderEntry, account: str, identifier: str) -> Report:
        ticket = tickets.limit(tickets.buy_to_open("AAPL", QUANTITY), price=PRICE)
        began = time.monotonic()
        try:
            order = attrs.evolve(ticket, external_identifier=identifier)
            return report(await entry.place(account, order, resubmit=1), began)
        except OrderOutcomeUnknownError as error:
            outcome = f"unknown: {error.code}"
        except JournalError:
            outcome = "journal"
        return Report(share.sender, account, identifier, outcome, began, time.monotonic())

    async def see_through(entry: OrderEntry, account: str, identifier: str) -> None:
        """Place an order until its outcome is final. Every call may resubmit it once."""
        pause = SHORTEST_PAUSE
        while time.monotonic() < deadline:
            made = await place(entry, account, identifier)
            channel.send(("report", made))
            if made.is_final:
                return
            await asyncio.sleep(chance.uniform(0.2, 1.8) * pause)
            pause = min(1.5 * pause, LONGEST_PAUSE)

    groups = [share.names[n : n + NEIGHBOURS] for n in range(0, len(share.names), NEIGHBOURS)]
    names = iter([name for group in groups for name in chance.sample(group, len(group))])

    async def take(entry: OrderEntry) -> None:
        for account, identifier in names:
            await see_through(entry, account, identifier)

    async with client, PostgresJournal(share.dsn, timeout=3) as journal:
        guard = OrderGuard(max_value_per_day=QUANTITY * PRICE * share.cap) if share.cap else None
        entry = OrderEntry(client, journal, guard=guard, reconcile=POLICY, lease=LEASE)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(take(entry))
        channel.send(("finished", None))
        await asyncio.to_thread(channel.recv)
        began = time.monotonic()
        for placement in await entry.recover():
            channel.send(("report", report(placement, began)))
        channel.send(("finished", None))
