"""Defects to plant: each takes one protection out again. An explorer that does not find them proves nothing.

Each is a small change of the library while it lasts, with the scope in which it is hunted and the number of histories
within which it must be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import attrs

from . import internals
from .scopes import EXHAUSTED, Scope
from .search import Found, exhaust

__all__ = ["PLANTS", "Plant", "hunt", "planted"]

Patches = list[Any]


@attrs.frozen
class Plant:
    """A defect, where it is hunted, and by which history at the latest it is found."""

    name: str
    text: str
    scope: str
    within: int
    patches: Callable[[], Patches]
    kinds: frozenset[str] | None = None

    @property
    def hunted_in(self) -> Scope:
        """The scope, with those kinds of faults only that the plant names."""
        scope = EXHAUSTED[self.scope]
        return scope if self.kinds is None else attrs.evolve(scope, kinds=self.kinds)


PLANTS: dict[str, Plant] = {}


def plant(scope: str, within: int, *kinds: str) -> Callable[[Callable[[], Patches]], Callable[[], Patches]]:
    """List a defect under the name of its function, described by its docstring; ``kinds`` of faults are enough."""

    def listed(function: Callable[[], Patches]) -> Callable[[], Patches]:
        name = function.__name__
        PLANTS[name] = Plant(name, (function.__doc__ or "").strip(), scope, within, function, frozenset(kinds) or None)
        return function

    return listed


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """The library with that defect, or as it is."""
    patches = PLANTS[name].patches() if name is not None else []
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in reversed(patches):
            one.stop()


def hunt(name: str) -> Found | None:
    """Play the scope of a plant until a history shows it; None when none does in time."""
    with planted(name):
        found = exhaust(PLANTS[name].hunted_in, stop=lambda _: True, limit=PLANTS[name].within).found
    return found[0] if found else None


@plant("one-place", 500)
def server_error_taken_for_refusal() -> Patches:
    """A 5xx answer counts as a refusal."""
    return [patch.object(internals.submit, "fate_of", internals.trusting)]


@plant("one-place", 500)
def resubmitted_without_looking() -> Patches:
    """An order of unknown outcome is sent again before anybody has looked for it."""
    return [patch.object(internals.submit, "decide", internals.hasty)]


@plant("claims", 1500, "freeze", "vanished")
def resubmitted_without_claim() -> Patches:
    """The claim is not checked before an order is sent again."""

    async def hold_again(self: Any) -> bool:
        self.attempts += 1
        return True

    return [patch.object(internals.submit.Placing, "_hold_again", hold_again)]


@plant("one-place", 500)
def lost_answer_repeated() -> Patches:
    """The session repeats a submit whose answer was lost."""
    return [internals.table_with("LOST")]
