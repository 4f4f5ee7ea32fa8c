"""``python -m tests.mutation``: tries a sample of mutants, and writes the page. See the package."""

import argparse
import dataclasses
import importlib.metadata
import json
import multiprocessing
import os
import random
import sys
from pathlib import Path

from .mutants import Mutant, SourceFile
from .page import MIN_SHARE, PAGE, is_caught, load, page, reasons, share, verdict
from .session import MAX_SECONDS, SURVIVED, Reach, record, try_in_turn

ROOMS = ("auth", "journal", "order_entry", "protocol")
FOLDERS = [f"brokerage_async/{room}" for room in ROOMS]
TESTS = [
    *(f"tests/{room}" for room in ROOMS),
    "tests/scenarios/test_complex_order_entry.py",
    "tests/scenarios/test_order_entry_faults.py",
]
#: Its tests need a server, which a fork that ends at the first failure would leave behind.
LEFT_OUT = {"brokerage_async/journal/postgres.py"}


def main() -> int:
    """Return the exit code: 0 when enough of the sample is caught."""
    arguments = parse()
    arguments.folder.mkdir(exist_ok=True)
    reached, results = arguments.folder / "reach.json", arguments.folder / "results.jsonl"
    if not arguments.resume:
        reached.unlink(missing_ok=True)
        results.unlink(missing_ok=True)
    if not reached.exists():
        record(TESTS, FOLDERS, reached)
    paths = {str(path) for folder in FOLDERS for path in Path(folder).rglob("*.py")} - LEFT_OUT
    files = {path: SourceFile(path) for path in sorted(paths)}
    mutants = {path: list(file.mutants()) for path, file in files.items()}
    sample = draw(mutants, arguments.mutants, arguments.seed)
    sample = [each for each in sample if each.path.startswith(arguments.only)]
    known, _ = load(results)
    left = [each for each in sample if not is_caught(known.get(each.key, ""))]
    if left:
        in_parallel(arguments.jobs, left, Reach(reached), files, results)
    known, survived = load(results)
    if arguments.page:
        facts = {"total": sum(map(len, mutants.values())), "seed": arguments.seed, "seconds": MAX_SECONDS}
        version = importlib.metadata.version("mutmut")
        PAGE.write_text(page(sample, known, survived, version=version, **facts), "utf-8")
    for each in sample:
        if verdict(known[each.key]) == SURVIVED and each.key not in reasons():
            print(f"survived: {each.name} {each.function}: {each.before} -> {each.after}")
    caught = share(sample, known)
    print(f"{caught:.1%} of {len(sample)} mutants are caught")
    return 0 if caught >= MIN_SHARE else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--mutants", type=int, default=720, help="size of the sample (default 720)")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--only", default="", help="only the mutants of paths that begin so")
    parser.add_argument("--resume", action="store_true", help="keep the record, and every mutant caught before")
    parser.add_argument("--folder", type=Path, default=Path(".mutation"), help="for the record and the results")
    parser.add_argument("--page", action="store_true", help="write the page of the results in docs/design")
    return parser.parse_args()


def in_parallel(jobs: int, mutants: list[Mutant], reach: Reach, files: dict[str, SourceFile], results: Path) -> None:
    """Try mutants in forks of this process, which has imported nothing of the package. Add them to ``results``."""

    def work(share: list[Mutant]) -> None:
        with results.open("a", encoding="utf-8") as lines:

            def done(mutant: Mutant, answer: str, used: float) -> None:
                said = dataclasses.asdict(mutant) | {"answer": answer, "seconds": round(used, 2)}
                lines.write(json.dumps(said) + "\n")
                lines.flush()

            try_in_turn(share, reach, files, done)

    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=work, args=(mutants[first::jobs],)) for first in range(jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def draw(mutants: dict[str, list[Mutant]], count: int, seed: int) -> list[Mutant]:
    """Return a sample with a proportional share of each file, in the order of the files."""
    total = sum(map(len, mutants.values()))
    chosen: list[Mutant] = []
    for path, some in mutants.items():
        size = min(len(some), max(1, round(count * len(some) / total)))
        drawn = random.Random(f"{seed} {path}").sample(some, size)
        chosen += sorted(drawn, key=lambda mutant: mutant.number)
    return chosen


if __name__ == "__main__":
    sys.exit(main())
