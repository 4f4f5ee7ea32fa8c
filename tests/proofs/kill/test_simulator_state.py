"""Simulators with a state file that are killed with SIGKILL while orders arrive, and restarted.

``python -m tests.proofs.kill.test_simulator_state 50`` kills one 50 times: no acknowledged order is forgotten.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from brokerage_async import Client, Environment, RefreshToken, RetryPolicy, errors
from brokerage_async.tickets import buy_to_open, limit
from tests.documents import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LONGEST = 0.6
"""Maximum seconds of orders before the kill."""


class Served:
    """Simulator in a separate process."""

    def __init__(self, process: asyncio.subprocess.Process, settings: dict[str, str]) -> None:
        self.process = process
        self.account = settings["BROKERAGE_ACCOUNT"]
        self.client = Client(
            Environment.sandbox(settings["BROKERAGE_BASE_URL"]),
            RefreshToken(
                client_secret=settings["BROKERAGE_CLIENT_SECRET"], refresh_token=settings["BROKERAGE_REFRESH_TOKEN"]
            ),
            retry=RetryPolicy.none(),
        )

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def __aenter__(self) -> Served:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self.process.returncode is None:
            await self.kill()


async def serve(state: Path) -> Served:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-u", "-m", "brokerage_async", "simulator", "--state", str(state),
        env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    lines = [(await process.stdout.readline()).decode() for _ in range(9)]
    return Served(process, dict(re.findall(r"^export (\w+)=(\S+)$", "".join(lines), re.MULTILINE)))


async def place(served: Served, acknowledged: set[str]) -> None:
    """Place orders until the service is gone, and keep the identifiers of those that it confirmed."""
    while True:
        try:
            placed = await served.client.orders.submit(served.account, limit(buy_to_open("AAPL", 1), price="20"))
        except (errors.TransportError, errors.TokenError):
            return
        acknowledged.add(placed.order.id or "")


async def known(served: Served) -> set[str]:
    return {order.id or "" async for order in served.client.orders.list(served.account, per_page=200)}


async def play(kills: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Kill and restart a simulator. Return the requests to it, and the changes that it forgot."""
    chance, acknowledged, forgotten = random.Random(seed), set[str](), set[str]()
    for _ in range(kills):
        async with await serve(folder / "state") as served, served.client:
            forgotten |= acknowledged - await known(served)
            traders = [asyncio.create_task(place(served, acknowledged)) for _ in range(4)]
            await asyncio.sleep(chance.uniform(0, LONGEST))
            await served.kill()
            await asyncio.gather(*traders)
    async with await serve(folder / "state") as served, served.client:
        forgotten |= acknowledged - await known(served)
        total = len(await known(served))
    return {"kills": kills, "acknowledged": len(acknowledged), "kept": total, "forgotten": len(forgotten)}


async def test_killed_simulator_forgets_no_acknowledged_order(tmp_path: Path) -> None:
    result = await play(3, tmp_path)
    assert result["forgotten"] == 0
    assert result["kept"] >= result["acknowledged"] > 10


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        counts = asyncio.run(play(int(sys.argv[1]), Path(name)))
    print(counts)
    sys.exit(counts["forgotten"] > 0)
