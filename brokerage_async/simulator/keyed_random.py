"""Randomness that is a function: every draw depends on the seed and on what it is for, never on the order of calls.

So the delay before order 7 is routed is the same whether or not order 6 was ever looked at, and one seed is one
history however the requests interleave.
"""

from __future__ import annotations

import zlib
from functools import lru_cache

__all__ = ["Chance", "key_of"]

_MASK = (1 << 64) - 1


@lru_cache(maxsize=65536)
def key_of(text: str) -> int:
    """A stable number for ``text``, to be used as a key of a draw."""
    return zlib.crc32(text.encode())


def _mix(value: int) -> int:
    """The finaliser of splitmix64: every bit of the result depends on every bit of ``value``."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


class Chance:
    """Draws that belong to one seed."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = _mix(seed & _MASK)

    def bits(self, *keys: int) -> int:
        """64 bits for ``keys``."""
        state = self._state
        for key in keys:
            state = _mix(state ^ (key & _MASK))
        return state

    def unit(self, *keys: int) -> float:
        """A number in [0, 1) for ``keys``."""
        return (self.bits(*keys) >> 11) / (1 << 53)

    def between(self, low: float, high: float, *keys: int) -> float:
        """A number in [low, high) for ``keys``."""
        return low + (high - low) * self.unit(*keys)

    def below(self, limit: int, *keys: int) -> int:
        """An integer in [0, limit) for ``keys``."""
        return self.bits(*keys) % limit

    def text(self, length: int, *keys: int) -> str:
        """``length`` hexadecimal digits for ``keys``: identifiers and secrets."""
        digits = ""
        while len(digits) < length:
            digits += f"{self.bits(*keys, len(digits)):016x}"
        return digits[:length]
