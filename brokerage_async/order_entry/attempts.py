"""Attempts at orders: each is in the journal before it is sent, under a claim that this worker's own clocks judge.

Other workers judge a claim by the journal's clock. This worker counts from the moment before the statement that made or
last renewed it, so that it never believes in a claim that another worker may already take. Nothing is sent unless the
claim still holds then, with a margin of a tenth of the lease.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from ..config.random_values import new_identifier
from ..http.concurrency import outliving
from ..journal.base import EntryKey, EntryState, Journal, JournalEntry, renew_claims

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

RENEW_AFTER = 1 / 3
RETRY_AFTER = 1 / 10
MARGIN = 1 / 10
"""Fractions of the lease: when to renew, when to retry a failed renewal, and how early a claim ends for its holder."""


class Instant:
    """A moment by both clocks of this machine.

    The event loop's clock is never set, but stands still while the machine is suspended. The wall clock runs on, but
    may be set. The longer of both intervals counts.
    """

    __slots__ = ("_loop", "_mono", "_wall")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._mono = self._loop.time()
        self._wall = time.time()

    def age(self) -> float:
        """Return the seconds since this moment, at least."""
        return max(self._loop.time() - self._mono, time.time() - self._wall)


class Attempt:
    """One worker's hold on one journal entry, from the statement that takes it to the one that gives it up.

    Its claim is renewed in between. Statements that take the entry are finished although their caller is cancelled, and
    undone then.
    """

    def __init__(self, attempts: Attempts, key: EntryKey) -> None:
        self.key: EntryKey = key
        self.lease: float = attempts.lease
        self.owner: str = f"{socket.gethostname()}:{os.getpid()}:{new_identifier()[-12:]}"  # the digits are unique
        self.lost: bool = False
        self.since: Instant = Instant()
        self._attempts = attempts
        self._journal = attempts.journal

    def holds(self) -> bool:
        """Return True if no other worker can hold the entry now."""
        return not self.lost and self.since.age() < self.lease * (1 - MARGIN)

    def objection(self) -> str | None:
        """Return why nothing may be sent under this claim, or None if it holds."""
        if self.holds():
            return None
        if self.lost:
            return "another worker has taken the journal entry over"
        return f"the claim on the journal entry could not be renewed for {self.since.age():.0f} s"

    async def open(self, body: bytes, **terms: Any) -> tuple[JournalEntry, bool]:
        """Record that ``body`` is about to be sent. Options and result are those of ``Journal.open``."""

        async def start() -> tuple[JournalEntry, bool]:
            return await self._journal.open(self.key, body, owner=self.owner, lease=self.lease, **terms)

        async def withdraw(opened: tuple[JournalEntry, bool]) -> None:
            if opened[1]:
                await self.close(EntryState.NOT_SENT, note="cancelled before sending")

        self.since = Instant()
        entry, is_new = await finished(start, withdraw)
        if is_new:
            self._attempts.add(self)
        return entry, is_new

    async def claim(self) -> JournalEntry | None:
        """Hold an open entry, and return it. None if it is not open, or another worker holds it."""

        async def start() -> JournalEntry | None:
            return await self._journal.claim(self.key, owner=self.owner, lease=self.lease)

        async def give_back(entry: JournalEntry | None) -> None:
            if entry is not None:
                await self.release(entry.note, looked=False)

        self.since = Instant()
        entry = await finished(start, give_back)
        if entry is not None:
            self._attempts.add(self)
        return entry

    async def repeat(self, number: int) -> None:
        """Record that the body is about to be sent for the time of this ``number``. `objection` says whether it may.

        Raises:
            OrderRefusedError: a halt forbids it.
            JournalError: it cannot be recorded.
        """
        since = Instant()
        self.lost = not await self._journal.renew(self.key, owner=self.owner, lease=self.lease, attempts=number)
        self.since = since

    async def close(self, state: EntryState, *, order_id: str | None = None, note: str = "") -> bool | None:
        """Record the outcome. False: this worker does not hold the entry any more. None: no acknowledgement."""
        closing = self._journal.close(self.key, owner=self.owner, state=state, order_id=order_id, note=note)
        return await self._end("record an outcome", closing)

    async def release(self, note: str, *, looked: bool) -> bool | None:
        """Give up the entry, whose outcome is unknown. See `close` and ``Journal.release``."""
        releasing = self._journal.release(self.key, owner=self.owner, note=note, looked=looked)
        return await self._end("release a journal entry", releasing)

    async def _end(self, what: str, write: Awaitable[bool]) -> bool | None:
        try:
            return await quietly(what, write)
        finally:
            self._attempts.drop(self)


class Attempts:
    """Attempts of one `OrderEntry`, whose claims are renewed all in one statement.

    A timer starts the renewal: an order placed within a third of the lease costs neither a task nor a statement.
    """

    def __init__(self, journal: Journal, lease: float) -> None:
        self.journal: Journal = journal
        self.lease: float = lease
        self._held = dict[EntryKey, Attempt]()
        self._timer: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    def add(self, attempt: Attempt) -> None:
        """Start to renew the claim of an attempt."""
        self._held[attempt.key] = attempt
        if self._timer is None:
            self._set_timer(self.lease * RENEW_AFTER)

    def drop(self, attempt: Attempt) -> None:
        """Stop to renew it. A renewal under way changes nothing once the entry is closed or released."""
        if self._held.get(attempt.key) is attempt:
            del self._held[attempt.key]
        if self._held:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None

    def _set_timer(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start)

    def _start(self) -> None:
        self._set_timer(self.lease * RENEW_AFTER)
        if self._renewing is None or self._renewing.done():  # else the journal is slower than the lease: one at a time
            self._renewing = asyncio.get_running_loop().create_task(
                self._renew(dict(self._held)), name="brokerage_async claim renewal"
            )

    async def _renew(self, held: dict[EntryKey, Attempt]) -> None:
        since, owners = Instant(), {key: attempt.owner for key, attempt in held.items()}
        try:
            renewed = await renew_claims(self.journal, owners, lease=self.lease)
        except Exception as error:
            logger.warning("could not renew %d claim(s): %s", len(held), reason_of(error))
            if self._timer is not None:
                self._timer.cancel()
                self._set_timer(self.lease * RETRY_AFTER)
            return
        for key, attempt in held.items():
            if key in renewed:
                attempt.since = since
            elif self._held.get(key) is attempt:
                attempt.lost = True


async def quietly(what: str, write: Awaitable[T]) -> T | None:
    """Return the result of a write to the journal. Log a failure and return None.

    Whatever a journal raises then must not hide the outcome of an order.
    """
    try:
        return await write
    except Exception as error:
        logger.warning("could not %s: %s", what, reason_of(error))
        return None


def reason_of(error: Exception) -> str:
    """Return the message of an error, or the name of its class."""
    return str(error) or type(error).__name__


async def finished(start: Callable[[], Awaitable[T]], then: Callable[[T], Awaitable[object]] | None = None) -> T:
    """Return the result of a statement, which goes on if the caller is cancelled. Its result is passed to ``then`` in
    that case, before the cancellation goes on.

    A statement that was cancelled itself is begun again: `asyncio.run` cancels every task of its loop when it ends, and
    programs do so to shut down, the caller and the task that writes for it in the same moment. `asyncio.shield` reports
    a later failure as unhandled from Python 3.14 on.
    """
    running = asyncio.ensure_future(start())

    async def settle() -> None:
        await asyncio.wait({running})
        result = await start() if running.cancelled() else running.result()
        if then is not None:
            await then(result)

    try:
        await asyncio.wait({running})
        return running.result()
    except asyncio.CancelledError:
        await outlasting(quietly("finish a statement of the journal", settle()))
        raise


async def outlasting(work: Coroutine[Any, Any, object]) -> bool:
    """Wait for ``work`` while being cancelled. Return False when cancelled again: it goes on in the background."""
    try:
        await asyncio.wait({outliving(work, "journal write")})
    except asyncio.CancelledError:
        return False
    return True
