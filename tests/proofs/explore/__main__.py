"""``python -m tests.proofs.explore``: exhausts scopes, draws histories, replays one. See the package."""

import argparse
import concurrent.futures
import os
import sys
import time
from collections.abc import Iterable

from . import table
from .plants import PLANTS, planted
from .scopes import EXHAUSTED, Scope
from .search import Report, exhaust, replay, sample

BATCH = 500


def main() -> int:
    """Return the exit code: 0 when no history violated anything."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.explore", description=__doc__)
    parser.add_argument("--exhaust", action="store_true", help="play every history of the small scopes")
    parser.add_argument("--scope", action="append", choices=sorted(EXHAUSTED), help="only of this one (repeatable)")
    parser.add_argument("--histories", type=int, default=0, help="draw so many histories of larger scopes")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--replay", metavar="HISTORY", help="play one history again and print its steps")
    parser.add_argument("--plant", choices=sorted(PLANTS), help="reintroduce this defect")
    parser.add_argument("--write", action="store_true", help="exhaust, hunt every plant, and write the page in docs/")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    arguments = parser.parse_args()
    if arguments.write:
        table.write()
        return 0
    if arguments.replay:
        return show(arguments.replay, arguments.plant)
    tasks: list[Scope | range] = []
    if arguments.exhaust or arguments.scope or not arguments.histories:
        tasks += [EXHAUSTED[name] for name in arguments.scope or EXHAUSTED]
    last = arguments.seed + arguments.histories
    tasks += [range(first, min(first + BATCH, last)) for first in range(arguments.seed, last, BATCH)]
    return search(tasks, arguments.jobs, arguments.plant)


def play(task: Scope | range, plant: str | None) -> Report:
    """Play every history of a scope, or one for each of some seeds."""
    with planted(plant):
        return sample(task) if isinstance(task, range) else exhaust(task)


def show(history: str, plant: str | None) -> int:
    with planted(plant):
        found = replay(history)
    print("\n".join(found.trace))
    for violation in found.violations:
        print(f"VIOLATED  {violation}")
    return bool(found.violations)


def search(tasks: Iterable[Scope | range], jobs: int, plant: str | None) -> int:
    """Run the tasks on ``jobs`` processes and print their findings."""
    began, total, option = time.perf_counter(), Report(), f"--plant {plant} " if plant else ""
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(play, task, plant) for task in tasks]):
            report = future.result()
            total.histories += report.histories
            total.seconds += report.seconds
            total.found += report.found
            if report.name:
                print(f"{report.name}: {report.line}", flush=True)
            for found in report.found[:3]:
                print(f"  {found.violations[0]}")
                print(f"    replay: python -m tests.proofs.explore {option}--replay {found.history}", flush=True)
    print(f"{total.line}; {time.perf_counter() - began:.0f} s on {jobs} processes")
    return bool(total.found)


if __name__ == "__main__":
    sys.exit(main())
