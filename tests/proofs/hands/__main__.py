"""Command line: ``python -m tests.proofs.hands --ladders 500 --sweeps 20`` plays seeds of both. See the package."""

from __future__ import annotations

import argparse
import logging
import time
from collections import Counter

from . import ladders, sweeps

COUNT = 300


def main() -> int:
    """Return the exit code: 0 if everything held."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.hands", description=__doc__)
    parser.add_argument("--ladders", type=int, default=500, help="seeds of worked orders")
    parser.add_argument("--sweeps", type=int, default=20, help=f"seeds of {COUNT} orders that are cancelled at once")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    return int(bool(_ladders(arguments.ladders) + _sweeps(arguments.sweeps)))


def _ladders(seeds: int) -> int:
    began, total, failed = time.monotonic(), Counter[str](), 0
    for seed in range(seeds):
        try:
            total += ladders.run_seed(seed)
        except AssertionError as error:
            failed += 1
            print(error)
    print(f"{seeds} ladders in {time.monotonic() - began:.1f} s, {failed} failed")
    print(*(f"  {count:>6}  {what}" for what, count in sorted(total.items())), sep="\n", flush=True)
    return failed


def _sweeps(seeds: int) -> int:
    failed = 0
    for seed in range(seeds):
        try:
            told, average, most = sweeps.run_seed(seed, COUNT)
        except AssertionError as error:
            failed += 1
            print(error)
            continue
        words = ", ".join(f"{count} {what}" for what, count in sorted(told.items()))
        print(f"sweep {seed}: {words}; {average:.1f} cancels a second, at most {most}", flush=True)
    print(f"{seeds} sweeps of {COUNT} orders, {failed} failed")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
