"""A change feed whose pollers, consumers and engine are killed at random.

``python -m tests.fleet.feed [CHANGES] [SEED]``
"""

import asyncio
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import attrs

from brokerage_async.fleet import Fleet
from tests.fleet import feed_workers
from tests.fleet.engines import EngineServer, engine_server
from tests.fleet.feed_workers import Place, consume, fact_of, publish
from tests.processes import PROCESSES, preload

preload("tests.fleet.feed_workers", "redis.asyncio")

LEASE = 1.5
POLLERS = 3
GROUPS = {"one": 3, "two": 3, "three": 2, "four": 2}
ITEMS = 200


@attrs.define
class Outcome:
    kills: Counter[str] = attrs.field(factory=Counter)
    changes: int = 0
    handled: int = 0
    turns: int = 0
    polls: int = 0
    seconds: float = 0.0


class Listing:
    """The list at the brokerage, in a file. Items come, change and go."""

    def __init__(self, place: Place, chance: random.Random) -> None:
        self._path, self._chance = place.listing, chance
        self.rows: dict[str, int] = {}
        self._version = 0
        self._write()

    def step(self) -> None:
        for key in self._chance.sample(range(ITEMS), 12):
            self._version += 1
            if self._chance.random() < 0.1:
                self.rows.pop(f"k{key}", None)
            else:
                self.rows[f"k{key}"] = self._version
        self._write()

    def _write(self) -> None:
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps([{"id": key, "n": n} for key, n in self.rows.items()]))
        new.replace(self._path)


class Troop:
    """The processes by their place. One that is killed is replaced."""

    def __init__(self, place: Place) -> None:
        self._work: list[tuple[str, Any, tuple[Any, ...]]] = [("poller", publish, (place,))] * POLLERS
        self._work += [("consumer", consume, (place, group)) for group, count in GROUPS.items() for _ in range(count)]
        self._running: list[Any] = [None] * len(self._work)
        for number in range(len(self._work)):
            self.start(number)

    def start(self, number: int) -> None:
        _, work, arguments = self._work[number]
        self._running[number] = PROCESSES.Process(target=feed_workers.run, args=(work, *arguments), daemon=True)
        self._running[number].start()

    def kill(self, number: int) -> None:
        assert self._running[number].is_alive(), f"{self._work[number][0]} ended by itself"
        self._running[number].kill()
        self._running[number].join()

    def choose(self, what: str, chance: random.Random) -> int:
        return chance.choice([number for number, (kind, *_) in enumerate(self._work) if kind == what])

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.join()


async def kill_at_random(troop: Troop, server: EngineServer, chance: random.Random, outcome: Outcome) -> None:
    while True:
        await asyncio.sleep(chance.uniform(0.2, 1.2))
        what = chance.choices(["poller", "consumer", "engine"], [4, 5, 2])[0]
        outcome.kills[what] += 1
        if what == "engine":
            server.kill()
            await asyncio.sleep(chance.uniform(0, 1.0))
            await asyncio.to_thread(server.start)
        else:
            number = troop.choose(what, chance)
            troop.kill(number)
            await asyncio.sleep(chance.uniform(0, 0.5))
            troop.start(number)


async def published(fleet: Fleet, place: Place) -> tuple[int, int]:
    status = await place.feed(fleet).status()
    if status.published is None:
        return 0, sys.maxsize
    return status.published, max(status.lag.get(group, status.published) for group in GROUPS)


async def settle(fleet: Fleet, place: Place, seconds: float) -> None:
    """Wait until nothing is published any more and every group has handled everything."""
    last, since = -1, time.monotonic()
    async with asyncio.timeout(seconds):
        while True:
            sequence, lag = await published(fleet, place)
            if sequence != last or lag:
                last, since = sequence, time.monotonic()
            elif time.monotonic() - since > 2 * LEASE:
                return
            await asyncio.sleep(0.1)


async def run(changes: int, seed: int) -> Outcome:
    chance, outcome, began = random.Random(seed), Outcome(), time.monotonic()
    with engine_server(append_only=True) as server, tempfile.TemporaryDirectory() as folder:
        place = Place(engine=server.url, folder=folder, lease=LEASE)
        listing, troop = Listing(place, chance), Troop(place)
        killing = asyncio.create_task(kill_at_random(troop, server, chance, outcome))
        try:
            async with Fleet(server.url) as fleet:
                while (await published(fleet, place))[0] < changes:
                    assert not killing.done(), killing.result()
                    listing.step()
                    await asyncio.sleep(0.05)
                await stop(killing, server)
                await settle(fleet, place, 300)
                truth = await everything(fleet, place)
        finally:
            killing.cancel()
            troop.close()
        check(truth, listing.rows, Path(folder), outcome)
    outcome.seconds = time.monotonic() - began
    return outcome


async def stop(killing: asyncio.Task[None], server: EngineServer) -> None:
    """Kill no more, and see to it that the engine runs."""
    killing.cancel()
    await asyncio.wait({killing})
    server.stop()
    await asyncio.to_thread(server.start)


async def everything(fleet: Fleet, place: Place) -> list[dict[str, Any]]:
    await asyncio.sleep(1)  # the breaker of the connection
    total = (await published(fleet, place))[0]
    async with place.feed(fleet).read(start="beginning") as reader:
        return [fact_of(await anext(reader)) for _ in range(total)]


def check(truth: list[dict[str, Any]], rows: dict[str, int], folder: Path, outcome: Outcome) -> None:
    """Compare the published changes with the list, and the logs of groups and pollers with both."""
    last: dict[str, Any] = {}
    for fact in truth:
        assert last.get(fact["key"]) == fact["before"], f"a change is missing before {fact}"
        last[fact["key"]] = fact["after"]
    assert {key: item["n"] for key, item in last.items() if item is not None} == rows
    position = {fact["id"]: number for number, fact in enumerate(truth)}
    assert len(position) == len(truth), "two changes with one idempotency key"
    for group in GROUPS:
        outcome.handled += check_group(read_logs(folder, f"group-{group}-*.log"), truth, position)
    check_polls(read_logs(folder, "polls-*.log"), outcome)
    outcome.changes = len(truth)


def check_group(facts: list[dict[str, Any]], truth: list[dict[str, Any]], position: dict[str, int]) -> int:
    seen, acknowledged = set[str](), set[str]()
    reached: dict[str, int] = defaultdict(lambda: -1)
    handled = 0
    for fact in facts:
        if fact["what"] == "acknowledged":
            acknowledged.add(fact["id"])
            continue
        handled += 1
        number = position[fact["id"]]
        assert {name: fact[name] for name in truth[number]} == truth[number], "one idempotency key, two changes"
        assert fact["id"] not in acknowledged, "handled again after it was acknowledged"
        assert fact["id"] in seen or number > reached[fact["key"]], "out of order"
        seen.add(fact["id"])
        reached[fact["key"]] = max(reached[fact["key"]], number)
    assert len(seen) == len(truth), f"{len(truth) - len(seen)} changes were never seen"
    return handled


def check_polls(facts: list[dict[str, Any]], outcome: Outcome) -> None:
    """Check that the polls of one lease end before the next lease starts to poll."""
    spans: dict[str, list[float]] = defaultdict(list)
    for fact in facts:
        spans[fact["turn"]].append(fact["time"])
        outcome.polls += fact["what"] == "begin"
    ordered = sorted((min(times), max(times)) for times in spans.values())
    for (_, end), (begin, _) in itertools.pairwise(ordered):
        assert end < begin, "two pollers at a time"
    outcome.turns = len(ordered)


def read_logs(folder: Path, pattern: str) -> list[dict[str, Any]]:
    facts = []
    for path in folder.glob(pattern):
        for line in path.read_text().splitlines():
            if line.endswith("}"):
                facts.append(json.loads(line))
    return sorted(facts, key=lambda fact: float(fact["time"]))


def main() -> None:
    changes = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int.from_bytes(os.urandom(4), "big")
    outcome = asyncio.run(run(changes, seed))
    rows = {
        "changes, each seen by every group": outcome.changes,
        "handled again after a crash": outcome.handled - len(GROUPS) * outcome.changes,
        "pollers elected, one at a time": outcome.turns,
        "polls": outcome.polls,
        **{f"killed: {what}": count for what, count in sorted(outcome.kills.items())},
    }
    print(f"{POLLERS} pollers, {sum(GROUPS.values())} consumers, seed {seed}, {outcome.seconds:.0f} s")
    for name, value in rows.items():
        print(f"  {name:40s} {value}")


if __name__ == "__main__":
    main()
