"""``python -m tests.mutation``: tries a sample of mutants, and writes the page; see the package."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import multiprocessing
import os
import random
import sys
from pathlib import Path

from .mutant import Mutant
from .mutants import SourceFile
from .page import MIN_SHARE, PAGE, is_caught, load, page, reasons, share, verdict
from .reach import MAX_SECONDS, Reach
from .session import AGAIN, SURVIVED, import_in_turn, record, swap_in_turn

FOLDERS = ["brokerage_async/order_entry", "brokerage_async/protocol"]
TESTS = [
    "tests/order_entry",
    "tests/protocol",
    "tests/scenarios/test_complex_order_entry.py",
    "tests/scenarios/test_order_entry_faults.py",
]


def main() -> int:
    """Return the exit code: 0 when enough of the sample is caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--mutants", type=int, default=640, help="size of the sample (default 640)")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--only", default="", help="only the mutants of paths that begin so; writes no page")
    parser.add_argument("--resume", action="store_true", help="keep the record, and every mutant caught before")
    parser.add_argument("--folder", type=Path, default=Path(".mutation"), help="for the record and the results")
    parser.add_argument("--page", action="store_true", help="write the page of the results in docs/design")
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    reached, results = arguments.folder / "reach.json", arguments.folder / "results.jsonl"
    if not arguments.resume:
        reached.unlink(missing_ok=True)
        results.unlink(missing_ok=True)
    if not reached.exists():
        record(TESTS, FOLDERS, reached)
    paths = sorted(str(path) for folder in FOLDERS for path in Path(folder).rglob("*.py"))
    files = {path: SourceFile(path) for path in paths}
    mutants = {path: list(file.mutants()) for path, file in files.items()}
    sample = draw(mutants, arguments.mutants, arguments.seed)
    known = load(results)
    left = [each for each in sample if each.path.startswith(arguments.only) and not is_caught(known.get(each.key, ""))]
    reach, fork = Reach(reached), multiprocessing.get_context("fork")
    workers = [
        fork.Process(target=try_all, args=(left[first :: arguments.jobs], reach, files, results))
        for first in range(arguments.jobs)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if arguments.only:
        return 0
    known = load(results)
    if arguments.page:
        facts = {"total": sum(map(len, mutants.values())), "seed": arguments.seed, "seconds": MAX_SECONDS}
        PAGE.write_text(page(sample, known, version=importlib.metadata.version("mutmut"), **facts), "utf-8")
    for each in sample:
        if verdict(known[each.key]) == SURVIVED and each.key not in reasons():
            print(f"survived: {each.name} {each.function}: {each.before} -> {each.after}")
    caught = share(sample, known)
    print(f"{caught:.1%} of {len(sample)} mutants are caught")
    return 0 if caught >= MIN_SHARE else 1


def try_all(mutants: list[Mutant], reach: Reach, files: dict[str, SourceFile], results: Path) -> None:
    """Try mutants, and add a line to ``results`` for each."""
    again: list[Mutant] = []
    with results.open("a", encoding="utf-8") as lines:

        def done(mutant: Mutant, answer: str, used: float) -> None:
            unsure = answer == SURVIVED and mutant not in again and reach.runs_at_import(mutant)
            if answer == AGAIN or unsure:
                again.append(mutant)
                return
            said = dataclasses.asdict(mutant) | {"answer": answer, "seconds": round(used, 2)}
            lines.write(json.dumps(said) + "\n")
            lines.flush()

        swap_in_turn(TESTS, [mutant for mutant in mutants if mutant.function], reach, files, done)
        again += [mutant for mutant in mutants if not mutant.function]
        import_in_turn(again, reach, files, done)


def draw(mutants: dict[str, list[Mutant]], count: int, seed: int) -> list[Mutant]:
    """Return a sample in which each file has its share, in the order of the files."""
    total = sum(map(len, mutants.values()))
    chosen: list[Mutant] = []
    for path, some in mutants.items():
        size = min(len(some), max(1, round(count * len(some) / total)))
        drawn = random.Random(f"{seed} {path}").sample(some, size)
        chosen += sorted(drawn, key=lambda mutant: mutant.number)
    return chosen


if __name__ == "__main__":
    sys.exit(main())
