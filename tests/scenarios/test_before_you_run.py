"""The program of docs/before-you-run.md: killed at any moment, started again, and halted from a shell."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter
from pathlib import Path

from brokerage_async.simulator import Simulator
from tests.documents import ROOT, blocks
from tests.trading import SMALL

[(_, WRITTEN)] = blocks(ROOT / "docs" / "before-you-run.md")
QUICK = "guard=GUARD, lease=0.5, reconcile=ReconcilePolicy(visibility_delay=0.5, first=0.1, max_interval=0.2))"
PROGRAM = WRITTEN.replace("guard=GUARD)", QUICK).replace("OrderGuard\n", "OrderGuard, ReconcilePolicy\n", 1)
ALLOWED = 5
"""Orders of 100 dollars under the cap of 500 dollars a day."""


async def start(brokerage: Simulator, folder: Path, *command: str) -> asyncio.subprocess.Process:
    settings = brokerage.environ | {"BROKERAGE_JOURNAL": str(folder / "orders.journal"), "PYTHONPATH": str(ROOT)}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", *(command or ("-c", PROGRAM)),
        cwd=folder, env=os.environ | settings, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip


async def run(brokerage: Simulator, folder: Path, *command: str) -> str:
    async with asyncio.timeout(60):
        output, _ = await (await start(brokerage, folder, *command)).communicate()
    return output.decode()


def booked(brokerage: Simulator) -> Counter[str | None]:
    orders = brokerage.ledger.orders(account_number=brokerage.account_numbers[0])
    return Counter(order.external_identifier for order in orders)


async def test_program_that_is_killed_anywhere_never_passes_its_cap(tmp_path: Path) -> None:
    chance = random.Random(29)
    async with Simulator(seed=3, latency=0.01, **SMALL) as brokerage:
        for _ in range(6):
            process = await start(brokerage, tmp_path)
            assert process.stdout is not None
            await process.stdout.readline()
            await asyncio.sleep(chance.uniform(0, 0.15))
            if process.returncode is None:
                process.kill()
            await process.communicate()
            assert sum(booked(brokerage).values()) <= ALLOWED
        output = await run(brokerage, tmp_path)
        orders = booked(brokerage)
        assert set(orders.values()) == {1}, orders
        assert sum(orders.values()) + output.count(" unknown ") == ALLOWED, output
        assert "guard_refused" in output
        assert "max_value_per_day: 500 of 500 dollars are used" in output

        said = await run(brokerage, tmp_path, "-m", "brokerage_async", "orders", "halt", "drift", "--label", "dip")
        assert "label dip (drift)" in said
        output = await run(brokerage, tmp_path)
        assert "refused halted" in output
        assert "1 halts" in output
        assert booked(brokerage) == orders
