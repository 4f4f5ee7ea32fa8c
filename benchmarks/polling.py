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
from typing import Any

import aiohttp

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.models import Order

from . import bodies, peers
from .rounds import Result, command, ratios, result, turns
from .service import answer, running, serve_fixed

ORDERS = 500


class Rounds(asyncio.Queue[None]):
    """A pace without waits that lets a watcher poll round by round."""

    polled = False

    async def __call__(self) -> float:
        if self.polled:
            self.task_done()
        await self.get()
        self.polled = True
        return 1e-9

    async def run(self, polls: int) -> None:
        """Let ``polls`` polls happen."""
        for _ in range(polls):
            self.put_nowait(None)
        await self.join()


def measure(rounds: int = 40, polls: int = 100) -> list[Result]:
    """Measure polls, GETs and a loop by hand, of an unchanged body."""
    [page] = [page for page in bodies.pages() if page.model is Order]
    body = page.with_rows([{**row, "id": str(number)} for number, row in enumerate(page.rows()[:ORDERS])]).body
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
