"""A bot's day with quotes of 500 symbols and iron condors of 100 option legs: seconds of CPU, and megabytes.

``python -m tests.scenarios.test_large_day [END]`` prints them, for the day until a time in New York, and fails if they
are too many.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from brokerage_async import Client, models
from brokerage_async.chains import OptionChain
from brokerage_async.models import NewOrderLeg
from brokerage_async.simulator import Simulator, run
from brokerage_async.tickets import buy_to_open, limit, sell_to_open
from tests.documents import ROOT

UNDERLYINGS = ("AAPL", "SPY", "MSFT", "QQQ", "KO")
MAX_CPU = 30.0
"""Seconds on a machine that is busy with other tests. Alone it takes less than 10."""

MAX_MEGABYTES = 150


async def condors(client: Client, underlying: str) -> list[tuple[NewOrderLeg, ...]]:
    """Return five iron condors of strikes around the price, without a leg in common."""
    chain = OptionChain.of(await client.option_chains.nested(underlying))
    [quote] = await client.market_data.by_type(equity=[underlying])
    near = chain.expiration(days=45).nearest(quote.mark or Decimal(0), 20)
    return [
        (
            buy_to_open(near[number].put, 1), sell_to_open(near[number + 5].put, 1),
            sell_to_open(near[number + 10].call, 1), buy_to_open(near[number + 15].call, 1),
        )
        for number in range(5)
    ]  # fmt: skip


def day(end: str = "16:00") -> dict[str, float]:
    """Run the day until a time in New York. Return events of each type, positions, seconds of CPU, and megabytes."""
    events = Counter[str]()

    async def follow(client: Client, symbols: list[str], kinds: list[type[models.Quote | models.Greeks]]) -> None:
        async with client.stream.quotes(symbols, kinds) as quotes:
            async for event in quotes:
                events[type(event).__name__] += 1

    async def main(client: Client, simulator: Simulator) -> None:
        account = simulator.account_numbers[0]
        shares = [each.symbol async for each in client.instruments.active_equities() if not each.is_index][:500]
        orders = [legs for underlying in UNDERLYINGS for legs in await condors(client, underlying)]
        for legs in orders:
            await client.orders.submit(account, limit(*legs, credit="0.01"))
        options = [leg.symbol or "" for legs in orders for leg in legs]
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(follow(client, shares, [models.Quote]))
                tasks.create_task(follow(client, options, [models.Greeks]))
        finally:
            events["positions"] = len(await client.positions.list(account))

    began = time.process_time()
    run(main, start="2026-06-10T09:30-04:00", until=f"2026-06-10T{end}-04:00", seed=3, environment="production")
    return {**events, "seconds": round(time.process_time() - began, 1), "megabytes": peak()}


def peak() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage returns on Linux counts the parent's memory from before exec, too
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) // 2**10
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**20


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="reads the memory of a process of Unix")
def test_day_until_noon_of_500_symbols_and_100_option_legs_is_short_and_small() -> None:
    done = subprocess.run(
        [sys.executable, "-m", __name__, "12:00"], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = json.loads(done.stdout)
    assert shown["positions"] == 100
    assert shown["Quote"] > 40_000
    assert shown["Greeks"] > 12_000


if __name__ == "__main__":
    figures = day(*sys.argv[1:])
    print(json.dumps(figures))
    sys.exit(figures["seconds"] > MAX_CPU or figures["megabytes"] > MAX_MEGABYTES)
