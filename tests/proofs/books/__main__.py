"""Command line: ``python -m tests.proofs.books --orders 5000 --seed 1`` trades and compares. See the package."""

import argparse
import time

from .run import Result, trade

SHOWN = 20


def main() -> int:
    """Return the exit code: 0 if all books agree."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.books", description=__doc__)
    parser.add_argument("--orders", type=int, default=5000, help="orders to place, replacements included")
    parser.add_argument("--seed", type=int, action="append", help="seed of a run; may be repeated (default 0)")
    arguments = parser.parse_args()
    results = [_run(arguments.orders, seed) for seed in arguments.seed or [0]]
    return int(any(result.differences for result in results))


def _run(orders: int, seed: int) -> Result:
    started = time.monotonic()
    result = trade(orders, seed)
    taken = time.monotonic() - started
    print(f"seed {seed}: {result.orders} orders, {result.fills} fills in {taken:.0f} s")
    for name, count in sorted(result.counts.items()):
        print(f"  {count:>6}  {name}")
    print(f"  {result.compared} figures compared, {len(result.differences)} differ", flush=True)
    print(*(f"    {line}" for line in result.differences[:SHOWN]), sep="\n")
    return result


if __name__ == "__main__":
    raise SystemExit(main())
