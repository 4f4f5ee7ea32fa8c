"""The program of docs/before-you-run.md: killed at any moment, started again, and halted from a shell."""

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

from brokerage_async.simulator import Simulator
from tests.documents import ROOT, blocks
from tests.processes import program, run_program
from tests.trading import SMALL

[(_, WRITTEN)] = blocks(ROOT / "docs" / "before-you-run.md")
QUICK = "guard=GUARD, lease=0.5, reconcile=ReconcilePolicy(visibility_delay=0.5, first=0.1, max_interval=0.2))"
PROGRAM = WRITTEN.replace("guard=GUARD)", QUICK).replace("OrderGuard\n", "OrderGuard, ReconcilePolicy\n", 1)
ALLOWED = 5
"""Orders of 100 dollars under the cap of 500 dollars a day."""


def booked(brokerage: Simulator) -> Counter[str | None]:
    orders = brokerage.ledger.orders(account_number=brokerage.account_numbers[0])
    return Counter(order.external_identifier for order in orders)


async def test_program_that_is_killed_anywhere_never_passes_its_cap(tmp_path: Path) -> None:
    chance = random.Random(29)
    async with Simulator(seed=3, latency=0.01, **SMALL) as brokerage:
        environ = brokerage.environ | {"BROKERAGE_JOURNAL": str(tmp_path / "orders.journal")}
        options: dict[str, Any] = {"cwd": tmp_path, "env": environ}
        for _ in range(6):
            async with program("-W", "error", "-c", PROGRAM, **options) as process:
                assert process.stdout is not None
                await process.stdout.readline()
                await asyncio.sleep(chance.uniform(0, 0.15))
            assert sum(booked(brokerage).values()) <= ALLOWED
        _, output = await run_program("-W", "error", "-c", PROGRAM, **options)
        orders = booked(brokerage)
        assert set(orders.values()) == {1}, orders
        assert sum(orders.values()) + output.count(" unknown ") == ALLOWED, output
        assert "guard_refused" in output
        assert "max_value_per_day: 500 of 500 dollars are used" in output

        _, output = await run_program("-m", "brokerage_async", "orders", "halt", "drift", "--label", "dip", **options)
        assert "label dip (drift)" in output
        _, output = await run_program("-W", "error", "-c", PROGRAM, **options)
        assert "refused halted" in output
        assert "1 halts" in output
        assert booked(brokerage) == orders
