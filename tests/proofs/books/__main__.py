"""Command line: ``python -m tests.proofs.books --orders 5000 --seed 1`` trades and compares. See the package."""

import argparse
import time

from .run import trade


def main() -> int:
    """Return the exit code: 0 if all books agree."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.books", description=__doc__)
    parser.add_argument("--orders", type=int, default=5000, help="orders to place, replacements included")
    parser.add_argument("--seed", type=int, action="append", help="seed of a run; may be repeated (default 0)")
    arguments = parser.parse_args()
    differing = 0
    for seed in arguments.seed or [0]:
        started = time.monotonic()
        result = trade(arguments.orders, seed)
        differing += len(result.differences)
        print(f"seed {seed}: {result.orders} orders, {result.fills} fills in {time.monotonic() - started:.0f} s")
        print(*(f"  {count:>6}  {name}" for name, count in sorted(result.counts.items())), sep="\n")
        print(f"  {result.compared} figures compared, {len(result.differences)} differ", flush=True)
        print(*(f"    {line}" for line in result.differences[:20]), sep="\n")
    return int(differing > 0)


if __name__ == "__main__":
    raise SystemExit(main())
