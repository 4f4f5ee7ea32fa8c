"""Worker in a separate process, to be killed: places orders one after another, or recovers."""

import itertools
from multiprocessing.connection import Connection

import attrs

from brokerage_async import tickets
from brokerage_async.errors import BrokerageError
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.order_entry import OrderEntry, Outcome, ReconcilePolicy
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from tests.journal_servers import Durable
from tests.processes import Service
from tests.proofs.kill.killer import Killer, points

POLICY = ReconcilePolicy(visibility_delay=0.4, first=0.05, max_interval=0.1, give_up=30)
LEASE = 0.5
JOURNAL, ORDER, OUTCOME = "the journal is written", "the order is sent", "the outcome is written"
POINTS = points(JOURNAL, ORDER, OUTCOME)


@attrs.frozen(kw_only=True)
class Job:
    """Where the service and the journal are, and what to do."""

    service: Service
    journal: Durable
    name: str = ""
    point: str = ""
    at_order: int = 0


class DeadlyTransport(AiohttpTransport):
    killer: Killer

    async def send(self, request: Request) -> Response:
        sending = super().send(request)
        if request.operation is None or request.operation.name != "orders.submit":
            return await sending
        return await self.killer.watch(ORDER, sending, 0.004)  # the request is on the wire, the answer is not back


async def place(channel: Connection, job: Job) -> None:
    """Place orders, one after another, until this process is killed."""
    transport = DeadlyTransport()
    transport.killer = killer = Killer(job.point, job.at_order)
    account = job.service.account
    async with job.service.client(transport=transport, timeout=5) as client, job.journal.open() as journal:
        await client.orders.list_live(account).collect()
        opening, closing = journal.open, journal.close
        journal.open = lambda *args, **kwargs: killer.watch(JOURNAL, opening(*args, **kwargs))
        journal.close = lambda *args, **kwargs: killer.watch(OUTCOME, closing(*args, **kwargs))
        entry = OrderEntry(client, journal, reconcile=POLICY, lease=LEASE)
        channel.send(("ready", None))
        for number in itertools.count():
            order = tickets.limit(tickets.buy_to_open("AAPL", 1), price="10")
            try:
                await entry.place(account, attrs.evolve(order, external_identifier=f"{job.name}-{number}"))
            except BrokerageError as error:
                channel.send(("error", f"{type(error).__name__}: {error}"))


async def recover(channel: Connection, job: Job) -> None:
    """Recover, and report the orders found. Absent ones are abandoned, so that the next run starts afresh."""
    async with job.service.client(timeout=5) as client, job.journal.open() as journal:
        entry = OrderEntry(client, journal, reconcile=POLICY, lease=LEASE)
        placements = await entry.recover()
        for placement in placements:
            if placement.outcome is Outcome.UNKNOWN:
                await entry.abandon(job.service.account, placement.external_identifier, note=placement.note)
        channel.send(("recovered", [(p.external_identifier, p.outcome.value, p.note) for p in placements]))
