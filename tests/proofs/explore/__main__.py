"""``python -m tests.proofs.explore``: exhausts scopes, draws histories, replays one. See the package."""

import argparse
import concurrent.futures
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from .plants import PLANTS, hunt, planted
from .scopes import EXHAUSTED, Scope
from .search import Report, exhaust, replay, sample

BATCH = 500
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "reports" / "at-most-once-explorer.md"

HEAD = """\
# The explorer of order entry

Written by `python -m tests.proofs.explore --write`. The explorer runs the real order entry, session and token manager
of two and three processes against a scripted service and a shared journal, on virtual time. It decides the next event:
which request is processed, which answer arrives or is lost, which journal statement takes effect, which timer fires,
which process freezes, dies or is cancelled. The books of the service judge every history: at most one order for each
identifier, no order without an entry, no false outcome, no broken promise, no swallowed cancellation. Which
assumptions the histories keep is written in `tests/proofs/explore/__init__.py`.

## Exhausted scopes

Every history of these scopes was played, apart from those that come to a state where another history has been. A fault
costs one of the faults that a history may hold; reordering costs nothing. In `push`, the searches hear up to two events
of the account stream, in `push-recover` one: at any moment at which time would pass, at no cost.

In `-adversary`, closes are listed as openings, older orders with the terms of ours still work, live lists have pages,
and orders are rejected at routing, answered with 406, listed late, or answered with another order. In `-unechoed`, no
order shows its external identifier, either.

In the scopes that cancel or replace, the exchange acts at any moment and at no cost: it takes the order live, fills it
in part or whole, confirms a request, and shows the fills of a second leg late. In `held`, a submit may be processed
long after the visibility delay.

| Scope | Processes | Faults in one history | Kinds of faults | Histories | Violations |
| --- | --- | --- | --- | --- | --- |
"""

MIDDLE = """
## Defects found

Each of these takes one protection out of the library. It is hunted in one scope, with those kinds of faults only that
it needs (`tests/proofs/explore/plants.py`); the last column is the number of the first history that shows it.

| Defect | Scope | Violation | Found after |
| --- | --- | --- | --- |
"""

NOTES = {"dies": "dies", "unheard": "dies, submit vanishes", "barred": "may not read"}
"""Peculiarities of programs."""


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
        write()
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


def write() -> None:
    """Write the page in docs/ from the results of the searches."""
    with concurrent.futures.ProcessPoolExecutor() as pool:
        reports = list(pool.map(exhaust, EXHAUSTED.values()))
    text = HEAD + "".join(map(scope_row, EXHAUSTED.values(), reports))
    violated = sum(len(report.found) for report in reports)
    text += f"| all | | | | {sum(report.histories for report in reports):,} | {violated} |\n"
    PAGE.write_text(text + MIDDLE + "".join(map(plant_row, PLANTS)), "utf-8")


def scope_row(scope: Scope, report: Report) -> str:
    processes = []
    for program in scope.programs:
        notes = ", ".join(words for name, words in NOTES.items() if getattr(program, name))
        processes.append(", ".join(map(str, program.steps)) + (f" ({notes})" if notes else ""))
    return (
        f"| {scope.name} | {'; '.join(processes)} | {scope.faults} | {len(scope.kinds) if scope.faults else 0} "
        f"| {report.histories:,} | {len(report.found)} |\n"
    )


def plant_row(name: str) -> str:
    found, plant = hunt(name), PLANTS[name]
    shown = "NOT FOUND" if found is None else found.violations[0].partition(":")[0]
    count = "" if found is None else f"{found.number:,}"
    return f"| {plant.text} | {plant.scope} | {shown} | {count} |\n"


if __name__ == "__main__":
    sys.exit(main())
