"""Shared context of all orders of one `OrderEntry`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from os import PathLike
from typing import Protocol
from weakref import WeakKeyDictionary

import attrs

from .._arguments import check_flag, check_methods, check_timeout
from ..config import Environment
from ..errors import BrokerageError, ConfigurationError
from ..journal.base import EntryKey, Journal
from ..observers.records import Event
from ..operation import Executor
from ..protocol.streams.timing import Doorbell, Doorbells
from .attempts import Attempt, Attempts
from .guard import OrderGuard

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

JOURNAL_METHODS = (
    "now", "open", "find", "entries", "claim", "renew", "release", "close", "abandon", "adopt", "halt", "resume",
    "halts", "trip",
)  # fmt: skip

ORDER_EVENTS = frozenset({"Order", "ComplexOrder"})

_MEMORIES: WeakKeyDictionary[object, Journal] = WeakKeyDictionary()


class TradingClient(Protocol):
    """The part of a client that order entry uses."""

    @property
    def session(self) -> Executor:
        """The executor of all calls."""
        ...

    @property
    def environment(self) -> Environment:
        """The environment of the calls. Entries of other environments are left alone."""
        ...


class Streams(Doorbells, Protocol):
    """The streams of a client."""

    def check_account(self) -> None:
        """Raise ConfigurationError if the client cannot stream."""
        ...


@attrs.frozen(kw_only=True)
class Context:
    """Everything that placing, changing and recovering orders needs: client, journal, attempts and clock.

    ``service_now`` returns the time by the service's clock, or None while it is not known. ``doorbells`` is the source
    of events that bring looks forward, None without push. ``guard`` limits what is placed. ``contracts`` keeps the
    units of a contract and the underlying that it has read, by symbol. ``report`` passes an event on to the observers
    of the client.
    """

    executor: Executor
    journal: Journal
    attempts: Attempts
    origin: str
    environment: str
    service_now: Callable[[], datetime | None]
    doorbells: Doorbells | None = None
    guard: OrderGuard | None = None
    contracts: dict[str, tuple[Decimal | None, str]] = attrs.field(factory=dict)
    report: Callable[[Event], object] = lambda event: None

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
        """Return the journal key of an order at this service."""
        return EntryKey(self.origin, self.environment, account_number, external_identifier)

    def attempt(self, key: EntryKey) -> Attempt:
        """Return a new attempt at an entry, which it does not hold yet."""
        return Attempt(self.attempts, key)


def context_of(
    client: TradingClient,
    journal: Journal | None,
    lease: float,
    *,
    push: bool = False,
    guard: OrderGuard | None = None,
) -> Context:
    """Build the context of an `OrderEntry`. Raise ConfigurationError for a journal or a lease that cannot be used."""
    if guard is not None and not isinstance(guard, OrderGuard):
        raise ConfigurationError(f"guard must be an OrderGuard, got {type(guard).__name__}")
    streams: Streams | None = None
    if check_flag("push", push):
        streams = getattr(client, "stream", None)
        if streams is None:
            raise ConfigurationError("push must be False: the client has no streams")
        streams.check_account()
    if journal is None:
        journal = _memory_of(client)
    if isinstance(journal, str | PathLike):
        raise ConfigurationError(f"journal must be a journal, got a path: open SqliteJournal({str(journal)!r})")
    check_methods("journal", journal, *JOURNAL_METHODS)
    if check_timeout("lease", lease) is None:
        raise ConfigurationError("lease must not be None: a crashed worker would hold its claims forever")
    return Context(
        executor=client.session,
        journal=journal,
        attempts=Attempts(journal, lease),
        origin=client.environment.origin,
        environment=client.environment.name,
        service_now=getattr(client.session, "service_now", lambda: None),
        doorbells=streams,
        guard=guard,
        report=getattr(client.session, "on_event", lambda event: None),
    )


def _memory_of(client: TradingClient) -> Journal:
    """Return the one memory journal of a client, shared by its views: an identifier is used once in all of them."""
    shared = getattr(client.session, "engine", client.session)
    journal = _MEMORIES.get(shared)
    if journal is None:
        from ..journal import MemoryJournal  # SQLite is loaded when it is needed

        logger.warning("orders are journaled in memory only: nothing can be recovered after this process")
        journal = _MEMORIES[shared] = MemoryJournal()
    return journal
