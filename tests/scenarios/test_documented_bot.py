"""The bot of docs/programs.md, started again: after a crash, and when the service has forgotten its order."""

import re
from pathlib import Path

from brokerage_async.simulator import Simulator
from tests.documents import ROOT, blocks
from tests.processes import run_program
from tests.trading import SMALL

BOT = blocks(ROOT / "docs" / "programs.md")[0][1].replace("PATIENCE = 1.0", "PATIENCE = 0.1")


async def run(brokerage: Simulator, folder: Path) -> tuple[int | None, str]:
    assert "PATIENCE = 0.1" in BOT
    return await run_program("-W", "error", "-c", BOT, cwd=folder, env=brokerage.environ)


async def test_bot_started_again_finds_its_order_and_sends_no_other(tmp_path: Path) -> None:
    async with Simulator(seed=3, **SMALL) as brokerage:
        code, output = await run(brokerage, tmp_path)
        assert code == 0, output
        assert re.search(r"^placed \nreplace: applied \ncancel: applied \n\w+ Cancelled\n$", output), output
        code, again = await run(brokerage, tmp_path)
        assert code == 0, again
        assert again.startswith("placed journaled before")
        assert again.endswith(output.splitlines()[-1] + "\n")
        orders = brokerage.ledger.orders(account_number=brokerage.account_numbers[0])
        assert [order.replaces_order_id is None for order in orders].count(True) == 1
        assert len(orders) == 2


async def test_bot_says_so_when_the_service_has_forgotten_its_order(tmp_path: Path) -> None:
    async with Simulator(seed=3, **SMALL) as brokerage:
        port = int(brokerage.base_url.rpartition(":")[2])
        assert (await run(brokerage, tmp_path))[0] == 0
    async with Simulator(seed=3, port=port, **SMALL) as restarted:
        code, output = await run(restarted, tmp_path)
        assert code == 1
        assert re.search(r"cannot go on with order \w+: .*not listed any more", output), output
        assert "Traceback" not in output
        assert restarted.ledger.count("orders.submit") == 0
