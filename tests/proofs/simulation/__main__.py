"""Command line: ``python -m tests.proofs.simulation`` runs seeds on all cores. See the package."""

import argparse
import concurrent.futures
import functools
import os
import sys
import time

from .bugs import BUGS
from .chaos import HOUR, MIN_LENGTH
from .run import simulate
from .stages import IN_MEMORY, OVER_HTTP


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="number of seeds to run (default 100)")
    parser.add_argument("--first", type=int, default=0, help="first seed (default 0)")
    parser.add_argument("--seed", type=int, help="run only this seed")
    parser.add_argument("--history", action="store_true", help="print its history")
    parser.add_argument("--bug", choices=sorted(BUGS), help="plant this bug")
    parser.add_argument("--http", action="store_true", help="over real HTTP, on a quick clock")
    parser.add_argument("--minutes", type=float, help="length of a run (default 60, with --http 10; at least 10)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    arguments = parser.parse_args()
    stage = OVER_HTTP if arguments.http else IN_MEMORY
    length = 60 * arguments.minutes if arguments.minutes else MIN_LENGTH if arguments.http else HOUR
    if length < MIN_LENGTH:
        parser.error(f"a run takes at least {MIN_LENGTH / 60:g} minutes")
    if arguments.seed is not None:
        result = simulate(arguments.seed, arguments.bug, stage=stage, length=length)
        print("\n".join(result.history if arguments.history else result.history[-1:]))
        print(f"seed {result.seed}: {result.calls} calls, history {result.digest}, {len(result.violations)} violations")
        for violation in result.violations[:20]:
            print(f"  {violation}")
        return bool(result.violations)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    play = functools.partial(simulate, bug=arguments.bug, stage=stage, length=length)
    started, calls, failed = time.perf_counter(), 0, 0
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(play, seeds):
            calls += result.calls
            if result.violations:
                failed += 1
                options = f"{stage.option}--minutes {length / 60:g} --seed {result.seed} --history"
                print(f"seed {result.seed}: {result.violations[0]}\n  replay: {parser.prog} {options}")
    seconds = time.perf_counter() - started
    print(f"{len(seeds)} seeds, {calls} calls, {failed} seeds with violations, {seconds:.1f} s")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
