"""Claims on journal entries: renewed while work goes on, and judged by this worker's own clocks.

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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ..config.random_values import new_identifier
from ..journal.base import EntryKey, Journal, renew_claims

__all__ = ["Claim", "ClaimKeeper", "Instant", "finish", "new_owner", "quietly", "result_of", "settled"]

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

_BACKGROUND: set[asyncio.Task[Any]] = set()
"""Writes that outlive their caller; the event loop itself holds tasks weakly."""

RENEW_AFTER = 1 / 3
RETRY_AFTER = 1 / 10
MARGIN = 1 / 10
"""Fractions of the lease: when to renew, when to retry a failed renewal, and how early a claim ends for its holder."""


def new_owner() -> str:
    """Return a unique name for one hold on journal entries: host and process for people, then random digits."""
    return f"{socket.gethostname()}:{os.getpid()}:{new_identifier()[-12:]}"


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


class Claim:
    """One worker's hold on one journal entry."""

    __slots__ = ("_since", "key", "lease", "lost", "owner")

    def __init__(self, key: EntryKey, owner: str, since: Instant, lease: float) -> None:
        self.key: EntryKey = key
        self.owner: str = owner
        self.lost: bool = False
        self._since = since
        self.lease: float = lease

    def renewed(self, since: Instant) -> None:
        """Extend the claim: a statement begun at ``since`` has renewed it."""
        self._since = since

    def holds(self) -> bool:
        """Return True if no other worker can hold the entry now."""
        return not self.lost and self._since.age() < self.lease * (1 - MARGIN)

    def objection(self) -> str | None:
        """Return why nothing may be sent under this claim, or None if it holds."""
        if self.holds():
            return None
        if self.lost:
            return "another worker has taken the journal entry over"
        return f"the claim on the journal entry could not be renewed for {self._since.age():.0f} s"


class ClaimKeeper:
    """Renews the claims of one `OrderEntry`, all of them in one statement.

    A timer starts the renewal: an order placed within a third of the lease costs neither a task nor a statement.
    """

    def __init__(self, journal: Journal, lease: float) -> None:
        self.lease: float = lease
        self._journal = journal
        self._claims = dict[EntryKey, Claim]()
        self._timer: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    @contextmanager
    def keep(self, claim: Claim) -> Iterator[None]:
        """Renew ``claim`` for the duration of the block."""
        self.add(claim)
        try:
            yield
        finally:
            self.drop(claim)

    def add(self, claim: Claim) -> None:
        """Start to renew ``claim``."""
        self._claims[claim.key] = claim
        if self._timer is None:
            self._set_timer(self.lease * RENEW_AFTER)

    def drop(self, claim: Claim) -> None:
        """Stop to renew ``claim``. A renewal under way changes nothing once the entry is closed or released."""
        if self._claims.get(claim.key) is claim:
            del self._claims[claim.key]
        if self._claims:
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
                self._renew(dict(self._claims)), name="brokerage_async claim renewal"
            )

    async def _renew(self, claims: dict[EntryKey, Claim]) -> None:
        since = Instant()
        try:
            held = await renew_claims(
                self._journal, {key: claim.owner for key, claim in claims.items()}, lease=self.lease
            )
        except Exception as error:
            logger.warning("could not renew %d claim(s): %s", len(claims), _reason(error))
            if self._timer is not None:
                self._timer.cancel()
                self._set_timer(self.lease * RETRY_AFTER)
            return
        for key, claim in claims.items():
            if key in held:
                claim.renewed(since)
            elif self._claims.get(key) is claim:
                claim.lost = True


async def quietly(what: str, write: Awaitable[bool]) -> bool | None:
    """Return the result of a write to the journal. Log a failure and return None.

    Whatever a journal raises then must not hide the outcome of an order.
    """
    try:
        return await write
    except Exception as error:
        logger.warning("could not %s: %s", what, _reason(error))
        return None


async def result_of(work: asyncio.Task[T]) -> T:
    """Return the result of ``work``, which goes on if its waiter is cancelled.

    `asyncio.shield` does the same, but from Python 3.14 on it reports a later failure of ``work`` as unhandled.
    """
    await asyncio.wait({work})
    return work.result()


async def finish(work: asyncio.Task[T]) -> bool:
    """Wait for ``work`` while being cancelled. Return False when cancelled again: it goes on in the background."""
    try:
        await asyncio.wait({work})
    except asyncio.CancelledError:
        _BACKGROUND.add(work)
        work.add_done_callback(_BACKGROUND.discard)
        return False
    return True


async def settled(begun: asyncio.Future[T], repeat: Callable[[], Awaitable[T]]) -> T:
    """Return the result of a statement, which is repeated if it was cancelled.

    `asyncio.run` cancels every task of its loop when it ends, and programs do so to shut down: the caller and the task
    that writes for it in the same moment. Only the caller was to be cancelled.
    """
    await asyncio.wait({begun})
    return await repeat() if begun.cancelled() else begun.result()


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
