"""A universe of instruments, fetched by a process that is killed with SIGKILL again and again, and compared by nights.

``python -m tests.proofs.kill.test_universe`` fetches 10,000 equities and 500 chains: within the published rates, killed
50 times and equal to an undisturbed run. The difference of two nights with 300 planted changes is exactly these.
"""

import asyncio
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs
import msgspec

from brokerage_async.bulk import universe_diff
from brokerage_async.operation import PUBLISHED_RATES, PUBLISHED_TOTAL
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.market.catalogue import equity_row, option_row
from brokerage_async.simulator.market.instrument import Instrument, RowTable
from tests.processes import run_program

WINDOW = 0.9
"""Seconds over which the service counts requests under the published rates."""

FUTURES = ("ES", "CL")

AFTER_THE_CLOSE = datetime(2026, 6, 12, 22, tzinfo=UTC)
"""Friday evening: the simulator has no price to compute while its clock goes on by a day."""

Row = tuple[str, str, str, str | None, str | None, str | None]


class Night:
    """Process that fetches the universe of a simulator into a directory."""

    def __init__(self, sim: Simulator, symbols: Path) -> None:
        self.sim, self.symbols = sim, symbols
        self.chains = len(symbols.read_text().split())

    async def run(self, out: Path, *, kill_after: float | None = None) -> int | None:
        """Run to the end, or kill the process after some seconds. Return its exit code."""
        command = ("-m", "brokerage_async", "fetch", "universe", "--out", out, "--symbols", self.symbols)
        code, _ = await run_program(*command, env=self.sim.environ, seconds=kill_after)
        return code

    async def run_killed(self, out: Path, kills: int, chance: random.Random, longest: float) -> int:
        """Run, killed that many times at random moments. A process that ends before starts over. Return the kills."""
        done = 0
        while done < kills:
            done += await self.run(out, kill_after=chance.uniform(0, longest)) == -signal.SIGKILL
            discard_whole(out)
        assert await self.run(out) == 0
        return done


def discard_whole(out: Path) -> None:
    """Remove the partition of a process that ended before it was killed. It is whole, or not there at all."""
    for path in out.glob("day=*"):
        assert sorted(each.name for each in path.iterdir()) == ["manifest.json", "universe.parquet"]
        shutil.rmtree(path)


def excess(sim: Simulator) -> list[str]:
    """Return the operations that were requested faster than their published rate, and refused requests."""
    times = defaultdict[str, list[float]](list)
    for record in sim.ledger.requests:
        if record.operation is not None:
            times[record.operation].append(record.at)
            times[""].append(record.at)
    rates = {"": PUBLISHED_TOTAL, **PUBLISHED_RATES}
    found = [
        name or "all"
        for name, moments in times.items()
        if (rate := int(rates.get(name, PUBLISHED_TOTAL)))
        if any(last - first < WINDOW for first, last in zip(moments, moments[rate:], strict=False))
    ]
    return found + [record.target for record in sim.ledger.requests if record.status == 429]


def contents(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def plant(sim: Simulator, symbols: list[str], count: int) -> set[Row]:
    """List, delist and change equities and options, a sixth of each sort. Return the rows that a night must report."""
    catalogue, sixth = sim.brokerage.state.catalogue, count // 6
    equities = list(catalogue.equities.definitions)
    gone, old = equities[-sixth:], equities[-2 * sixth : -sixth]
    fresh = [attrs.evolve(each, symbol=f"ZZ{each.symbol}") for each in gone]
    new = [attrs.evolve(each, description=f"{each.description} (new)") for each in old]
    table = RowTable([*equities[: -2 * sixth], *new, *fresh], lambda row: equity_row(row, catalogue.opened))
    vars(catalogue)["equities"] = table
    make, tomorrow = catalogue._made_chain, catalogue.today + timedelta(days=1)
    edited = {symbol: make(symbol).definitions for symbol in symbols[:sixth]}
    listed = {  # at a strike of 90,000
        symbol: attrs.evolve(rows[-1], strike=Decimal(90_000), symbol=f"{rows[-1].symbol[:13]}90000000")
        for symbol, rows in edited.items()
    }
    changed = {rows[-3].symbol for rows in edited.values()}

    def render(row: Instrument) -> Any:
        wire = option_row(row, tomorrow)
        return msgspec.structs.replace(wire, exercise_style="European") if row.symbol in changed else wire

    def make_edited(symbol: str) -> RowTable[Instrument]:
        rows = [*make(symbol).definitions]
        if symbol in edited:
            rows[-1] = listed[symbol]
        return RowTable(rows, render)

    catalogue._made_chain = lru_cache(32)(make_edited)
    return {
        *(("equities", each.symbol, "delisted", None, None, None) for each in gone),
        *(("equities", each.symbol, "listed", None, None, None) for each in fresh),
        *(("equities", one.symbol, "changed", "description", one.description, other.description)
          for one, other in zip(old, new, strict=True)),
        *(("equity_options", rows[-1].symbol, "delisted", None, None, None) for rows in edited.values()),
        *(("equity_options", each.symbol, "listed", None, None, None) for each in listed.values()),
        *(("equity_options", each, "changed", "exercise_style", "American", "European") for each in changed),
    }  # fmt: skip


async def play(
    folder: Path, *, equities: int, chains: int, kills: int, changes: int, chain_rows: int = 20_000, seed: int = 0
) -> dict[str, Any]:
    """Fetch a universe undisturbed, killed, and a day later. Return the findings."""
    chance = random.Random(seed)
    sizes = {"equities": equities, "equity_options": 0, "chain_rows": chain_rows}
    sim = Simulator(**sizes, rate_limit="published", start=AFTER_THE_CLOSE)
    catalogue = sim.brokerage.state.catalogue
    underlyings = [each for each in catalogue.equities.definitions if each.optionable][:chains]
    symbols = [each.symbol for each in underlyings]
    (folder / "symbols").write_text("\n".join([*symbols, *(f"/{product}" for product in FUTURES)]))
    async with sim:
        async with sim.client() as client:  # long lists are made once, which delays the requests that come meanwhile
            for product in FUTURES:
                await client.instruments.futures_option_chain(product)
            await client.option_chains.flat(symbols[0])
        await asyncio.sleep(1)
        night = Night(sim, folder / "symbols")
        began = time.monotonic()
        assert await night.run(folder / "whole") == 0
        took = time.monotonic() - began
        longest = 2 * took / kills if kills > 10 else took
        killed = await night.run_killed(folder / "killed", kills, chance, longest)
        sim.clock.advance(86_400)
        planted = plant(sim, symbols, changes)
        assert await night.run(folder / "whole") == 0
    whole, again = contents(folder / "whole"), contents(folder / "killed")
    first, second = sorted((folder / "whole").iterdir())
    found = [tuple(row.values()) for row in universe_diff(first, second).to_pylist()]
    return {
        "seconds": round(took, 1),
        "limit": chains / PUBLISHED_RATES["option_chains.flat"],
        "kills": killed,
        "requests": len(sim.ledger.requests),
        "faster than published": excess(sim),
        "differs from undisturbed": sorted(name for name in again if again[name] != whole.get(name)) or len(again) != 2,
        "planted": len(planted),
        "found": len(found),
        "wrong": len(planted ^ {*found}) + len(found) - len({*found}),
        "MB": round(sum(map(len, whole.values())) / 1e6, 1),
    }


def test_universe_killed_at_random_moments_is_the_same_and_its_difference_exact(tmp_path: Path) -> None:
    seen = asyncio.run(play(tmp_path, equities=60, chains=2, kills=1, changes=12, chain_rows=300))
    assert (seen["kills"], seen["faster than published"], seen["differs from undisturbed"]) == (1, [], False), seen
    assert (seen["planted"], seen["found"], seen["wrong"]) == (12, 12, 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        counts = asyncio.run(play(Path(name), equities=10_000, chains=500, kills=50, changes=300))
    print(counts)
    sys.exit(bool(counts["faster than published"] or counts["differs from undisturbed"] or counts["wrong"]))
