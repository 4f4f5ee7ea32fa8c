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

from brokerage_async.fleet import Fleet
from tests.fleet.crowd import as_table
from tests.fleet.engines import EngineServer, engine_server
from tests.fleet.feed_workers import LEASE, consume, fact_of, feed_of, publish
from tests.fleet.watched_list import Things
from tests.processes import Crowd, crowd, preload

preload("tests.fleet.feed_workers", "redis.asyncio")

POLLERS = 3
GROUPS = {"one": 3, "two": 3, "three": 2, "four": 2}
ITEMS = 200


class Listing:
    """The list at the brokerage, in a file. Items come, change and go."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self._path, self._chance = path, chance
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


async def kill_at_random(
    people: Crowd, work: list[tuple[Any, ...]], server: EngineServer, chance: random.Random, tally: Counter[str]
) -> None:
    """Start a process for each piece of work, then kill and replace one after another, and the engine."""
    running = [people.start(*each) for each in work]
    while True:
        await asyncio.sleep(chance.uniform(0.2, 1.2))
        what = chance.choices([publish, consume, None], [4, 5, 2])[0]
        tally[f"killed: {'engine' if what is None else what.__name__}"] += 1
        if what is None:
            server.kill()
            await asyncio.sleep(chance.uniform(0, 1.0))
            await asyncio.to_thread(server.start)
        else:
            number = chance.choice([number for number, (does, *_) in enumerate(work) if does is what])
            assert running[number] not in people.ended, f"{work[number]} ended by itself"
            await people.end(running[number])
            await asyncio.sleep(chance.uniform(0, 0.5))
            running[number] = people.start(*work[number])


async def published(feed: Things) -> tuple[int, int]:
    status = await feed.status()
    if status.published is None:
        return 0, sys.maxsize
    return status.published, max(status.lag.get(group, status.published) for group in GROUPS)


async def settle(feed: Things, seconds: float) -> None:
    """Wait until nothing is published any more and every group has handled everything."""
    last, since = -1, time.monotonic()
    async with asyncio.timeout(seconds):
        while True:
            sequence, lag = await published(feed)
            if sequence != last or lag:
                last, since = sequence, time.monotonic()
            elif time.monotonic() - since > 2 * LEASE:
                return
            await asyncio.sleep(0.1)


async def run(changes: int, seed: int) -> Counter[str]:
    chance, tally = random.Random(seed), Counter[str]()
    with engine_server(append_only=True) as server, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list.json"
        listing, work = Listing(path, chance), list[tuple[Any, ...]]([(publish, server.url, path)] * POLLERS)
        work += [(consume, server.url, group) for group, count in GROUPS.items() for _ in range(count)]
        async with crowd() as people, Fleet(server.url) as fleet:
            feed, killing = feed_of(fleet), asyncio.create_task(kill_at_random(people, work, server, chance, tally))
            try:
                while (await published(feed))[0] < changes:
                    assert not killing.done(), killing.result()
                    listing.step()
                    await asyncio.sleep(0.05)
            finally:
                killing.cancel()
                await asyncio.wait({killing})
            server.stop()
            await asyncio.to_thread(server.start)
            await settle(feed, 300)
            truth = await everything(feed)
    check(truth, listing.rows, people, tally)
    return tally


async def everything(feed: Things) -> list[dict[str, Any]]:
    await asyncio.sleep(1)  # the breaker of the connection
    total = (await published(feed))[0]
    async with feed.read(start="beginning") as reader:
        return [fact_of(await anext(reader)) for _ in range(total)]


def check(truth: list[dict[str, Any]], rows: dict[str, int], people: Crowd, tally: Counter[str]) -> None:
    """Compare the published changes with the list, and the reports of groups and pollers with both."""
    last: dict[str, Any] = {}
    for fact in truth:
        assert last.get(fact["key"]) == fact["before"], f"a change is missing before {fact}"
        last[fact["key"]] = fact["after"]
    assert {key: item["n"] for key, item in last.items() if item is not None} == rows
    position = {fact["id"]: number for number, fact in enumerate(truth)}
    assert len(position) == len(truth), "two changes with one idempotency key"
    tally["changes, each seen by every group"] = len(truth)
    for group in GROUPS:
        facts = sorted((fact for _, fact in people.of(group)), key=lambda fact: float(fact["time"]))
        tally["handled again after a crash"] += check_group(facts, truth, position) - len(truth)
    check_polls(people, tally)


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


def check_polls(people: Crowd, tally: Counter[str]) -> None:
    """Check that the polls of one lease end before the next lease starts to poll."""
    spans: dict[str, list[float]] = defaultdict(list)
    for kind in ("poll", "polled"):
        for _, (turn, moment) in people.of(kind):
            spans[turn].append(moment)
    for (_, end), (begin, _) in itertools.pairwise(sorted((min(times), max(times)) for times in spans.values())):
        assert end < begin, "two pollers at a time"
    tally["pollers elected, one at a time"] = len(spans)
    tally["polls"] = len(people.of("poll"))


def main() -> None:
    changes = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int.from_bytes(os.urandom(4), "big")
    began = time.monotonic()
    tally = asyncio.run(run(changes, seed))
    print(f"{POLLERS} pollers, {sum(GROUPS.values())} consumers, seed {seed}, {time.monotonic() - began:.0f} s")
    print(as_table(tally))


if __name__ == "__main__":
    main()
