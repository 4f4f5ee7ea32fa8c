"""Command of a proof that plays one history for each of many seeds."""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable


def play_seeds(play: Callable[[int], Counter[str]]) -> None:
    """Play the seeds of the command line (``COUNT FIRST``, by default 1000 and 0), and exit with 1 if one failed."""
    count, first = (int(given) for given in (*sys.argv[1:], *("1000", "0")[len(sys.argv) - 1 :]))
    logging.disable(logging.CRITICAL)
    began, total, failed = time.perf_counter(), Counter[str](), 0
    for seed in range(first, first + count):
        try:
            total += play(seed)
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {error!r}", flush=True)
    print(f"{count} seeds in {time.perf_counter() - began:.0f} s, {failed} failed")
    for what, times in sorted(total.items()):
        print(f"  {times:6d} {what}")
    sys.exit(failed > 0)
