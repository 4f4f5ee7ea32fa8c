"""Streams and watchers with push against a faulty service, one history per seed, on virtual time.

    python -m tests.stream.seeds [COUNT FIRST]

Every seed trades for minutes while connections drop, fall silent in one direction or both and refuse tokens, and while
events and answers of the protocol are lost, doubled, reordered and late. Consumers of all speeds, down to those that
never read, come, change their subscriptions, are cancelled and go. Afterwards these hold:

- a watcher with push reports every order from its first to its last state, without a break and never twice, whatever
  its polls meet, and also when it starts again now and then with its last snapshot, written as JSON;
- it polls no more often than its interval allows, plus one poll for each burst of events and each connection;
- a consumer of either stream sees a gap where its connection was replaced, nowhere else, and each event has a cause;
- no task, connection, route or buffer is left, and no buffer was larger than its limit.
"""

import asyncio
import contextlib
import gc
import json
import random
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from brokerage_async import Client, errors
from brokerage_async.models import Order, converter
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.streams.dxlink_session import DxLinkSession
from brokerage_async.simulator.streams.session import AccountSession
from brokerage_async.simulator.transports import MemorySocket
from brokerage_async.stream import AccountEvent, Gap, Snapshot
from brokerage_async.watch import Change, is_complete
from tests.loops import on_virtual_time
from tests.seeded import play_seeds
from tests.stream.world import SMALL, buy

SYMBOLS = ("AAPL", "SPY", "MSFT")
MESSAGE_FAULTS = ("lose", "duplicate", "reorder", "late(0.5)", "late(7)", "unknown", "garbage", "drop")
PROTOCOL_FAULTS = ("lose", "duplicate", "late(0.5)", "late(7)", "unknown", "garbage", "drop")
POLL_FAULTS = ("html(502)", "status(503)", "rate_limited", "drop_before", "drop_after", "truncate", "refuse", "garbage",
               "unauthorized", "delay(40)", "hang", "after_html(504)")  # fmt: skip
SPEEDS = (0.0, 0.01, 2.0, 1000.0)
MINUTES = 6
BURST = 0.01
"""Seconds within which events cause one poll."""
MAX_WAITING = 10_000


class History:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sim = Simulator(seed=seed, **SMALL)
        self.account = self.sim.account_numbers[0]
        self.problems: list[str] = []
        self.counts = Counter[str]()
        self.sinks = weakref.WeakSet[Any]()
        self.arrivals: list[float] = []
        self.connections = {AccountSession: 0, DxLinkSession: 0}
        self.interval = self.random.choice((1, 5, 20))

    def check(self, holds: object, problem: str) -> None:
        if not holds:
            self.problems.append(problem)

    async def run(self) -> None:
        self.number_sessions()
        with order_events_arriving_in(self.arrivals):
            await self.live()
        gc.collect()
        await asyncio.sleep(0)  # collected objects are released in the next turn
        self.check(not self.sinks, f"{len(self.sinks)} buffers left")

    async def live(self) -> None:
        start = asyncio.get_running_loop().time()
        async with self.sim.client() as client:
            watching = asyncio.ensure_future(self.watch(client))
            tasks = [asyncio.ensure_future(each) for each in (self.trade(client), self.break_things())]
            tasks += [asyncio.ensure_future(self.come_and_go(client)) for _ in range(4)]
            consumers = (self.consume_account, self.consume_quotes)
            steady = [asyncio.ensure_future(self.stay(each, client)) for each in consumers]
            await asyncio.gather(*tasks)
            self.sim.streams.faults.clear()
            self.sim.faults.clear()
            await asyncio.sleep(90)  # the last orders end, the last connections recover
            for task in (watching, *steady):
                task.cancel()
            await asyncio.gather(watching, *steady, return_exceptions=True)
            del task
            steady.clear()  # the last references to streams that were let go
            self.check_polls(asyncio.get_running_loop().time() - start)
            await asyncio.sleep(3)
            self.check(not self.sim.streams.sessions, f"connections left: {self.sim.streams.sessions}")
            links = (client.stream._account_link, client.stream.quote_link)
            self.check(not any(link._sinks or link._endings or link._task for link in links), "sinks or tasks left")
            self.check(not any(links[1]._routes.values()), "routes left")

    def check_polls(self, seconds: float) -> None:
        """Allow one answered poll for each interval, burst, connection and start."""
        asked = [each for each in self.sim.ledger.requests if each.operation == "orders.live"]
        polls = sum(each.status == 200 and each.fault is None for each in asked)
        bursts, end = 0, float("-inf")
        for at in self.arrivals:
            if at > end:
                bursts, end = bursts + 1, at + BURST
        allowed = seconds / self.interval + 1 + bursts + self.connections[AccountSession] + self.counts["restarts"]
        self.check(polls <= allowed, f"{polls} polls instead of {allowed:.0f} at most")

    async def watch(self, client: Client) -> None:
        """Watch the orders with push, at a random speed, with restarts, and compare with the ledger at the end."""
        last: dict[Any, Any] = {}
        slowness = self.random.choice((0.0, 0.0, 0.3, 5.0))
        options: dict[str, Any] = {"interval": self.interval, "push": True, "on_error": lambda _: None}
        try:
            while True:
                async with client.watch.orders("me", [self.account], **options) as watcher:
                    async for change in watcher:
                        self.note_change(change, last)
                        await asyncio.sleep(self.random.random() * slowness)
                        if self.random.random() < 0.03:
                            break
                    kept = json.dumps(converter.unstructure(list(watcher.snapshot.values())))
                options["seed"] = converter.structure(json.loads(kept), list[Order])
                self.counts["restarts"] += 1
        finally:
            for record in self.sim.ledger.orders(account_number=self.account):
                seen = last.get(record.order_id)
                status = "never reported" if seen is None else seen.status
                self.check(status == record.status, f"order {record.order_id}: {status}, not {record.status}")

    def note_change(self, change: Change[Order], last: dict[Any, Any]) -> None:
        self.counts["changes"] += 1
        before = last.get(change.key)
        self.check(before == change.before, f"order {change.key}: a change is missing or doubled")
        self.check(change.before != change.after, f"order {change.key}: a change without a difference")
        if before is not None and is_complete(before):
            self.check(change.after is None, f"order {change.key} changed after its end")
        last[change.key] = change.after

    async def trade(self, client: Client) -> None:
        ids: list[str] = []
        for _ in range(MINUTES * 6):
            await asyncio.sleep(self.random.random() * 20)
            symbol = self.random.choice(SYMBOLS)
            price = self.sim.price(symbol)
            if self.random.random() < 0.5:
                self.sim.set_price(symbol, (price * Decimal(self.random.uniform(0.97, 1.03))).quantize(Decimal("0.01")))
            limit = None if self.random.random() < 0.4 else str((price * Decimal("0.99")).quantize(Decimal("0.01")))
            placed = await client.orders.submit(self.account, buy(symbol, self.random.randint(1, 9), limit))
            self.counts["orders"] += 1
            ids.append(str(placed.order.id if placed.order else ""))
            if self.random.random() < 0.4:
                with contextlib.suppress(errors.UnprocessableError):  # it has ended already
                    await client.orders.cancel(self.account, self.random.choice(ids))

    async def break_things(self) -> None:
        faults = self.sim.streams.faults
        for _ in range(MINUTES * 4):
            await asyncio.sleep(self.random.random() * 30)
            match self.random.randrange(7):
                case 0:
                    self.sim.streams.drop()
                case 1:
                    faults.is_half_open = True
                    await asyncio.sleep(self.random.choice((1, 30, 90)))
                    faults.is_half_open = False
                case 2:
                    faults.refusals = self.random.randint(1, 2)
                    self.sim.streams.drop()
                case 3:
                    faults.is_deaf = True
                    await asyncio.sleep(self.random.choice((5, 40)))
                    faults.is_deaf = False
                case 4:
                    faults.add("late(0)", kind="protocol", times=self.random.randint(1, 3))  # so that any answer is met
                    faults.add(self.random.choice(PROTOCOL_FAULTS), kind="protocol", times=self.random.randint(1, 2))
                    kind = self.random.choice((AccountSession, DxLinkSession))
                    for session in [each for each in self.sim.streams.sessions if isinstance(each, kind)]:
                        session.close()
                case 5:
                    self.sim.faults.add("GET", "/orders/live", self.random.choice(POLL_FAULTS), times=2)
                case _:
                    faults.add(self.random.choice(MESSAGE_FAULTS), times=self.random.randint(1, 3))

    async def come_and_go(self, client: Client) -> None:
        """Consume streams for a while, at any speed, and leave by closing, cancelling or letting go."""
        for _ in range(MINUTES):
            consume = self.random.choice((self.consume_account, self.consume_quotes))
            task = asyncio.ensure_future(consume(client, self.random.choice(SPEEDS)))
            await asyncio.sleep(self.random.random() * 60)
            task.cancel()
            self.counts["cancelled"] += 1
            with contextlib.suppress(asyncio.CancelledError, errors.StreamRefusedError):  # after several refusals
                try:
                    await task
                except errors.SlowConsumerError:
                    self.counts["slow"] += 1
            del task
            await asyncio.sleep(self.random.random() * 10)

    async def stay(self, consume: Callable[[Client, float], Any], client: Client) -> None:
        while True:
            with contextlib.suppress(errors.SlowConsumerError, errors.StreamRefusedError):
                await consume(client, 0.0)

    async def consume_account(self, client: Client, slowness: float) -> None:
        alerts, limit = self.random.random() < 0.5, self.random.choice((5, MAX_WAITING))
        stream = client.stream.account([self.account], alerts=alerts, limit=limit)
        self.sinks.add(stream._sink)
        gaps = GapCheck(self)
        async with stream:
            async for event in stream:
                self.check(stream.waiting <= 2 * limit, f"{stream.waiting} events wait")
                if isinstance(event, Gap):
                    gaps.gap()
                elif isinstance(event, AccountEvent) and event.type not in ("Weather", "QuoteAlert"):
                    self.check(event.account_number == self.account, "an event of another account")
                    gaps.event(event.sequence)
                await asyncio.sleep(self.random.random() * slowness)

    async def consume_quotes(self, client: Client, slowness: float) -> None:
        """Consume market events of some symbols, which change."""
        chosen = self.random.sample(SYMBOLS, self.random.randint(1, 3))
        kinds = ["Quote", self.random.choice(("Trade", "Greeks", "Candle"))]
        stream = client.stream.quotes(chosen, kinds, period="1m")
        self.sinks.add(stream._sink)
        gaps = GapCheck(self)
        if self.random.random() < 0.3:
            await stream.ready()
        async for event in stream:
            self.check(stream.waiting <= 2 * MAX_WAITING, f"{stream.waiting} events wait")
            if isinstance(event, Gap):
                gaps.gap()
            elif isinstance(event, Snapshot):
                if event.events:
                    gaps.event(event.events[-1].sequence)
            elif getattr(event, "event_symbol", None) is not None:
                self.check(str(event.event_symbol).partition("{")[0] in chosen, "an event of another symbol")  # type: ignore[union-attr]
                gaps.event(event.sequence)  # type: ignore[union-attr]
            if self.random.random() < 0.1:
                symbol = self.random.choice(SYMBOLS)
                chosen.append(symbol)
                await self.random.choice((stream.add, stream.remove))([symbol])
            await asyncio.sleep(self.random.random() * slowness)

    def number_sessions(self) -> None:
        """Let every event carry the number of its connection: as ``ws-sequence``, or as its ``sequence``."""
        open_session = self.sim.streams.open

        def opened(path: str, now: float) -> Any:
            session: Any = open_session(path, now)
            self.connections[type(session)] += 1
            number = sum(self.connections.values())
            is_account = isinstance(session, AccountSession)
            send = session.push if is_account else session._feed

            def push(message: dict[str, Any], *, kind: str = "") -> None:
                send({**message, "ws-sequence": number} if kind else message, kind=kind)

            def feed(channel: Any, rows: dict[str, list[dict[str, Any]]]) -> None:
                for row in (row for some in rows.values() for row in some):
                    row["sequence"] = number
                send(channel, rows)

            setattr(session, *(("push", push) if is_account else ("_feed", feed)))
            return session

        self.sim.streams.open = opened  # type: ignore[method-assign]


class GapCheck:
    """Compares the gaps that one consumer sees with the connections that its events came from."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._session: int | None = None
        self._has_gap = True

    def gap(self) -> None:
        self._history.counts["gaps"] += 1
        self._has_gap = True

    def event(self, session: int | None) -> None:
        """Check that an event of another connection comes after a gap, and one of the same connection does not."""
        self._history.counts["events"] += 1
        if self._session is not None:
            self._history.check(session == self._session or self._has_gap, "another connection without a gap")
            self._history.check(session != self._session or not self._has_gap, "a gap within a connection")
        self._session, self._has_gap = session, False


@contextlib.contextmanager
def order_events_arriving_in(times: list[float]) -> Iterator[None]:
    """Append the time of each order event that arrives at a client."""
    arrive = MemorySocket._arrive

    def note(socket: MemorySocket, message: str) -> None:
        if not socket._is_closed and ('"type":"Order"' in message or '"type":"ComplexOrder"' in message):
            times.append(asyncio.get_running_loop().time())
        arrive(socket, message)

    MemorySocket._arrive = note  # type: ignore[method-assign]
    try:
        yield
    finally:
        MemorySocket._arrive = arrive  # type: ignore[method-assign]


def play(seed: int) -> Counter[str]:
    """Run one history. Raise AssertionError if it has a problem or leaves a task behind."""
    random.seed(seed)  # the pauses of the library
    history = History(seed)
    run: Callable[[], None] = on_virtual_time(history.run)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unclosed QuoteStream", ResourceWarning)  # some consumers let go
        run()
    assert history.problems == [], "; ".join(history.problems[:5])
    return history.counts


if __name__ == "__main__":
    play_seeds(play)
