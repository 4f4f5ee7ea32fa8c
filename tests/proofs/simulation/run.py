"""Runs one seed: traders whose habits depend on it, planned events, and the checks afterwards."""

import asyncio
import contextlib
import hashlib
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from brokerage_async import Client, models, tickets
from brokerage_async._generated import operations as ops
from brokerage_async.observers import Attempt
from brokerage_async.operation import Operation
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.virtual_run import DeadlockError
from tests.loops import run_in

from .bugs import BUGS
from .chaos import HOUR, Plan, RandomFaults
from .quick_loop import StuckError
from .record import CALL, CallRecord, Record, RecordingTransport, check_all, check_end, check_liveness
from .stages import IN_MEMORY, Stage

CALM_PERIOD = 180.0


@attrs.frozen
class Result:
    seed: int
    violations: tuple[str, ...]
    history: tuple[str, ...]
    calls: int

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.history).encode()).hexdigest()[:16]


def simulate(seed: int, bug: str | None = None, *, stage: Stage = IN_MEMORY, length: float = HOUR) -> Result:
    """Run ``length`` seconds of ``seed``, optionally with a planted bug, without the warnings of planned faults."""
    record, plan = Record(), Plan(seed, length)
    logging.disable(logging.CRITICAL)
    try:
        with BUGS[bug] if bug is not None else contextlib.nullcontext():
            run_in(stage.new_loop(), _play(seed, plan, stage, record))
    except (DeadlockError, StuckError) as error:
        record.violations.append(str(error))
    except Exception as error:
        record.violations.append(f"the run failed with {type(error).__name__}: {error}")
    finally:
        logging.disable(logging.NOTSET)
    return Result(seed, tuple(record.violations), tuple(record.history), len(record.calls))


async def _play(seed: int, plan: Plan, stage: Stage, record: Record) -> None:
    sim = Simulator(seed=seed, equities=60, equity_options=20, chain_rows=20, warrants=5)
    random_faults = RandomFaults(plan, seed, asyncio.get_running_loop().time)
    sim.brokerage.faults = random_faults  # type: ignore[assignment]
    sim.latency = random_faults.latency
    attempts: list[Attempt] = []
    meddler = random.Random(f"meddler {seed}")

    def cancel_another(attempt: Attempt) -> None:
        """Cancel one call at the moment when another gets a response, as a task group does."""
        others = [number for number in record.running if number != CALL.get()]
        if others and meddler.random() < plan.cancelled / 2:
            record.cancel(meddler.choice(others))

    async with stage.connect(sim, plan, record) as inner:
        transport = RecordingTransport(inner, record, plan.limits, plan.retry)
        client = Client(
            sim.environment,
            sim.credentials,
            timeout=plan.timeout,
            deadline=plan.deadline,
            retry=plan.retry,
            limits=plan.limits,
            observers=[attempts.append, cancel_another],
            transport=transport,
        )
        async with client:
            traders = [Trader(client, sim, plan, record, f"trader {seed} {n}") for n in range(plan.traders)]
            events = _schedule(plan, sim, record)
            await asyncio.gather(*(trader.trade() for trader in traders))
            for event in events:
                event.cancel()
            random_faults.over, sim.rate_limit = True, None
            await asyncio.sleep(CALM_PERIOD)
            await traders[0].probe()  # the first may still use a token that has been revoked
            probe = await traders[0].probe()
        check_liveness(probe, plan, record)
        await asyncio.sleep(CALM_PERIOD)  # delayed requests have arrived by now
    check_end(client, transport, record)
    check_all(record, attempts, stage.tolerance)
    record.write(" ".join(f"{name}={count}" for name, count in sorted(record.counts.items())))


def _schedule(plan: Plan, sim: Simulator, record: Record) -> list[asyncio.TimerHandle]:
    """Schedule the planned events: revoked tokens, clock changes, sleeping machines, rate limits."""
    loop = asyncio.get_running_loop()

    def sleep(length: float) -> None:
        record.sleeps.append((loop.time(), length))
        loop.jump(length)

    def limit(rate: float | None) -> None:
        sim.rate_limit = rate

    def at(moment: float, what: str, act: Any, *arguments: Any) -> asyncio.TimerHandle:
        def happen() -> None:
            record.write(f"* {what}")
            act(*arguments)

        return loop.call_at(moment, happen)

    events = [at(moment, "tokens revoked", sim.expire_tokens) for moment in plan.expiries]
    events += [at(moment, "the service's clock is advanced", sim.clock.advance, by) for moment, by in plan.leaps]
    events += [at(moment, "the machine sleeps", sleep, by) for moment, by in plan.sleeps]
    for begins, ends, rate in plan.rate_limits:
        events += [at(begins, f"{rate} requests per second", limit, rate), at(ends, "no rate limit", limit, None)]
    if plan.revoked_at is not None:
        events.append(at(plan.revoked_at, "the grant is revoked", sim.revoke))
    return events


SYMBOLS = ["AAPL", "MSFT", "BRK/B"]
Act = Callable[[Client], Awaitable[Any]]


class Trader:
    """Makes one call after the other, cancels some of them, and keeps track of its orders."""

    def __init__(self, client: Client, sim: Simulator, plan: Plan, record: Record, name: str) -> None:
        self._client = client
        self._account = sim.account_numbers[0]
        self._plan = plan
        self._record = record
        self._name = name
        self._rng = random.Random(name)
        self._placed: list[str] = []
        self._submitted = 0

    async def trade(self) -> None:
        rng = self._rng
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(round(rng.expovariate(1 / self._plan.pause), 6))
            if loop.time() >= self._plan.length:
                return
            if rng.random() < 0.03:
                burst = [self._call(*self._reading()) for _ in range(rng.randint(5, 20))]
                await asyncio.gather(*burst)
            else:
                await self._call(*self._choose())

    async def probe(self) -> CallRecord:
        return await self._call(ops.WATCHLISTS_LIST, lambda client: client.watchlists.list(), hurried=False)

    async def _call(self, operation: Operation[Any], act: Act, *, hurried: bool = True) -> CallRecord:
        """Make one call in its own task, sometimes with a deadline, sometimes cancelled."""
        rng, plan = self._rng, self._plan
        deadline, client = plan.deadline, self._client
        if hurried and rng.random() < 0.1:
            deadline = round(rng.uniform(0.05, 10), 3)
            client = client.with_options(deadline=deadline)
        impatience = round(rng.expovariate(1.0), 6) if hurried and rng.random() < plan.cancelled else None
        made: list[CallRecord] = []

        async def main() -> Any:
            made.append(self._record.begin(operation, deadline))
            return await act(client)

        task = asyncio.create_task(main())
        if impatience is not None:
            asyncio.get_running_loop().call_later(impatience, self._give_up, task, made)
        await asyncio.wait({task})
        if not made:
            return CallRecord(operation=operation)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        self._record.end(made[0], error)
        if error is None and operation in (ops.ORDERS_SUBMIT, ops.ORDERS_REPLACE):
            order = getattr(task.result(), "order", task.result())
            if order is not None and order.id is not None:
                self._placed.append(order.id)
        return made[0]

    def _give_up(self, task: asyncio.Task[Any], made: list[CallRecord]) -> None:
        if made and made[0].number in self._record.running:
            self._record.cancel(made[0].number)
        elif not made:
            task.cancel()

    def _choose(self) -> tuple[Operation[Any], Act]:
        draw = self._rng.random()
        if draw < 0.45:
            return self._reading()
        if draw < 0.55:
            order = self._order()
            return ops.ORDERS_DRY_RUN, lambda client: client.orders.dry_run(self._account, order)
        if draw < 0.75 or not self._placed:
            self._submitted += 1
            order = self._order(f"{self._name}-{self._submitted}")
            return ops.ORDERS_SUBMIT, lambda client: client.orders.submit(self._account, order)
        if draw < 0.88:
            number = self._placed.pop(self._rng.randrange(len(self._placed)))
            return ops.ORDERS_CANCEL, lambda client: client.orders.cancel(self._account, number)
        if draw < 0.95:
            number, price = self._placed.pop(), self._rng.randint(1, 50)
            edit = models.OrderEdit.of(tickets.limit(tickets.buy_to_open("AAPL", 1), price=price))
            return ops.ORDERS_REPLACE, lambda client: client.orders.replace(self._account, number, edit)
        watchlist = models.NewWatchlist(
            name=f"{self._name} {self._rng.random()}", watchlist_entries=[models.NewWatchlistEntry(symbol="AAPL")]
        )
        return ops.WATCHLISTS_CREATE, lambda client: client.watchlists.create(watchlist)

    def _reading(self) -> tuple[Operation[Any], Act]:
        symbol = self._rng.choice(SYMBOLS)
        readings: list[tuple[Operation[Any], Act]] = [
            (ops.MARKET_METRICS_DIVIDENDS, lambda client: client.market_metrics.dividends(symbol)),
            (ops.INSTRUMENTS_EQUITIES, lambda client: client.instruments.equities(symbols=[symbol]).collect()),
            (ops.MARKET_TIME_EQUITY_HOLIDAYS, lambda client: client.market_time.equity_holidays()),
            (ops.QUOTE_ALERTS_LIST, lambda client: client.quote_alerts.list()),
            (ops.ORDERS_SEARCH, lambda client: client.orders.search("me", [self._account], per_page=5).collect(5)),
        ]
        return self._rng.choice(readings)

    def _order(self, identifier: str | None = None) -> models.NewOrder:
        leg = tickets.buy_to_open("AAPL", self._rng.randint(1, 5))
        return attrs.evolve(tickets.limit(leg, price=self._rng.randint(1, 400)), external_identifier=identifier)
