"""``python -m benchmarks``: measure everything, write RESULTS.md and its picture.

python -m benchmarks             all rounds. Writes the report
python -m benchmarks --quick     fewer rounds. Prints only
python -m benchmarks --check     as asked for, and exit 1 when a bound is missed
"""

from collections.abc import Iterator, Sequence

from . import adapting, calls, decoding, isolated, report
from .rounds import Result, command

MEASURES = {
    "decoding": decoding.measure,
    "adapting": adapting.measure,
    "isolated": isolated.measure,
    "paging": calls.paging,
    "overhead": calls.overhead,
    "polling": calls.polling,
}


def measure(quick: bool = False, rounds: int = 21, only: Sequence[str] = tuple(MEASURES)) -> Iterator[Result]:
    """Measure every part; ``quick`` takes 5 rounds and writes nothing."""
    results = []
    for name in MEASURES:
        if name in only:
            found = MEASURES[name](5 if quick else rounds)
            results += found
            yield from found
    if not quick and len(results) and set(only) == MEASURES.keys():
        report.save(results)


if __name__ == "__main__":
    command(measure, held_from=(3, 13))  # older interpreters are reported, not held to the bounds
