"""State of one consumer of a feed: the items it has seen, and the changes that lead to the latest ones."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Generic, TypeVar

from .._arguments import check_function
from .diff import Change, diff
from .feed import Feed

__all__ = ["Cursor", "Derive"]

T = TypeVar("T")
Derive = Callable[[Change[T]], Iterable[Change[T]]]
"""Turns a change into those to report, several or none."""

logger: logging.Logger = logging.getLogger("brokerage_async.watch")


class Cursor(Generic[T]):
    """Position of one consumer within a feed. It holds no queue: it compares the latest state with the last one seen.

    Args:
        feed: the polling loop.
        initial: whether all items of the first state are reported as added.
        seed: the state known before, which the first state is compared with.
        on_error: called with every transient failure. Default: a logged warning.
        derive: turns each change into those to report.
        keep: decides whether the last state of an item is reported before its removal, even to a slow consumer.

    Attributes:
        feed: the polling loop.
        error: exception that ``on_error`` raised, which ends the iteration.
    """

    def __init__(
        self,
        feed: Feed[T],
        *,
        initial: bool = True,
        seed: Mapping[Any, T] | None = None,
        on_error: Callable[[Exception], None] | None = None,
        derive: Derive[T] | None = None,
        keep: Callable[[T], bool] | None = None,
    ) -> None:
        if on_error is not None:
            check_function("on_error", on_error)
        self.feed = feed
        self.error: Exception | None = None
        self._on_error = on_error
        self._derive = derive
        self._keep = keep
        self._seen: Mapping[Any, T] | None = seed if seed is not None else ({} if initial else None)
        self._target: Mapping[Any, T] | None = None
        self._base: Mapping[Any, T] = {}
        self._pending: Iterator[Change[T]] = iter(())
        self._ready: deque[Change[T]] = deque()
        self._kept: dict[Any, T] = {}
        feed.attach(self)

    @property
    def snapshot(self) -> dict[Any, T]:
        """The items by key after all changes taken so far."""
        return dict(self._seen or {})

    @property
    def ended(self) -> bool:
        """True once no change can follow those that are due."""
        return self.error is not None or self.feed.ended

    def check(self) -> None:
        """Raise the error that ended the polling, if any."""
        if self.error is not None:
            raise self.error
        self.feed.check()

    def on_removed(self, removed: Mapping[Any, T]) -> None:
        """Keep the last state of removed items that satisfy ``keep``.

        They are reported in that state before they are reported as removed, even to a slow consumer.
        """
        if self._keep is not None and self._seen is not None:
            self._kept |= {k: item for k, item in removed.items() if self._keep(item) and self._seen.get(k) != item}

    def on_failure(self, error: Exception) -> None:
        """Report a failed poll that will be repeated."""
        if self._on_error is None:
            operation, status = getattr(error, "operation", None), getattr(error, "status", None)
            logger.warning("poll failed and will be repeated: %s %s %s", type(error).__name__, operation, status)
            return
        try:
            self._on_error(error)
        except Exception as raised:  # a callback ends the iteration by raising
            self.error = raised
            self.feed.announce()

    def take(self) -> Change[T] | None:
        """Return the next change that is due, if any."""
        latest = self.feed.latest
        if latest is not None and latest is not self._target and not self._ready:
            self._turn_to(latest)
        while not self._ready:
            if (change := next(self._pending, None)) is None:
                self._seen = self._seen if self._target is None else self._target
                return None
            self._record(change)
            self._ready.extend((change,) if self._derive is None else self._derive(change))
        return self._ready.popleft()

    def _turn_to(self, latest: Mapping[Any, T]) -> None:
        """Replace the pending changes by those that lead to ``latest``."""
        base = whole = latest if self._seen is None else self._seen
        at = self.feed.at
        if kept := {name: item for name, item in self._kept.items() if name not in latest}:
            whole = {**base, **kept}
        self._pending = chain(diff(base, whole, at) if kept else (), diff(whole, latest, at))
        self._kept.clear()
        self._target, self._seen, self._base = latest, base, base

    def _record(self, change: Change[T]) -> None:
        """Apply a reported change to the state last seen."""
        seen = dict(self._base) if self._seen is self._base else self._seen
        assert isinstance(seen, dict)
        if change.after is None:
            del seen[change.key]
        else:
            seen[change.key] = change.after
        self._seen = seen
