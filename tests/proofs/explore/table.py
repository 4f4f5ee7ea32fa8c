"""The page ``docs/reference/reports/at-most-once-explorer.md``, written from the results of the searches."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from .plants import PLANTS, hunt
from .scopes import EXHAUSTED, Scope
from .search import Report, exhaust

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


def write() -> None:
    with ProcessPoolExecutor() as pool:
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
