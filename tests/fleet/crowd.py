"""Helpers that the processes of the fleet proofs share."""

import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from brokerage_async import tickets
from brokerage_async.journal import MemoryJournal
from brokerage_async.simulator import Simulator
from tests.processes import Crowd, Service, crowd, preload

preload("tests.fleet.workers", "tests.fleet.warm", "redis.asyncio")


def small_simulator(**options: Any) -> Simulator:
    return Simulator(equities=20, equity_options=20, chain_rows=20, warrants=5, **options)


@asynccontextmanager
async def at_work(
    sim: Simulator, engine: str, work: Callable[..., object], arguments: Sequence[tuple[Any, ...]]
) -> AsyncIterator[Crowd]:
    """Start a worker for each tuple of arguments, and let all begin once every one is ready."""
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # which reports workers that are killed
    async with crowd() as people:
        for each in arguments:
            people.start(work, Service.of(sim, engine), *each)
        await people.wait_for(lambda them: len(them.of("ready")) == len(arguments), 120)
        people.go()
        yield people


def prefer_the_service() -> None:
    """Let this process, which is the service, go before the workers if the system allows it.

    It plays another machine. On a busy one it would count requests when it handles them, not when they arrive.
    """
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)


async def warm_up(sim: Simulator) -> None:
    """Place one order, so that the simulator builds its tables in advance."""
    async with sim.client() as client:
        order = tickets.limit(tickets.buy_to_open("AAPL", 1), price="10")
        await client.order_entry(MemoryJournal()).place(sim.account_numbers[0], order)


def as_table(rows: Mapping[str, object]) -> str:
    return "\n".join(f"  {name:44s} {value}" for name, value in rows.items())
