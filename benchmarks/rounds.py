"""Interleaved rounds: whatever troubles the machine troubles all contenders alike, and ratios within a round count."""

import argparse
import asyncio
import gc
import inspect
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import attrs

Contender = Callable[[], Any]
"""A function or coroutine function that is measured, or that returns what it has measured itself."""


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

    @property
    def shown(self) -> str:
        """The value with its unit."""
        return f"{self.value:.1f} {self.unit}" if self.unit != "x" else f"{self.value:.3f}"

    @property
    def line(self) -> str:
        """The line on a terminal."""
        parts = [f"{self.name:66} {self.shown:>9}  [{self.low:.3g} .. {self.high:.3g}]"]
        parts += [
            f"{name} {value:g}" for name, value in (("bound", self.bound), ("aim", self.aim)) if value is not None
        ]
        return "  ".join([*parts, *["MISSED"] * self.missed, *[f"({self.note})"] * bool(self.note)])


def result(name: str, values: Sequence[float], **more: Any) -> Result:
    """Return the line of several measured values."""
    low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return Result(name=name, value=middle, low=low, high=high, **more)


def times(contenders: Mapping[str, Contender], rounds: int, *, warm_up: int = 1) -> dict[str, list[float]]:
    """Return the CPU seconds of every contender in every round, in turns."""
    return asyncio.run(turns(contenders, rounds, warm_up=warm_up))


async def turns(
    contenders: Mapping[str, Contender],
    rounds: int,
    *,
    clock: Callable[[], float] = time.process_time,
    warm_up: int = 1,
) -> dict[str, list[float]]:
    """Return the seconds of every contender in every round, in turns, after some rounds to warm up.

    The turns rotate, so that none always comes after the heaviest.
    """
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    order = deque(contenders.items())
    for number in range(-warm_up, rounds):
        if number == 0:
            gc.collect()
            gc.freeze()  # Imports of one contender must not be walked through in another's round.
        for name, contender in order:
            started = clock()
            made = contender()
            if inspect.isawaitable(made):
                made = await made
            seconds = clock() - started
            taken[name].append(made if isinstance(made, float) else seconds)
            del made
        order.rotate(-1)
    gc.unfreeze()
    return {name: found[warm_up:] for name, found in taken.items()}


def ratios(mine: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return the ratios, round by round."""
    return [one / other for one, other in zip(mine, theirs, strict=True)]


def means(columns: Sequence[Sequence[float]]) -> list[float]:
    """Return the geometric means over several pages, round by round."""
    return [statistics.geometric_mean(row) for row in zip(*columns, strict=True)]


def command(measure: Callable[..., Iterable[Result]], *, held_from: tuple[int, int] = (3, 11)) -> NoReturn:
    """Run ``measure`` as a command: its parameters are the options, each result is printed at once.

    With ``--check`` it exits 1 when a bound is missed, from the Python version on that the bounds were set for.
    """
    module = inspect.getmodule(measure)
    parser = argparse.ArgumentParser(
        description=module and module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a bound is missed")
    for name, parameter in inspect.signature(measure).parameters.items():
        option, default = f"--{name.replace('_', '-')}", parameter.default
        if isinstance(default, bool):
            parser.add_argument(option, action="store_true")
        elif isinstance(default, tuple):
            parser.add_argument(option, choices=default, nargs="+", action="extend")
        else:
            parser.add_argument(option, type=type(default), help=f"by default {default}")
    options = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    checks, missed = options.pop("check"), []
    for each in measure(**options):
        print(each.line, flush=True)
        if each.missed:
            missed.append(each.name.strip())
    if checks and missed:
        print(f"missed: {'; '.join(missed)}", file=sys.stderr)
    sys.exit(bool(checks and missed and sys.version_info >= held_from))
