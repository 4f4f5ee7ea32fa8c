"""The events under way and their options, and the choices between them that make a history.

Choices are replayed, enumerated or drawn at random, and written as a short string.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

if TYPE_CHECKING:
    from .process import Process

EAGERNESS, FAULTS, RARE = 0.6, 0.15, 0.01
"""Shares of draws that keep the default when nothing goes wrong, of faults, and of rare events."""


class Choices:
    """Picks options by ``script`` and takes the default, option 0, where the script is silent.

    ``made`` and ``costs`` record every decision, so that a search can enumerate the alternatives.
    """

    def __init__(self, script: Mapping[int, int] = MappingProxyType({})) -> None:
        self._script = script
        self.made: list[int] = []
        self.widths: list[int] = []

    def pick(self, costs: Sequence[int]) -> int:
        """Return the index of the option to take; ``costs`` has one entry for each option."""
        chosen = self._script.get(len(self.made), 0)
        if chosen >= len(costs):
            raise ValueError(f"decision {len(self.made)} has {len(costs)} options, the history asks for {chosen}")
        self.made.append(chosen)
        self.widths.append(len(costs))
        return chosen

    def flip(self) -> bool:
        """Return whether a rare event happens at one of many similar moments."""
        return self.pick((0, 1)) == 1

    @property
    def sparse(self) -> dict[int, int]:
        """Return the decisions that differ from the default."""
        return {number: chosen for number, chosen in enumerate(self.made) if chosen}


class Drawn(Choices):
    def __init__(self, seed: object) -> None:
        super().__init__()
        self._random = random.Random(f"choices {seed}")

    def pick(self, costs: Sequence[int]) -> int:
        chosen = 0
        if len(costs) > 1:
            draw = self._random.random
            bad = draw() < FAULTS
            several = [number for number, cost in enumerate(costs) if bool(cost) is bad]
            if several and (bad or draw() > EAGERNESS):
                chosen = several[int(draw() * len(several))]
        self.made.append(chosen)
        return chosen

    def flip(self) -> bool:
        happens = self._random.random() < RARE
        self.made.append(int(happens))
        return happens


def encode(name: str, sparse: Mapping[int, int]) -> str:
    """Write a history as its scope and the decisions that differ from the default."""
    return f"{name}:" + ",".join(f"{number}={chosen}" for number, chosen in sorted(sparse.items()))


def decode(history: str) -> tuple[str, dict[int, int]]:
    name, _, text = history.partition(":")
    pairs = (pair.partition("=") for pair in text.split(",") if pair)
    return name, {int(number): int(chosen) for number, _, chosen in pairs}


Fault = tuple[str, str, Callable[[], None]]
"""A fault that a scope may allow: its kind, its label, and its effect."""


class Option(NamedTuple):
    """One way that an event can go. Faults have a ``cost``, which the budget of the history pays."""

    label: str
    cost: int
    act: Callable[[], None]


@attrs.define(eq=False)
class Event:
    """Something under way, for ``process``. It happens at the ``latest`` time unless it is gone before.

    An event that is a ``delivery`` waits for a process that is frozen. A ``lazy`` one may wait at no cost. For
    any other, the first time step that passes over it costs one fault: it is ``slow`` from then on. A ``local`` one
    concerns its process alone. Events of other processes in the same moment can as well come after it, so that only
    one order is played.
    """

    process: Process
    label: str
    options: Callable[[], list[Option]]
    latest: float = math.inf
    delivery: bool = False
    lazy: bool = False
    local: bool = False
    is_gone: Callable[[], bool] | None = None
    slow: bool = False
    mark: int = 0

    def __attrs_post_init__(self) -> None:
        # The first step of a process is as good as local: the process could have started later.
        self.local = self.local or self.process.posted == 1
        self.process.posted += 1
        self.mark = hash((self.process.name, self.process.posted, self.label, self.latest))


def only(label: str, act: Callable[[], None]) -> Callable[[], list[Option]]:
    """Return the options of an event that can go one way, at no cost."""
    option = Option(label, 0, act)
    return lambda: [option]


def settle(future: asyncio.Future[Any], value: Any) -> None:
    """Give the caller its result or its error, unless it has given up."""
    if future.done():
        return
    if isinstance(value, Exception):
        future.set_exception(value)
    else:
        future.set_result(value)
