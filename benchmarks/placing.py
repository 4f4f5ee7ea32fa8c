"""Cost of placing one order: CPU time, journal calls and SQL statements of the ordinary case.

    python -m benchmarks.placing [--against TREE | --guarded] [--rounds 60] [--orders 25] [--postgres DSN]

The dry-run is accepted and the submit is answered with the order, by a transport that has both answers ready. With
``--against``, the same is measured on another source tree, in turns, and ratios are taken within a round. Every tree
has a separate process. With ``--guarded``, this tree with a guard is measured against this tree without one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from .rounds import Result, command, ratios, result, times

HERE = Path(__file__).parent


class Worker:
    """Process that measures one source tree."""

    def __init__(self, tree: Path, folder: str, dsn: str, *, guarded: bool = False) -> None:
        # -P: the folder of the script stays off the path, so that every import comes from the tree.
        command = [sys.executable, "-P", str(HERE / "placing_worker.py"), folder, dsn, *["guarded"] * guarded]
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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


def measure(
    rounds: int = 60,
    orders: int = 25,
    against: str = "",
    postgres: str = "",
    folder: str = "",
    *,
    guarded: bool = False,
) -> Iterator[Result]:
    """Print the counts, then measure the times of every tree, and the ratio of the first to the second one.

    ``postgres`` is the DSN of a database for PostgresJournal, ``folder`` is for the files of SqliteJournal.
    """
    trees = {"this tree": HERE.parent}
    if guarded or against:
        trees["without a guard" if guarded else against] = HERE.parent if guarded else Path(against).absolute()
    journals = ["MemoryJournal", "SqliteJournal", *(["PostgresJournal"] if postgres else [])]
    with tempfile.TemporaryDirectory(dir=folder or None) as files, ExitStack() as stack:
        workers = {
            name: Worker(tree, files, postgres, guarded=guarded and name == "this tree") for name, tree in trees.items()
        }
        for worker in workers.values():
            stack.callback(worker.stop)
        for journal, (name, worker) in product(journals, workers.items()):
            calls, statements = worker.ask("count", journal)
            named = ", ".join(method if count == 1 else f"{count} {method}" for method, count in calls.items())
            print(f"{journal}: {name}: {sum(calls.values())} journal calls ({named}), ", end="")
            print(f"{len(statements)} statements ({'; '.join(statements) or 'none'})", flush=True)
        for journal in journals:
            placing = {name: partial(worker.ask, "measure", journal, orders) for name, worker in workers.items()}
            taken = times(placing, rounds, warm_up=0)
            yield from (
                result(f"through the client, {journal}: {name}", found, unit="µs") for name, found in taken.items()
            )
            if len(taken) > 1:
                yield result(f"through the client, {journal}: ratio", ratios(*taken.values()))


if __name__ == "__main__":
    command(measure)
