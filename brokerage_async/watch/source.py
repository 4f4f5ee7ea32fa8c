"""The iteration of one watcher: changes of a collection in parts, such as accounts, each with its feed and failures."""

from __future__ import annotations

import logging
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from .._arguments import check_function
from ..errors import NotFoundError, PermissionDeniedError
from .diff import SILENT, Acknowledgeable, Change
from .feed import Cursor, Feed, OnError, wait_any

__all__ = ["Derive", "Report", "Source"]

R = TypeVar("R", bound=Acknowledgeable)

Derive = Callable[[Change[Any]], Iterable[Change[Any]]]
"""Turns a change into those to report, several or none."""

Report = Callable[[Change[Any]], R]
"""Turns a change into what the consumer gets."""

logger: logging.Logger = logging.getLogger("brokerage_async.watch")


class Source(Generic[R]):
    """The changes that a watcher reports. It has no reference to the watcher, so that a dropped one is noticed.

    Args:
        parts: the cursors by part. A part is named by the first element of its keys. An undivided collection has the
            one part "".
        on_error: called with every transient failure, and when a part is given up. Default: a log record.
        derive: turns each change into those to report.
        report: turns each of them into what the consumer gets.

    Attributes:
        parts: the cursors by part. Those that have changes take turns.
        failed: parts that are given up because access was denied or they are unknown, with their errors.
    """

    def __init__(
        self,
        parts: Mapping[str, Cursor[Any]],
        *,
        on_error: OnError | None,
        derive: Derive | None,
        report: Report[R],
    ) -> None:
        if on_error is not None:
            check_function("on_error", on_error)
        self.parts: dict[str, Cursor[Any]] = dict(parts)
        self.failed: dict[str, Exception] = {}
        self._derive: Derive = derive or (lambda change: (change,))
        self._report = report
        self._on_error = on_error
        self._raised: Exception | None = None
        self._ready: deque[Change[Any]] = deque()
        self._began = self._closed = self._dropped = False
        self._calls = 0
        for cursor in parts.values():
            cursor.on_failure = self.on_failure
        self._attach()

    @property
    def feeds(self) -> list[Feed[Any]]:
        """The feeds of all parts but those given up."""
        return [cursor.feed for part, cursor in self.parts.items() if part not in self.failed]

    async def next(self) -> R:
        """Return the next change, or raise the error that ended the polling, once, and then StopAsyncIteration."""
        self._began, waited = True, False
        self._calls += 1
        try:
            if self._dropped:
                self._attach()  # the call outlives its watcher
            while not self._closed:
                if (found := self._take()) is not None:
                    return found
                if self._needs_writing():
                    await self._write()  # if cancelled here, the next call goes on with it
                elif self._has_ended():
                    await self._leave()  # if cancelled here, the next call raises the error
                    self._closed = True
                    self.check()
                else:
                    waited = True
                    await self._wait()
            if waited:  # closed by another call, which waited too and raised the error first
                self.check()
            raise StopAsyncIteration
        finally:
            self._calls -= 1
            if self._dropped and not self._calls:
                self._detach()

    async def aclose(self) -> None:
        """End the iteration now."""
        if not self._closed:
            self._closed = True
            await self._leave()

    def drop(self) -> None:
        """Stop polling for a watcher that was garbage-collected, in any thread, after the calls that still wait."""
        self._dropped = True
        if not self._closed and not self._calls:
            is_polling = self._began and any(feed.is_polling for feed in self.feeds)
            self._detach()
            if is_polling:
                warnings.warn("a watcher was dropped: close it with `async with` or aclose()", ResourceWarning)  # noqa: B028 - no caller

    def check(self) -> None:
        """Raise the error that ended the polling, if any."""
        if self._raised is not None:
            raise self._raised
        for feed in self.feeds:
            feed.check()

    def on_failure(self, error: Exception) -> None:
        """Report a failed poll that will be repeated."""
        self._tell(error, logging.WARNING, "poll failed and will be repeated: %s %s %s")

    # Changes

    def _take(self) -> R | None:
        """Return the next change to report, if any."""
        while not self._ready:
            if (change := self._pull()) is None:
                return None
            self._ready.extend(each for each in self._derive(change) if each.kind != SILENT)
        return self._report(self._ready.popleft())

    def _pull(self, is_held: Callable[[Any], bool] = lambda _: False) -> Change[Any] | None:
        """Return the next change of an item, if any."""
        for part, cursor in self.parts.items():
            if (change := cursor.take(is_held)) is not None:
                self.parts[part] = self.parts.pop(part)  # the other parts are next
                return change
        return None

    def _needs_writing(self) -> bool:
        """Return True if something has to be stored before the next change can be reported."""
        return False

    async def _write(self) -> None:
        """Store it."""

    # The polls

    def _attach(self) -> None:
        for cursor in self.parts.values():
            cursor.feed.attach(cursor)

    def _detach(self) -> None:
        for cursor in self.parts.values():
            cursor.feed.release(cursor)

    def _announce(self) -> None:
        """Wake all calls that wait."""
        for feed in self.feeds:
            feed.announce()

    async def _wait(self) -> None:
        """Wait until a change may be due, or the end."""
        bounds = (cursor.max_wait() for cursor in self.parts.values())
        await wait_any(self.feeds, min((seconds for seconds in bounds if seconds is not None), default=None))

    async def _leave(self) -> None:
        """Stop polling, and wake the other calls that wait."""
        self._announce()
        self._detach()
        for feed in self.feeds:
            await feed.join()

    def _has_ended(self) -> bool:
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
            self._tell(error, logging.ERROR, "an account is no longer watched: %s %s %s")
        return self._raised is not None

    def _tell(self, error: Exception, level: int, message: str) -> None:
        if self._on_error is None:
            operation, status = getattr(error, "operation", None), getattr(error, "status", None)
            logger.log(level, message, type(error).__name__, operation, status)
            return
        try:
            self._on_error(error)
        except Exception as raised:  # a callback ends the iteration by raising
            self._raised = raised
            self._announce()
