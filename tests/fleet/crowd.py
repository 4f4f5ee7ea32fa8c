"""Helpers that the processes of the fleet proofs share."""

import contextlib
import os
from collections.abc import Mapping
from typing import Any

from brokerage_async import tickets
from brokerage_async.journal import MemoryJournal
from brokerage_async.simulator import Simulator
from tests.processes import preload

preload("tests.fleet.workers", "tests.fleet.warm", "redis.asyncio")


def small_simulator(**options: Any) -> Simulator:
    return Simulator(equities=20, equity_options=20, chain_rows=20, warrants=5, **options)


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
