"""What an unchanged poll costs: ``client.watch.orders`` beside a bare aiohttp GET of the same body, in one run.

    python -m benchmarks.polling [--polls 100] [--rounds 40] [--check]

A server in a separate process answers every request with the same 500 orders. In this process, rounds of polls take
turns with rounds of bare GETs, each on one kept-alive connection. What counts is the CPU time of this process.
``--check`` fails when a poll costs more than 1.3 times a GET.
"""

from __future__ import annotations

import asyncio
import statistics
from decimal import Decimal

import aiohttp

from brokerage_async import Client, Environment, StaticToken
from brokerage_async._generated.operations import ORDERS_LIVE
from brokerage_async.models import NewOrder, NewOrderLeg
from brokerage_async.simulator import Simulator

from .rounds import Result, command, ratios, result, turns
from .service import answer, running, serve_fixed

ORDERS = 500


async def live_orders() -> bytes:
    """Return the body of a live list of ``ORDERS`` orders, as the simulated service writes it."""
    simulator = Simulator(equities=50, equity_options=10, chain_rows=10)
    account = simulator.account_numbers[0]
    leg = NewOrderLeg(instrument_type="Equity", symbol="AAPL", action="Buy to Open", quantity=Decimal(5))
    order = NewOrder(order_type="Market", time_in_force="Day", legs=(leg,))
    async with simulator.client() as client:
        await asyncio.gather(*(client.orders.submit(account, order) for _ in range(ORDERS)))
        simulator.clock.advance(60)
        call = ORDERS_LIVE.bind(customer_id="me", account_numbers=[account])
        found = await client.session.fetch_if_changed(call, None)
    assert found is not None
    orders, body = found
    assert body is not None
    assert len(orders) == ORDERS
    return body


class Rounds:
    """A pace without waits that lets a watcher poll round by round."""

    def __init__(self) -> None:
        self._left = 0
        self._go = asyncio.Event()
        self._done = asyncio.Event()

    async def __call__(self) -> float:
        if self._left == 0:
            self._go.clear()
            self._done.set()
            await self._go.wait()
        self._left -= 1
        return 1e-9

    async def run(self, polls: int) -> None:
        """Let ``polls`` polls happen."""
        await self._done.wait()
        self._left = polls
        self._done.clear()
        self._go.set()
        await self._done.wait()


def measure(polls: int = 100, rounds: int = 40) -> list[Result]:
    """Measure polls and GETs of an unchanged body."""
    body = asyncio.run(live_orders())
    with running(serve_fixed, {b"": answer(body)}) as pipe:
        taken = asyncio.run(_measure(pipe.recv(), polls, rounds))
    each = {name: statistics.median(found) / polls * 1e6 for name, found in taken.items()}
    note = f"{each['poll']:.1f} and {each['get']:.1f} us, {len(body):,} bytes"
    title = f"unchanged poll of {ORDERS} orders, client CPU, x bare GET"
    return [result(title, ratios(taken["poll"], taken["get"]), bound=1.3, note=note)]


async def _measure(base_url: str, polls: int, rounds: int) -> dict[str, list[float]]:
    headers = {"Authorization": "Bearer token", "User-Agent": "bench/1", "Accept": "application/json"}
    timeout = aiohttp.ClientTimeout(total=30)
    url = f"{base_url}/customers/me/orders/live?account-numbers[]=A1"
    watched = Rounds()
    async with (
        aiohttp.ClientSession() as session,
        Client(Environment.sandbox(base_url), StaticToken("token"), user_agent="bench/1") as client,
        client.watch.orders("me", ["A1"], interval=watched, min_interval=0.0, initial=False) as watcher,
    ):

        async def bare() -> None:
            for _ in range(polls):
                async with session.get(url, headers=headers, timeout=timeout) as response:
                    await response.read()

        waiting = asyncio.ensure_future(anext(watcher))
        taken = await turns({"poll": lambda: watched.run(polls), "get": bare}, rounds, warm_up=2)
        waiting.cancel()
    return taken


if __name__ == "__main__":
    command(measure)
