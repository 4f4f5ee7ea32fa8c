"""Recorders that are killed with SIGKILL while prices arrive: at most the last second is lost, and no file is torn.

``python -m tests.proofs.kill.test_record_sigkill 50`` kills 50 of them, one after another in the same directory.
"""

import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from brokerage_async.arrow.segments import batches_of, recorded_files
from tests.processes import crowd, preload
from tests.proofs.kill import record_worker

preload("tests.proofs.kill.record_worker")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SLACK = 0.3
"""Seconds beyond the last one, for two busy processes."""


def recorded(directory: Path) -> list[int]:
    """Return the recorded prices in cents."""
    return [
        round(100 * price)
        for path in recorded_files(directory)
        for batch, _ in batches_of(path)
        for price in batch.column("price").to_pylist()
    ]


def segments_left(directory: Path) -> int:
    return len(list(directory.glob("day=*/*.arrows")))


async def record(directory: Path, first: int, seconds: float) -> tuple[dict[int, float], float]:
    """Kill a recorder after some seconds of prices. Return when each price was set, and when it was killed."""
    async with crowd() as people:
        number = people.start(record_worker.record, str(directory), first)
        await people.wait_for(lambda each: bool(each.messages), 60)
        await asyncio.sleep(seconds)
        killed = time.time()
        assert await people.end(number) == -9
        await people.wait_for_all(10)  # until its last messages were read
        return dict(content for _, content in people.of("set")), killed


async def play(kills: int, directory: Path, seed: int = 0) -> dict[str, Any]:
    """Kill recorders. Return how many prices they set, how many of them are lost, and those lost too early."""
    chance = random.Random(seed)
    kept, early, first, total, torn, longest = set[int](), list[int](), 1_000, 0, 0, 0.0
    for _ in range(kills):
        made, killed = await record(directory, first, chance.uniform(0.3, 3.0))
        found = recorded(directory)
        torn += not kept <= set(found)  # rows of earlier recorders are there after their segments were rewritten
        kept = set(found)
        lost = {cents: at for cents, at in made.items() if cents not in kept}
        early += [cents for cents, at in lost.items() if at < killed - 1 - SLACK]
        longest = max(longest, killed - min(lost.values(), default=killed))
        total += len(made)
        first = max(made, default=first) + 1
    return {
        "kills": kills, "set": total, "recorded": len(kept), "lost too early": len(early), "torn": torn,
        "longest loss in seconds": round(longest, 2), "segments left": segments_left(directory),
    }  # fmt: skip


async def test_killed_recorder_loses_the_last_second_at_most(tmp_path: Path) -> None:
    result = await play(3, tmp_path)
    assert (result["lost too early"], result["torn"], result["segments left"]) == (0, 0, 1), result
    assert result["recorded"] > 10


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        counts = asyncio.run(play(int(sys.argv[1]), Path(name)))
    print(counts)
    sys.exit(bool(counts["lost too early"] or counts["torn"]))
