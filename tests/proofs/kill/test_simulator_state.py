"""Simulators with a state file that are killed with SIGKILL while orders arrive, and restarted.

``python -m tests.proofs.kill.test_simulator_state 50`` kills one 50 times: no acknowledged order is forgotten.
"""

import asyncio
import os
import random
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import attrs
import pytest

from brokerage_async import Client, RetryPolicy, errors
from brokerage_async.tickets import buy_to_open, limit
from tests.processes import program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LONGEST = 0.6
"""Maximum seconds of orders before the kill."""


@attrs.frozen
class Served:
    """Simulator in a separate process."""

    process: asyncio.subprocess.Process
    client: Client
    account: str

    async def place(self, acknowledged: set[str]) -> None:
        """Place orders until the service is gone, and keep the identifiers of those that it confirmed."""
        while True:
            try:
                placed = await self.client.orders.submit(self.account, limit(buy_to_open("AAPL", 1), price="20"))
            except (errors.TransportError, errors.TokenError):
                return
            acknowledged.add(placed.order.id or "")

    async def known(self) -> set[str]:
        return {order.id or "" async for order in self.client.orders.list(self.account, per_page=200)}


@asynccontextmanager
async def serve(state: Path) -> AsyncIterator[Served]:
    async with program("-u", "-m", "brokerage_async", "simulator", "--state", state) as process:
        lines = [(await process.stdout.readline()).decode() for _ in range(9)]
        settings = dict(re.findall(r"^export (\w+)=(\S+)$", "".join(lines), re.MULTILINE))
        with patch.dict(os.environ, settings):
            client = Client.from_env(retry=RetryPolicy.none())
        async with client:
            yield Served(process, client, settings["BROKERAGE_ACCOUNT"])


async def play(kills: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Kill and restart a simulator. Return the requests to it, and the changes that it forgot."""
    chance, acknowledged, forgotten = random.Random(seed), set[str](), set[str]()
    for _ in range(kills):
        async with serve(folder / "state") as served:
            forgotten |= acknowledged - await served.known()
            traders = [asyncio.create_task(served.place(acknowledged)) for _ in range(4)]
            await asyncio.sleep(chance.uniform(0, LONGEST))
            served.process.kill()
            await asyncio.gather(*traders)
    async with serve(folder / "state") as served:
        kept = await served.known()
        forgotten |= acknowledged - kept
    return {"kills": kills, "acknowledged": len(acknowledged), "kept": len(kept), "forgotten": len(forgotten)}


async def test_killed_simulator_forgets_no_acknowledged_order(tmp_path: Path) -> None:
    result = await play(2, tmp_path)
    assert result["forgotten"] == 0
    assert result["kept"] >= result["acknowledged"] > 10


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        counts = asyncio.run(play(int(sys.argv[1]), Path(name)))
    print(counts)
    sys.exit(counts["forgotten"] > 0)
