"""What an unchanged poll costs: ``client.watch.orders`` beside bare aiohttp, in one run.

    python -m benchmarks.polling [--rounds 40] [--polls 100] [--check]

A server in a separate process answers every request with the same 500 orders. In this process, rounds of polls take
turns with rounds of bare GETs and of a loop by hand, each on one kept-alive connection. The loop decodes every body
into msgspec structs and compares them with the last ones. What counts is the CPU time of this process. ``--check``
fails when a poll costs more than 1.3 times a GET or 0.8 times a turn of the loop.
"""

from __future__ import annotations

import asyncio
import statistics
from decimal import Decimal
from typing import Any

import aiohttp

from brokerage_async import Client, Environment, StaticToken
from brokerage_async._generated.operations import ORDERS_LIVE
from brokerage_async.models import NewOrder, NewOrderLeg, Order
from brokerage_async.simulator import Simulator

from . import peers
from .rounds import Result, command, ratios, result, turns
from .service import answer, running, serve_fixed

ORDERS = 500


async def live_orders() -> bytes:
    """Return the body of a live list of ``ORDERS`` orders, as the simulated service writes it."""
    # Identifiers as strings: structs refuse the numbers that the service was seen to send.
    simulator = Simulator(wire="documented", equities=50, equity_options=10, chain_rows=10)
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
        self._left, self._done = asyncio.Semaphore(0), asyncio.Event()

    async def __call__(self) -> float:
        if self._left.locked():
            self._done.set()
        await self._left.acquire()
        return 1e-9

    async def run(self, polls: int) -> None:
        """Let ``polls`` polls happen."""
        await self._done.wait()
        self._done.clear()
        for _ in range(polls):
            self._left.release()
        await self._done.wait()


def measure(rounds: int = 40, polls: int = 100) -> list[Result]:
    """Measure polls, GETs and a loop by hand, of an unchanged body."""
    body = asyncio.run(live_orders())
    with running(serve_fixed, {b"": answer(body)}) as pipe:
        taken = asyncio.run(_measure(pipe.recv(), rounds, polls))
    each = {name: statistics.median(found) / polls * 1e6 for name, found in taken.items()}
    title = f"unchanged poll of {ORDERS} orders, client CPU, x"
    return [
        result(
            f"{title} {other}", ratios(taken["poll"], taken[other]), bound=bound,
            note=f"{each['poll']:.1f} and {each[other]:.1f} us, {len(body):,} bytes",
        )
        for other, bound in (("bare GET", 1.3), ("loop by hand", 0.8))
    ]  # fmt: skip


async def _measure(base_url: str, rounds: int, polls: int) -> dict[str, list[float]]:
    headers = {"Authorization": "Bearer token", "User-Agent": "bench/1", "Accept": "application/json"}
    timeout = aiohttp.ClientTimeout(total=30)
    url = f"{base_url}/customers/me/orders/live?account-numbers[]=A1"
    watched, decode = Rounds(), peers.struct_decoder(Order)
    async with (
        aiohttp.ClientSession() as session,
        Client(Environment.sandbox(base_url), StaticToken("token"), user_agent="bench/1") as client,
        client.watch.orders("me", ["A1"], interval=watched, min_interval=0.0, initial=False) as watcher,
    ):

        async def bare() -> None:
            for _ in range(polls):
                async with session.get(url, headers=headers, timeout=timeout) as response:
                    await response.read()

        async def by_hand() -> None:
            last: dict[str, Any] = {}
            for _ in range(polls):
                async with session.get(url, headers=headers, timeout=timeout) as response:
                    latest = {order.id: order for order in decode(await response.read())}
                changed = [order for name, order in latest.items() if last.get(name) != order]
                assert changed == [] or not last
                last = latest

        contenders = {"poll": lambda: watched.run(polls), "bare GET": bare, "loop by hand": by_hand}
        waiting = asyncio.ensure_future(anext(watcher))
        taken = await turns(contenders, rounds, warm_up=2)
        waiting.cancel()
    return taken


if __name__ == "__main__":
    command(measure)
