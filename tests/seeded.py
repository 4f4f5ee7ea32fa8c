"""Commands of proofs that play one history for each of many seeds, or a long one of a drawn seed."""

import asyncio
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any


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
    _show(total)
    sys.exit(failed > 0)


def play_drawn(play: Callable[[int], Coroutine[Any, Any, Counter[str]]], held: str) -> None:
    """Play a run of a seed that is drawn and printed, and say what held if it ends without an error."""
    logging.disable(logging.CRITICAL)
    began, seed = time.perf_counter(), random.randrange(10**9)
    print(f"seed {seed}", flush=True)
    tally = asyncio.run(play(seed))
    print(f"{held}, in {time.perf_counter() - began:.0f} s")
    _show(tally)


def _show(tally: Counter[str]) -> None:
    for what, times in sorted(tally.items()):
        print(f"  {times:6d} {what}")
