"""The choices that make a history: replayed, enumerated or drawn at random, and written as a short string."""

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

NOTHING: Mapping[int, int] = MappingProxyType({})

EAGERNESS, FAULTS, RARE = 0.6, 0.15, 0.01
"""Shares of draws that keep the default when nothing goes wrong, of faults, and of rare events."""


class Choices:
    """Picks options by ``script`` and takes the default, option 0, where the script is silent.

    ``made`` and ``costs`` record every decision, so that a search can enumerate the alternatives.
    """

    def __init__(self, script: Mapping[int, int] = NOTHING) -> None:
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
    """Draws options at random."""

    def __init__(self, seed: object) -> None:
        super().__init__()
        self._random = random.Random(f"choices {seed}")

    def pick(self, costs: Sequence[int]) -> int:
        """Return the index of an option drawn at random."""
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
        """Return True rarely."""
        happens = self._random.random() < RARE
        self.made.append(int(happens))
        return happens


def encode(name: str, sparse: Mapping[int, int]) -> str:
    """Write a history as its scope and the decisions that differ from the default."""
    return f"{name}:" + ",".join(f"{number}={chosen}" for number, chosen in sorted(sparse.items()))


def decode(history: str) -> tuple[str, dict[int, int]]:
    """Read what `encode` wrote."""
    name, _, text = history.partition(":")
    pairs = (pair.partition("=") for pair in text.split(",") if pair)
    return name, {int(number): int(chosen) for number, _, chosen in pairs}
