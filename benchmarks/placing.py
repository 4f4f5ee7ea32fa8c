"""Cost of placing one order: CPU time, journal calls and SQL statements of the ordinary case.

    python -m benchmarks.placing [--against TREE] [--rounds 60] [--orders 25] [--postgres DSN]

The dry-run is accepted and the submit is answered with the order. *Order entry alone* has an executor that answers at
once with models; *through the client* has a transport that answers at once with bytes. With ``--against``, the same is
measured on another source tree, in turns, and ratios are taken within a round. Every tree has a separate process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import report
from .rounds import Result, in_turn, ratios, result

HERE = Path(__file__).parent
THROUGH = ("order entry", "client")
TITLES = {"order entry": "order entry alone", "client": "through the client"}


class Worker:
    """The process that measures one source tree."""

    def __init__(self, tree: Path, folder: str, dsn: str | None) -> None:
        # -P: the folder of the script stays off the path, so that every import comes from the tree.
        command = [sys.executable, "-P", str(HERE / "placing_worker.py"), folder, *([dsn] if dsn else [])]
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *request: object) -> Any:
        """Return the answer of the worker."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        """Let the worker close its journals and end."""
        self._process.communicate(timeout=30)


def measure(workers: Mapping[str, Worker], journals: Sequence[str], rounds: int, orders: int) -> list[Result]:
    """Return the times of every tree, and the ratio of the first to the second one."""
    results = []
    for through in THROUGH:
        for journal in journals:
            taken: dict[str, list[float]] = {name: [] for name in workers}
            for number in range(rounds):
                for name, worker in in_turn(workers, number):
                    taken[name].append(worker.ask("measure", through, journal, orders))
            title = f"{TITLES[through]}, {journal}"
            results += [result(f"{title}: {name}", found, unit="µs") for name, found in taken.items()]
            if len(taken) == 2:
                results.append(result(f"{title}: ratio", ratios(*taken.values())))
    return results


def counts(workers: Mapping[str, Worker], journals: Sequence[str]) -> list[str]:
    """Return lines that say which methods and statements one placement needs."""
    lines = []
    for journal in journals:
        for name, worker in workers.items():
            calls, statements = worker.ask("count", journal)
            named = ", ".join(method if count == 1 else f"{count} {method}" for method, count in calls.items())
            kinds = "; ".join(statements) or "none"
            lines.append(
                f"{journal}: {name}: {sum(calls.values())} journal calls ({named}), "
                f"{len(statements)} statements ({kinds})"
            )
    return lines


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="TREE", help="source tree to compare this one with")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--orders", type=int, default=25, help="orders of a round")
    parser.add_argument("--postgres", metavar="DSN", help="measure PostgresJournal as well, in this database")
    parser.add_argument("--folder", help="where the files of SqliteJournal are, by default where temporary files are")
    options = parser.parse_args()
    trees = {"this tree": HERE.parent}
    if options.against is not None:
        trees[str(options.against)] = options.against.absolute()
    journals = ["MemoryJournal", "SqliteJournal", *(["PostgresJournal"] if options.postgres else [])]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        workers = {name: Worker(tree, folder, options.postgres) for name, tree in trees.items()}
        try:
            print(*counts(workers, journals), sep="\n", flush=True)
            print(*report.lines(measure(workers, journals, options.rounds, options.orders)), sep="\n")
        finally:
            for worker in workers.values():
                worker.stop()


if __name__ == "__main__":
    main()
