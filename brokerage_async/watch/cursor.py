"""Plain changes of one consumer: the states it has seen, and the way from there to the latest states of its feeds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Generic, TypeVar

from .._arguments import check_function
from ..errors import NotFoundError, PermissionDeniedError
from .diff import Change, diff
from .feed import Feed, wait_any

__all__ = ["Cursor", "Derive", "OnError", "Source"]

T = TypeVar("T")

Derive = Callable[[Change[Any]], Iterable[Change[T]]]
"""Turns a change into those to report, several or none."""

OnError = Callable[[Exception], None]
"""Called with every failure that does not end the iteration. By raising, it does."""

logger: logging.Logger = logging.getLogger("brokerage_async.watch")


class Cursor(Generic[T]):
    """Position of one consumer within a feed. It holds no queue: it compares the latest state with the last one seen.

    Args:
        feed: the polling loop.
        initial: whether all items of the first state are reported as added.
        seed: the state known before, which the first state is compared with.
        keep: decides whether the last state of an item is reported before its removal, even to a slow consumer.

    Attributes:
        feed: the polling loop.
        start: the state that the changes to the first answer lead away from, None before and after them.
    """

    def __init__(
        self,
        feed: Feed[Any],
        *,
        initial: bool = True,
        seed: Mapping[Any, T] | None = None,
        keep: Callable[[T], bool] | None = None,
    ) -> None:
        self.feed = feed
        self.start: Mapping[Any, T] | None = None
        self.on_failure: OnError = lambda _: None
        self._keep = keep
        self._seen: Mapping[Any, T] | None = seed if seed is not None else ({} if initial else None)
        self._target: Mapping[Any, T] | None = None
        self._base: Mapping[Any, T] = {}
        self._pending: Iterator[Change[T]] = iter(())
        self._kept: dict[Any, T] = {}

    @property
    def snapshot(self) -> Mapping[Any, Any]:
        """The items by key after all changes taken so far."""
        return self._seen or {}

    def seed(self, items: Mapping[Any, T]) -> None:
        """Compare the first state with ``items``."""
        self._seen = items

    def on_removed(self, removed: Mapping[Any, T]) -> None:
        """Keep the last state of removed items that satisfy ``keep``, to be reported before their removal."""
        if self._keep is not None:
            seen = self._seen or {}
            self._kept |= {key: item for key, item in removed.items() if self._keep(item) and seen.get(key) != item}

    def max_wait(self) -> float | None:
        """Return the seconds until a change may be due without a new state."""
        return None

    def take(self) -> Change[T] | None:
        """Return the next change, if any."""
        latest = self.feed.latest
        if latest is not None and latest is not self._target:
            base = whole = latest if self._seen is None else self._seen
            kept = {} if self._seen is None else {key: item for key, item in self._kept.items() if key not in latest}
            if kept:
                whole = {**base, **kept}
            at = self.feed.at
            self._pending = chain(diff(base, whole, at) if kept else (), diff(whole, latest, at))
            self._kept.clear()
            self.start = base if self._target is None else None
            self._target, self._seen, self._base = latest, base, base
        if (change := next(self._pending, None)) is None:
            self._seen = self._seen if self._target is None else self._target
            return None
        seen = dict(self._base) if self._seen is self._base else self._seen
        assert isinstance(seen, dict)
        if change.after is None:
            del seen[change.key]
        else:
            seen[change.key] = change.after
        self._seen = seen
        return change


class Source(Generic[T]):
    """Changes of a collection in parts, such as accounts, each with its feed and its failures.

    Args:
        parts: the cursors by part. A part is named by the first element of its keys. An undivided collection has the
            one part "".
        on_error: called with every transient failure, and when a part is given up. Default: a log record.
        derive: turns each change into those to report.

    Attributes:
        parts: the cursors by part. Those that have changes take turns.
        failed: parts that are given up because access was denied or they are unknown, with their errors.
        derive: turns each change into those to report.
    """

    def __init__(
        self, parts: Mapping[str, Cursor[Any]], *, on_error: OnError | None = None, derive: Derive[T] | None = None
    ) -> None:
        if on_error is not None:
            check_function("on_error", on_error)
        self.parts: dict[str, Cursor[Any]] = dict(parts)
        self.failed: dict[str, Exception] = {}
        self.derive: Derive[T] = derive or (lambda change: (change,))
        self._on_error = on_error
        self._raised: Exception | None = None
        for cursor in parts.values():
            cursor.on_failure = self.on_failure
        self.attach()

    @property
    def feeds(self) -> list[Feed[Any]]:
        """The feeds of all parts but those given up."""
        return [cursor.feed for part, cursor in self.parts.items() if part not in self.failed]

    @property
    def snapshot(self) -> dict[Any, Any]:
        """The items by key after all changes taken so far. A failed part keeps its last items."""
        return {key: item for cursor in self.parts.values() for key, item in cursor.snapshot.items()}

    def attach(self) -> None:
        """Poll until `release`."""
        for cursor in self.parts.values():
            cursor.feed.attach(cursor)

    def release(self) -> None:
        """Stop polling, in any thread."""
        for cursor in self.parts.values():
            cursor.feed.release(cursor)

    def pull(self) -> Change[Any] | None:
        """Return the next plain change of a feed, if any."""
        for part, cursor in self.parts.items():
            if (change := cursor.take()) is not None:
                self.parts[part] = self.parts.pop(part)  # the other parts are next
                return change
        return None

    def has_ended(self) -> bool:
        """Return True once no change can follow those that are due."""
        if self._raised is not None:
            return True
        for part, cursor in self.parts.items():
            error = cursor.feed.error
            if part in self.failed or not cursor.feed.ended:
                continue
            if not isinstance(error, PermissionDeniedError | NotFoundError) or len(self.feeds) == 1:
                return True
            self.failed[part] = error
            self._report(error, logging.ERROR, "an account is no longer watched: %s %s %s")
        return self._raised is not None

    def check(self) -> None:
        """Raise the error that ended the polling, if any."""
        if self._raised is not None:
            raise self._raised
        for feed in self.feeds:
            feed.check()

    def on_failure(self, error: Exception) -> None:
        """Report a failed poll that will be repeated."""
        self._report(error, logging.WARNING, "poll failed and will be repeated: %s %s %s")

    def announce(self) -> None:
        """Wake all tasks in `wait`."""
        for feed in self.feeds:
            feed.announce()

    async def wait(self) -> None:
        """Wait until a change may be due, or the end."""
        bounds = (cursor.max_wait() for cursor in self.parts.values())
        await wait_any(self.feeds, min((seconds for seconds in bounds if seconds is not None), default=None))

    def _report(self, error: Exception, level: int, message: str) -> None:
        if self._on_error is None:
            operation, status = getattr(error, "operation", None), getattr(error, "status", None)
            logger.log(level, message, type(error).__name__, operation, status)
            return
        try:
            self._on_error(error)
        except Exception as raised:  # a callback ends the iteration by raising
            self._raised = raised
            self.announce()
