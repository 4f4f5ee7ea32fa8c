"""Everything that the explorer takes from the library: the one place to look at when modules move."""

import functools
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar
from unittest.mock import patch

import attrs

from brokerage_async import Client, Environment, RefreshToken, RetryPolicy, models, tickets
from brokerage_async.errors import (
    BrokerageError,
    ConfigurationError,
    InvalidRequestError,
    OrderOutcomeUnknownError,
    OrderRefusedError,
    RequestNotSentError,
    ResponseLostError,
)
from brokerage_async.journal import EntryState, JournalEntry, JournalError, MemoryJournal, SqliteJournal
from brokerage_async.journal.sql import SqlJournal, creation, text_of
from brokerage_async.order_entry import (
    ChangeOutcome,
    OrderChange,
    OrderEntry,
    OrderGuard,
    Outcome,
    Placement,
    ReconcilePolicy,
)
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response

__all__ = [
    "EDIT",
    "ENVIRONMENT",
    "BrokerageError",
    "ChangeOutcome",
    "Client",
    "ConfigurationError",
    "Database",
    "EntryState",
    "FileDatabase",
    "InvalidRequestError",
    "JournalEntry",
    "JournalError",
    "MemoryJournal",
    "OrderChange",
    "OrderOutcomeUnknownError",
    "OrderRefusedError",
    "Outcome",
    "Placement",
    "Request",
    "RequestNotSentError",
    "Response",
    "ResponseLostError",
    "SqliteJournal",
    "new_client",
    "new_complex_order",
    "new_order",
    "new_order_entry",
    "wall_clock",
]

ENVIRONMENT = Environment.sandbox("https://sandbox.explorer.invalid")
CREDENTIALS = RefreshToken(client_secret="explorer-secret", refresh_token="explorer-refresh")
ORDER = tickets.limit(tickets.buy_to_open("AAPL", 10), price="10")
VALUE = 100
"""Dollars that one order is worth."""
EXIT = tickets.sell_to_close("AAPL", 10)
EDIT = models.OrderEdit.of(ORDER, price="11")
CLOSE = attrs.evolve(tickets.limit(EXIT, price="10"), advanced_instructions=None)
VERSION = "20261012"
PROFIT, LOSS = tickets.limit(EXIT, price="900"), tickets.stop(EXIT, trigger="5")


class WallClock:
    """The wall clock of every simulated machine. It takes the place of `time.time` while histories are played."""

    def __init__(self) -> None:
        self.read: Callable[[], float] = time.time

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the library read this clock."""
        with patch("time.time", lambda: self.read()):
            yield


wall_clock = WallClock()


class Database(SqlJournal):
    """The library's own journal statements on an SQLite database in memory. Runs them at once, without waiting.

    ``clock`` gives epoch seconds by the journal's clock.
    """

    _connection: ClassVar[sqlite3.Connection | None] = None
    _texts: ClassVar[dict[str, str]] = {}

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        if Database._connection is None:
            Database._connection = sqlite3.connect(":memory:", isolation_level=None)
            for statement in creation(table="entries", binary="BLOB", seconds="REAL"):
                Database._connection.execute(statement)
        for table in ("entries", "entries_halt", "entries_trip"):
            Database._connection.execute(f"DELETE FROM {table}")

    async def _run(
        self, statement: str, values: Mapping[str, object], *, renewal: bool = False, alone: bool = False
    ) -> Sequence[Sequence[Any]]:
        text = self._texts.get(statement)
        if text is None:
            text = self._texts[statement] = text_of(statement, table="entries", now=":now")
        return self._connection.execute(text, {**values, "now": self._clock()}).fetchall()

    async def aclose(self) -> None:
        """Keep the connection for the next history."""


class FileDatabase(SqlJournal):
    """Reader of the SQLite file of a journal, which may be missing. Runs statements at once."""

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock

    async def _run(
        self, statement: str, values: Mapping[str, object], *, renewal: bool = False, alone: bool = False
    ) -> Sequence[Sequence[Any]]:
        try:
            connection = sqlite3.connect(f"file:{self._path}?mode=rw", uri=True)
        except sqlite3.OperationalError:  # the file is missing
            return []
        try:
            return connection.execute(
                text_of(statement, table="entries", now=":now"), {**values, "now": self._clock()}
            ).fetchall()
        except sqlite3.OperationalError:  # the file is there, its table not yet
            return []
        finally:
            connection.close()

    async def aclose(self) -> None:
        """Do nothing: every statement opens its own connection."""


def new_client(transport: Any, *, attempts: int, max_retry_after: float, timeout: float) -> Client:
    """Return a client with the real session, retries, limits and token manager over ``transport``."""
    retry = RetryPolicy(jitter=lambda: 0.5, max_attempts=attempts, max_retry_after=max_retry_after)
    return Client(ENVIRONMENT, CREDENTIALS, transport=transport, retry=retry, timeout=timeout, accept_version=VERSION)


@attrs.frozen
class Ringing:
    """A client with other streams than its own."""

    session: Any
    environment: Environment
    stream: Any


def new_order_entry(
    client: Client,
    journal: Any,
    *,
    stream: Any = None,
    visibility_delay: float,
    lease: float,
    first: float,
    max_interval: float,
    give_up: float,
    cap: int,
) -> OrderEntry:
    """Return order entry over ``journal`` with these times in seconds, with push if there is a ``stream``.

    ``cap``: how many orders a day the guard lets through, by their values. 0 for no guard.
    """
    policy = ReconcilePolicy(
        visibility_delay=visibility_delay, first=first, factor=2.0, max_interval=max_interval, give_up=give_up
    )
    over = client if stream is None else Ringing(client.session, client.environment, stream)
    guard = OrderGuard(max_value_per_day=cap * VALUE) if cap else None
    return OrderEntry(over, journal, guard=guard, reconcile=policy, lease=lease, push=stream is not None)


@functools.cache
def new_order(identifier: str, *, closing: bool = False) -> models.NewOrder:
    """Return an order that stays working: it buys, or closes a position without asking for validation."""
    return attrs.evolve(CLOSE if closing else ORDER, external_identifier=identifier)


@functools.cache
def new_complex_order(identifier: str) -> models.NewComplexOrder:
    """Return a bracket whose trigger order stays working."""
    return tickets.bracket(new_order(identifier), profit=PROFIT, loss=LOSS)
