"""Cursor of a watcher with a state: it compares with the items that its consumer has acknowledged."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from .._arguments import running_loop
from .cursor import Cursor, Derive
from .diff import Change, change_of
from .feed import Feed
from .ledger import Ledger

__all__ = ["DurableCursor", "cursor_type"]

T = TypeVar("T")


logger: logging.Logger = logging.getLogger("brokerage_async.watch")

MAX_UNACKNOWLEDGED = 60.0
"""Seconds for which a newer change may be held back before a warning says so, once."""


def cursor_type(
    ledger: Ledger[T] | None, *, part: str = "", owns: Callable[[Any], bool] = lambda _: True
) -> Callable[..., Cursor[T]]:
    """Return the factory of cursors for a watcher with this ledger, or without one."""
    return Cursor if ledger is None else partial(DurableCursor, ledger=ledger, part=part, owns=owns)


class DurableCursor(Cursor[T], Generic[T]):
    """Position of a consumer that acknowledges changes. Other arguments are those of `Cursor`.

    A key whose change is open is held back, and compared again when that change is acknowledged: changes of an item in
    between become one.

    Args:
        ledger: holds the acknowledged items and the open changes.
        part: name of the part of the collection that ``feed`` polls.
        owns: returns True for keys of this part.
    """

    def __init__(
        self,
        feed: Feed[T],
        ledger: Ledger[T],
        *,
        part: str = "",
        owns: Callable[[Any], bool] = lambda _: True,
        initial: bool = True,
        seed: Mapping[Any, T] | None = None,
        on_error: Callable[[Exception], None] | None = None,
        derive: Derive[T] | None = None,
        keep: Callable[[T], bool] | None = None,
    ) -> None:
        super().__init__(feed, initial=initial, seed=seed, on_error=on_error, derive=derive, keep=keep)
        self._ledger = ledger
        self._part = part
        self._owns = owns
        self._scan: Iterator[Any] = iter(())
        self._held: dict[Any, None] = {}
        self._held_since: dict[Any, float] = {}
        self._is_warned = False
        self._freed: deque[Any] = deque()
        self._acknowledged = 0

    @property
    def snapshot(self) -> dict[Any, T]:
        """The items by key after all changes taken so far, acknowledged or not."""
        return {key: item for key, item in self._ledger.latest_positions().items() if self._owns(key)}

    def on_removed(self, removed: Mapping[Any, T]) -> None:
        """Keep the last state of removed items that satisfy ``keep``, to be reported before their removal."""
        if self._keep is not None:
            known = self._ledger.positions
            self._kept |= {k: item for k, item in removed.items() if self._keep(item) and known.get(k) != item}

    def take(self) -> Change[T] | None:
        """Return the next change that is due, if any."""
        latest = self.feed.latest
        if latest is None:
            return None
        if latest is not self._target:
            self._turn_to(latest)
        while not self._ready and (key := self._next_key()) is not None:
            self._compare(key, latest)
        return self._ready.popleft() if self._ready else None

    def _turn_to(self, latest: Mapping[Any, T]) -> None:
        """Compare all items with ``latest``; the first time of all, note where the consumer begins."""
        if self._part not in self._ledger.begun:
            self._ledger.begin(self._part, latest if self._seen is None else self._seen)
        known = self._ledger.keys() | dict.fromkeys(self._kept)
        self._scan = iter([*latest, *(key for key in known if key not in latest and self._owns(key))])
        self._target = latest
        self._held.clear()
        self._freed.clear()

    def _next_key(self) -> Any:
        """Return the next key to compare: first those whose change was acknowledged."""
        if self._acknowledged != self._ledger.acknowledged:
            self._acknowledged = self._ledger.acknowledged
            freed = [key for key in self._held if not self._ledger.holds(key)]
            self._held = dict.fromkeys(key for key in self._held if self._ledger.holds(key))
            self._freed.extend(freed)
            self._held_since = {key: at for key, at in self._held_since.items() if self._ledger.holds(key)}
        return self._freed.popleft() if self._freed else next(self._scan, None)

    def _compare(self, key: Any, latest: Mapping[Any, T]) -> None:
        if self._ledger.holds(key):
            self._hold(key)
            return
        before, after, kept = self._ledger.positions.get(key), latest.get(key), self._kept.pop(key, None)
        if after is None and kept is not None and kept != before:
            after = kept
            self._held[key] = None  # its removal follows
        if before == after:
            if after is not None:
                self._ledger.positions[key] = after  # the same object is compared faster
            return
        change = change_of(key, before, after, self.feed.at)
        self._ready.extend((change,) if self._derive is None else self._derive(change))

    def _hold(self, key: Any) -> None:
        """Compare ``key`` again when its open change is acknowledged; warn once if that takes long."""
        self._held[key] = None
        now = running_loop().time()
        if now - self._held_since.setdefault(key, now) >= MAX_UNACKNOWLEDGED and not self._is_warned:
            self._is_warned = True
            logger.warning("changes of %r wait until the last one is acknowledged: await change.ack()", key)
