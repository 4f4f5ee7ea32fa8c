"""Users of the client: traders whose habits depend on the seed."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from brokerage_async import Client, models, tickets
from brokerage_async._generated import operations as ops
from brokerage_async.operation import Operation
from brokerage_async.simulator import Simulator

from .chaos import Plan
from .record import CallRecord, Record

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
            return CallRecord(number=0, operation=operation.name, effect="read", deadline=None, began=0.0)
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
