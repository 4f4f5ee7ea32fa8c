"""``python -m benchmarks``: measure everything, write RESULTS.md and its picture.

python -m benchmarks             all rounds; writes the report
python -m benchmarks --quick     fewer rounds; prints only
python -m benchmarks --check     as asked for, and exit 1 when a bound is missed
"""

from __future__ import annotations

import argparse
import sys

from . import adapting, decoding, isolated, paging, report

MEASURES = {
    "decoding": decoding.measure,
    "adapting": adapting.measure,
    "isolated": isolated.measure,
    "paging": paging.measure,
}


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="What the library costs beside its peers."
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, nothing is written")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bound is missed")
    parser.add_argument("--rounds", type=int, help="rounds of every comparison")
    parser.add_argument("--only", choices=MEASURES, action="append", help="part to measure; repeatable")
    options = parser.parse_args()
    rounds = options.rounds or (5 if options.quick else 21)
    results = []
    for name, measure in MEASURES.items():
        if options.only is None or name in options.only:
            found = measure(rounds)
            print(*report.lines(found), sep="\n", flush=True)
            results += found
    if not options.quick and options.only is None:
        report.save(results)
    missed = [each.name for each in results if each.missed]
    if options.check and missed:
        print(f"missed: {'; '.join(missed)}", file=sys.stderr)
        # Older interpreters are reported, not held to bounds that were set on 3.13.
        return 1 if sys.version_info >= (3, 13) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
