"""Context that all orders of one `OrderEntry` share, and their attempts: the claims on journal entries.

Each attempt is in the journal before anything is sent, under a claim that this worker's own clocks judge. Other workers
judge it by the journal's clock. This worker counts from the moment before the statement that made or last renewed it,
so that it never believes in a claim that another worker may already take. Nothing is sent unless the claim still holds
then, with a margin of a tenth of the lease.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from os import PathLike
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from .._arguments import check_flag, check_methods, check_timeout
from ..config import Environment, new_identifier
from ..errors import BrokerageError, ConfigurationError
from ..http.concurrency import outliving, result_of
from ..journal.base import EntryKey, EntryState, Journal, JournalEntry, renew_claims
from ..observers import Event
from ..operation import Executor
from ..protocol.streams.timing import Doorbell, Doorbells
from .guard import OrderGuard

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

RENEW_AFTER = 1 / 3
RETRY_AFTER = 1 / 10
MARGIN = 1 / 10
"""Fractions of the lease: when to renew, when to retry a failed renewal, and how early a claim ends for its holder."""

JOURNAL_METHODS = (
    "now", "open", "find", "entries", "claim", "renew", "release", "close", "abandon", "adopt", "halt", "resume",
    "halts", "trip",
)  # fmt: skip

ORDER_EVENTS = frozenset({"Order", "ComplexOrder"})

_MEMORIES: WeakKeyDictionary[object, Journal] = WeakKeyDictionary()


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
        return max(self._loop.time() - self._mono, time.time() - self._wall)


class Attempt:
    """One worker's hold on one journal entry, renewed from the statement that takes it to the one that gives it up.

    Statements that take the entry are finished although their caller is cancelled, and undone then.
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

        async def withdraw(opened: tuple[JournalEntry, bool]) -> None:
            if opened[1]:
                await self.close(EntryState.NOT_SENT, note="cancelled before sending")

        self.since = Instant()
        opening = partial(self._journal.open, self.key, body, owner=self.owner, lease=self.lease, **terms)
        entry, is_new = await finished(opening, withdraw)
        if is_new:
            self._attempts.add(self)
        return entry, is_new

    async def claim(self) -> JournalEntry | None:
        """Hold an open entry, and return it. None if it is not open, or another worker holds it."""

        async def give_back(entry: JournalEntry | None) -> None:
            if entry is not None:
                await self.release(entry.note, looked=False)

        self.since = Instant()
        claiming = partial(self._journal.claim, self.key, owner=self.owner, lease=self.lease)
        entry = await finished(claiming, give_back)
        if entry is not None:
            self._attempts.add(self)
        return entry

    async def repeat(self, number: int) -> None:
        """Record that the body is about to be sent for the time of this ``number``, or raise. See `objection`."""
        since = Instant()
        self.lost = not await self._journal.renew(self.key, owner=self.owner, lease=self.lease, attempts=number)
        self.since = since

    async def close(self, state: EntryState, *, order_id: str | None = None, note: str = "") -> bool | None:
        """Record the outcome. False: this worker does not hold the entry any more. None: no acknowledgement."""
        closing = self._journal.close(self.key, owner=self.owner, state=state, order_id=order_id, note=note)
        try:
            return await quietly("record an outcome", closing)
        finally:
            self._attempts.drop(self)

    async def release(self, note: str, *, looked: bool) -> bool | None:
        """Give up the entry, whose outcome is unknown. See `close` and ``Journal.release``."""
        releasing = self._journal.release(self.key, owner=self.owner, note=note, looked=looked)
        try:
            return await quietly("release a journal entry", releasing)
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
        self._held[attempt.key] = attempt
        if self._timer is None:
            self._renew_after(self.lease * RENEW_AFTER)

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

    def _renew_after(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start)

    def _start(self) -> None:
        self._renew_after(self.lease * RENEW_AFTER)
        if self._renewing is None or self._renewing.done():  # else the journal is slower than the lease: one at a time
            renewing = self._renew(dict(self._held))
            self._renewing = asyncio.create_task(renewing, name="brokerage_async claim renewal")

    async def _renew(self, held: dict[EntryKey, Attempt]) -> None:
        since, owners = Instant(), {key: attempt.owner for key, attempt in held.items()}
        try:
            renewed = await renew_claims(self.journal, owners, lease=self.lease)
        except Exception as error:
            logger.warning("could not renew %d claim(s): %s", len(held), reason_of(error))
            if self._timer is not None:
                self._timer.cancel()
                self._renew_after(self.lease * RETRY_AFTER)
            return
        for key, attempt in held.items():
            if key in renewed:
                attempt.since = since
            elif self._held.get(key) is attempt:
                attempt.lost = True


async def quietly(what: str, write: Awaitable[T]) -> T | None:
    """Return the result of a write to the journal. None if it raises, which must not hide the outcome of an order."""
    try:
        return await write
    except Exception as error:
        logger.warning("could not %s: %s", what, reason_of(error))
        return None


def reason_of(error: Exception) -> str:
    return str(error) or type(error).__name__


async def finished(start: Callable[[], Awaitable[T]], then: Callable[[T], Awaitable[object]] | None = None) -> T:
    """Return the result of a statement. It goes on if the caller is cancelled, and then passes its result to ``then``.

    A statement that was cancelled itself is begun again: `asyncio.run` cancels every task of its loop when it ends, and
    programs do so to shut down, the caller and the task that writes for it in the same moment.
    """
    running = asyncio.ensure_future(start())

    async def settle() -> None:
        await asyncio.wait({running})
        result = await start() if running.cancelled() else running.result()
        if then is not None:
            await then(result)

    try:
        return await result_of(running)
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


class TradingClient(Protocol):
    """The part of a client that order entry uses. Journal entries of other environments are left alone."""

    @property
    def session(self) -> Executor: ...

    @property
    def environment(self) -> Environment: ...


class Context:
    """Everything that placing, changing and recovering orders needs: client, journal, attempts and clock.

    Raises ConfigurationError for a guard, a journal or a lease that cannot be used.

    Attributes:
        service_now: returns the time by the service's clock, or None while it is not known.
        doorbells: source of events that bring looks forward, None without push.
        contracts: what was read of each symbol: the units of a contract, and the underlying.
        report: passes an event on to the observers of the client.
    """

    def __init__(
        self, client: TradingClient, journal: Journal | None, lease: float, *, push: bool, guard: OrderGuard | None
    ) -> None:
        if guard is not None and not isinstance(guard, OrderGuard):
            raise ConfigurationError(f"guard must be an OrderGuard, got {type(guard).__name__}")
        streams = getattr(client, "stream", None) if check_flag("push", push) else None
        if streams is not None:
            streams.check_account()
        elif push:
            raise ConfigurationError("push must be False: the client has no streams")
        if journal is None:
            journal = _memory_of(client)
        if isinstance(journal, str | PathLike):
            raise ConfigurationError(f"journal must be a journal, got a path: open SqliteJournal({str(journal)!r})")
        check_methods("journal", journal, *JOURNAL_METHODS)
        if check_timeout("lease", lease) is None:
            raise ConfigurationError("lease must not be None: a crashed worker would hold its claims forever")
        self.executor: Executor = client.session
        self.journal: Journal = journal
        self.attempts: Attempts = Attempts(journal, lease)
        self.origin: str = client.environment.origin
        self.environment: str = client.environment.name
        self.guard: OrderGuard | None = guard
        self.doorbells: Doorbells | None = streams
        self.service_now: Callable[[], datetime | None] = getattr(client.session, "service_now", lambda: None)
        self.report: Callable[[Event], object] = getattr(client.session, "on_event", lambda event: None)
        self.contracts: dict[str, tuple[Decimal | None, str]] = {}

    def bell(self, account_number: str) -> Doorbell | None:
        """Return the doorbell of an account. None without push, and for an account that has no events."""
        if self.doorbells is not None:
            with suppress(BrokerageError):  # an order may have been sent: push fails no search
                return self.doorbells.doorbell((account_number,), ORDER_EVENTS)
        return None

    def now(self) -> datetime:
        """Return the time by the service's clock. By this machine's until an answer has shown it."""
        return self.service_now() or datetime.now(UTC)

    def key_of(self, account_number: str, external_identifier: str) -> EntryKey:
        return EntryKey(self.origin, self.environment, account_number, external_identifier)


def _memory_of(client: TradingClient) -> Journal:
    """Return the one memory journal of a client, shared by its views: an identifier is used once in all of them."""
    shared = getattr(client.session, "engine", client.session)
    journal = _MEMORIES.get(shared)
    if journal is None:
        from ..journal import MemoryJournal  # SQLite is loaded when it is needed

        logger.warning("orders are journaled in memory only: nothing can be recovered after this process")
        journal = _MEMORIES[shared] = MemoryJournal()
    return journal
