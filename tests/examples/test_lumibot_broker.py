"""The broker for Lumibot: its strategy buys and sells on a simulator over HTTP."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from brokerage_async.simulator import Simulator

from .conftest import FOLDER

pytest.importorskip("lumibot", reason="needs lumibot: `nox -s lumibot` installs it")


@pytest.mark.slow
async def test_lumibot_strategy_buys_and_sells_shares_through_the_journal(tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / "lumibot_broker.py")]
    async with Simulator(environment="production", equities=50) as sim:
        environment = os.environ | sim.environ | {"BROKERAGE_ACCOUNT": sim.account_numbers[0]}
        run = await asyncio.to_thread(
            subprocess.run, command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=170
        )
        orders = sim.ledger.orders(account_number=sim.account_numbers[0])
    told = [line.split(" at ")[0] for line in run.stdout.splitlines() if line.startswith(("buy", "sell"))]
    assert (run.returncode, told) == (0, ["buy 10.0 AAPL", "sell 10.0 AAPL"]), run.stderr
    assert [order.status for order in orders] == ["Filled", "Filled"]
    assert (tmp_path / "lumibot.journal").exists()
