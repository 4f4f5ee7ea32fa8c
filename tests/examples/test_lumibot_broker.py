"""The broker for Lumibot: its strategy buys and sells on a simulator over HTTP."""

from pathlib import Path

import pytest

from brokerage_async.simulator import Simulator
from tests.processes import run_program

from .conftest import FOLDER

pytest.importorskip("lumibot", reason="needs lumibot: `nox -s lumibot` installs it")


@pytest.mark.slow
async def test_lumibot_strategy_buys_and_sells_shares_through_the_journal(tmp_path: Path) -> None:
    async with Simulator(environment="production", equities=50) as sim:
        environ = sim.environ | {"BROKERAGE_ACCOUNT": sim.account_numbers[0]}
        code, output = await run_program(FOLDER / "lumibot_broker.py", cwd=tmp_path, env=environ, seconds=170)
        orders = sim.ledger.orders(account_number=sim.account_numbers[0])
    told = [line.split(" at ")[0] for line in output.splitlines() if line.startswith(("buy", "sell"))]
    assert (code, told) == (0, ["buy 10.0 AAPL", "sell 10.0 AAPL"]), output
    assert [order.status for order in orders] == ["Filled", "Filled"]
    assert (tmp_path / "lumibot.journal").exists()
