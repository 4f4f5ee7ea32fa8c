"""Entry points of the worker processes of the proofs. Each waits for "go" and reports through its pipe."""

import asyncio
import logging
import os
import random
import time
from collections.abc import Coroutine
from multiprocessing.connection import Connection
from typing import Any

import attrs

from brokerage_async import tickets
from brokerage_async.errors import APIError
from brokerage_async.fleet import Fleet, RedisLimits, RedisTokenStore
from brokerage_async.journal import MemoryJournal
from brokerage_async.observers import Attempt
from tests.processes import Service


def begin(channel: Connection, main: Coroutine[Any, Any, None]) -> None:
    logging.getLogger("brokerage_async").setLevel(logging.CRITICAL)
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    channel.send(("ready", None))
    channel.recv()
    asyncio.run(main)
    channel.close()


def get_token(channel: Connection, service: Service, lease: float, name: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with Fleet(service.engine, name=name) as fleet:
            store = RedisTokenStore(fleet, lease=lease)
            async with service.client(token_store=store) as client:
                began = loop.time()
                await client.authorize()
                channel.send(("token", (loop.time() - began, time.monotonic())))

    begin(channel, main())


def read_and_cancel(channel: Connection, service: Service, budget: float, seconds: float, seed: int) -> None:
    """Read as much as the budget allows, and cancel now and then. Report the counts and the waits of the cancels."""
    waits: list[float] = []
    counts = {"reads": 0, "cancels": 0}

    def watch(attempt: Attempt) -> None:
        if attempt.operation == "orders.cancel":
            waits.append(attempt.waited)

    async def main() -> None:
        loop, chance = asyncio.get_running_loop(), random.Random(seed)
        async with Fleet(service.engine) as fleet:
            options = {
                "limits": RedisLimits(fleet, requests_per_second=budget),
                "token_store": RedisTokenStore(fleet),
                "observers": [watch],
            }
            async with service.client(**options) as client:
                await client.authorize()
                began = loop.time()

                async def read() -> None:
                    while loop.time() < began + seconds:
                        await client.market_time.equity_holidays()
                        counts["reads"] += 1

                async def cancel() -> None:
                    while True:
                        await asyncio.sleep(chance.uniform(2, 6))
                        if loop.time() >= began + seconds:
                            return
                        try:
                            await client.orders.cancel(service.account, "1")
                        except APIError:
                            counts["cancels"] += 1

                await asyncio.gather(read(), read(), read(), cancel())
        channel.send(("counts", (counts, waits)))

    begin(channel, main())


def place_orders(channel: Connection, service: Service, budget: float, orders: int, name: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with Fleet(service.engine) as fleet:
            limits, store = RedisLimits(fleet, requests_per_second=budget), RedisTokenStore(fleet)
            async with service.client(limits=limits, token_store=store) as client:
                entry = client.order_entry(MemoryJournal())
                for number in range(orders):
                    ticket = tickets.limit(tickets.buy_to_open("AAPL", 1), price="10")
                    named = attrs.evolve(ticket, external_identifier=f"{name}-{number}")
                    began = loop.time()
                    placement = await entry.place(service.account, named)
                    channel.send(("placed", (f"{name}-{number}", placement.outcome.value, loop.time() - began)))

    begin(channel, main())
