"""Events under way and their options, the faults among them at a price."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .process import Process

FOREVER = float("inf")

Fault = tuple[str, str, Callable[[], None]]
"""A fault that a scope may allow: its kind, its label, and what it does."""


class Option(NamedTuple):
    """One way that an event can go. Faults have a ``cost``, which the budget of the history pays."""

    label: str
    cost: int
    act: Callable[[], None]


class Event:
    """Something under way, for ``process``. It happens at the ``latest`` time unless it is gone before.

    An event that is a ``delivery`` waits for a process that is frozen. A ``lazy`` one may wait at no cost. For
    any other, the first time step that passes over it costs one fault: it is ``slow`` from then on. A ``local`` one
    concerns its process alone. Events of other processes in the same moment can as well come after it, so that only
    one order is played.
    """

    __slots__ = ("delivery", "is_gone", "label", "latest", "lazy", "local", "mark", "options", "process", "slow")

    def __init__(
        self,
        process: Process,
        label: str,
        options: Callable[[], list[Option]],
        *,
        latest: float = FOREVER,
        delivery: bool = False,
        lazy: bool = False,
        local: bool = False,
        is_gone: Callable[[], bool] | None = None,
    ) -> None:
        self.process, self.label, self.options, self.latest = process, label, options, latest
        self.delivery, self.lazy, self.is_gone, self.slow = delivery, lazy, is_gone, False
        # The first step of a process is as good as local: the process could have started later.
        self.local = local or process.posted == 1
        process.posted += 1
        self.mark = hash((process.name, process.posted, label, latest))


def only(label: str, act: Callable[[], None]) -> Callable[[], list[Option]]:
    """Return the options of an event that can go one way, at no cost."""
    option = Option(label, 0, act)
    return lambda: [option]
