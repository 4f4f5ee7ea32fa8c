"""Interleaved rounds: whatever troubles the machine troubles all contenders alike, and ratios within a round count."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import attrs

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Result:
    """One measured line: the median, the quartiles around it, the bound that it must not exceed, and the aim."""

    name: str
    value: float
    low: float
    high: float
    bound: float | None = None
    aim: float | None = None
    unit: str = "x"
    note: str = ""

    @property
    def missed(self) -> bool:
        """Whether the bound is exceeded."""
        return self.bound is not None and self.value > self.bound


def result(name: str, values: Sequence[float], **more: Any) -> Result:
    """The line of several measured values."""
    low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return Result(name=name, value=middle, low=low, high=high, **more)


def times(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of every contender in every round, in turns."""
    for contender in contenders.values():
        contender()
    gc.collect()
    gc.freeze()  # Imports of one contender must not be walked through in another's round.
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    try:
        for number in range(rounds):
            for name, contender in in_turn(contenders, number):
                started = time.process_time()
                made = contender()
                taken[name].append(time.process_time() - started)
                del made
    finally:
        gc.unfreeze()
    return taken


def in_turn(contenders: Mapping[str, T], number: int) -> list[tuple[str, T]]:
    """Return the contenders of a round, rotated, so that none always comes after the heaviest."""
    order = list(contenders.items())
    first = number % len(order)
    return order[first:] + order[:first]


def ratios(mine: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Round by round."""
    return [one / other for one, other in zip(mine, theirs, strict=True)]


def means(columns: Sequence[Sequence[float]]) -> list[float]:
    """The geometric mean over several pages, round by round."""
    return [statistics.geometric_mean(row) for row in zip(*columns, strict=True)]
