"""What an unchanged poll costs: ``client.watch.orders`` beside a bare aiohttp GET of the same body, in one run.

    python -m benchmarks.polling [--polls 100] [--rounds 40] [--check]

A server in a separate process answers every request with the same 500 orders. In this process, rounds of polls take
turns with rounds of bare GETs, each on one kept-alive connection; what counts is the CPU time of this process.
``--check`` fails when a poll costs more than 1.3 times a GET.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from decimal import Decimal
from multiprocessing.connection import Connection

import aiohttp
from aiohttp import web

from brokerage_async import Client, Environment, StaticToken
from brokerage_async._generated.operations import ORDERS_LIVE
from brokerage_async.models import NewOrder, NewOrderLeg
from brokerage_async.simulator import Simulator

BOUND = 1.3
ORDERS = 500


async def live_orders() -> bytes:
    """Return the body of a live list of ``count`` orders, as the simulated service writes it."""
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


def serve(body: bytes, port: Connection) -> None:
    """Answer every request with ``body``; send the port first."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    async def run() -> None:
        app = web.Application()
        app.router.add_get("/{tail:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


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


async def cpu(work: Callable[[int], Awaitable[None]], polls: int) -> float:
    """Microseconds of CPU time of this process per poll."""
    gc.collect()
    started = time.process_time()
    await work(polls)
    return (time.process_time() - started) / polls * 1e6


async def measure(base_url: str, polls: int, rounds: int) -> list[tuple[float, float]]:
    """CPU of a poll and of a GET, round by round, the two taken in turns."""
    headers = {"Authorization": "Bearer token", "User-Agent": "bench/1", "Accept": "application/json"}
    timeout = aiohttp.ClientTimeout(total=30)
    url = f"{base_url}/customers/me/orders/live?account-numbers[]=A1"
    watched = Rounds()
    async with (
        aiohttp.ClientSession() as session,
        Client(Environment.sandbox(base_url), StaticToken("token"), user_agent="bench/1") as client,
        client.watch.orders("me", ["A1"], interval=watched, min_interval=0.0, initial=False) as watcher,
    ):

        async def bare(polls: int) -> None:
            for _ in range(polls):
                async with session.get(url, headers=headers, timeout=timeout) as response:
                    await response.read()

        waiting = asyncio.ensure_future(anext(watcher))
        pairs = [(await cpu(watched.run, polls), await cpu(bare, polls)) for _ in range(rounds + 2)]
        waiting.cancel()
    return pairs[2:]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polls", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--check", action="store_true", help=f"fail above {BOUND} x")
    options = parser.parse_args(arguments)
    body = asyncio.run(live_orders())
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    server = context.Process(target=serve, args=(body, sender), daemon=True)
    server.start()
    try:
        pairs = asyncio.run(measure(f"http://127.0.0.1:{receiver.recv()}", options.polls, options.rounds))
    finally:
        server.terminate()
        server.join()
    ratio = statistics.median(poll / get for poll, get in pairs)
    poll, get = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"{ORDERS} orders, unchanged body of {len(body):,} bytes")
    print(f"watched poll {poll:7.1f} µs   bare GET {get:7.1f} µs   {ratio:.2f} x (median of {len(pairs)} pairs)")
    return int(options.check and ratio > BOUND)


if __name__ == "__main__":
    sys.exit(main())
