"""Lists of several accounts as one stream: each account has polls of its own, and fails on its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import attrs

from .._generated.endpoints import Endpoints
from .._generated.models import AccountBalance, Position
from .._generated.operations import BALANCES_LIST, POSITIONS_LIST
from ..errors import InvalidRequestError, NotFoundError, PermissionDeniedError
from ..operation import Operation
from ..protocol.validation.requests import check
from .codec import ItemCodec
from .cursor import Cursor
from .diff import Change, ChangeKind, state_of
from .doorbell import Doorbell
from .durable import cursor_type
from .feed import Feed, wait_any
from .feeds import Feeds
from .ledger import Ledger
from .poll import Watcher, leave
from .schedule import Schedule
from .state import WatchState

__all__ = [
    "BALANCES",
    "MARKED_POSITIONS",
    "POSITIONS",
    "AccountList",
    "AccountWatches",
    "AccountsWatcher",
    "BalanceKey",
    "PositionKey",
]

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.watch")

MAX_POLLS = 4
"""Accounts that are polled at the same time; the others wait for their turn."""


class PositionKey(NamedTuple):
    """Identity of a position: account and instrument."""

    account_number: str
    symbol: str
    instrument_type: str

    @classmethod
    def of(cls, position: Position) -> PositionKey | None:
        """Return the key of a position, None without a symbol."""
        if not position.symbol:
            return None
        return cls(position.account_number or "", position.symbol, position.instrument_type or "")


class BalanceKey(NamedTuple):
    """Identity of a balance: account and currency."""

    account_number: str
    currency: str

    @classmethod
    def of(cls, balance: AccountBalance) -> BalanceKey:
        """Return the key of a balance."""
        return cls(balance.account_number or "", balance.currency or "")


@attrs.frozen
class AccountList(Generic[T]):
    """A list that every account has.

    Attributes:
        name: distinguishes it from other lists.
        operation: the operation that reads it.
        read: reads it.
        key: returns the identity of an item, a tuple that begins with the account; None leaves the item out.
        ignored: fields whose change alone is not reported.
        item_type: type of the items.
    """

    name: str
    operation: Operation[Any]
    read: Callable[[Endpoints, str], Awaitable[Iterable[T]]]
    key: Callable[[T], Any]
    ignored: frozenset[str]
    item_type: type[T]

    def derive(self, change: Change[T]) -> tuple[Change[T], ...]:
        """Return the change, or nothing if only ignored fields differ."""
        noise = change.kind == ChangeKind.CHANGED and self.ignored.issuperset(change.fields)
        return () if noise else (change,)


# The service merges the positions in one instrument on request, so that each of them has one key.
POSITIONS: AccountList[Position] = AccountList(
    "positions",
    POSITIONS_LIST,
    lambda api, account: api.positions.list(account, net_positions=True),
    PositionKey.of,
    frozenset({"updated_at"}),
    Position,
)
MARKED_POSITIONS: AccountList[Position] = attrs.evolve(
    POSITIONS,
    name="marked positions",
    read=lambda api, account: api.positions.list(account, net_positions=True, include_marks=True),
)
BALANCES: AccountList[AccountBalance] = AccountList(
    "balances",
    BALANCES_LIST,
    lambda api, account: api.balances.list(account),
    BalanceKey.of,
    frozenset({"updated_at", "snapshot_date"}),
    AccountBalance,
)


class AccountWatches:
    """Watches lists of accounts: a feed for each account, of which a bounded number polls at the same time."""

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._polls = asyncio.Semaphore(MAX_POLLS)

    def watch(
        self,
        account_numbers: Sequence[str],
        listing: AccountList[T],
        schedule: Schedule,
        *,
        initial: bool,
        seed: Iterable[T] | Mapping[Any, T] | None,
        on_error: Callable[[Exception], None] | None,
        doorbell: Callable[[str], Doorbell | None] = lambda _: None,
        state: WatchState | None = None,
    ) -> AccountsWatcher[T]:
        """Return a watcher of a list of each account; ``doorbell`` returns that of an account."""
        accounts = _check_accounts(account_numbers, listing.operation)
        known = state_of(seed, listing.key)
        ledger = None if state is None else self._ledger(state, accounts, listing)

        def cursor(account: str) -> Cursor[T]:
            own = None if known is None else {key: item for key, item in known.items() if key[0] == account}
            feed = self._feed(account, listing, schedule, doorbell(account))
            make = cursor_type(ledger, part=account, owns=lambda key: bool(key[0] == account))
            return make(feed, initial=initial, seed=own, on_error=on_error, derive=listing.derive)

        return AccountsWatcher({account: cursor(account) for account in accounts}, on_error=on_error, ledger=ledger)

    def _ledger(self, state: WatchState, accounts: Iterable[str], listing: AccountList[T]) -> Ledger[T]:
        feed = self._feeds.identity(listing.name, accounts=sorted(accounts))
        return Ledger(state, feed, ItemCodec(listing.key, listing.item_type))

    def _feed(self, account: str, listing: AccountList[T], schedule: Schedule, doorbell: Doorbell | None) -> Feed[T]:
        async def read(api: Endpoints) -> Iterable[T]:
            async with self._polls:
                return await listing.read(api, account)

        return self._feeds.get((listing.name, account), schedule, read, listing.key, doorbell)


class AccountsWatcher(Watcher[T]):
    """A `Watcher` of several accounts: a failure of one does not hold up the changes of the others.

    Args:
        cursors: a cursor for each account.
        on_error: called when an account is given up. Default: a logged error.
        ledger: the ledger that the cursors share, if they have one.

    Attributes:
        failed: accounts that are given up because access was denied or they are unknown, with their errors.
    """

    def __init__(
        self,
        cursors: Mapping[str, Cursor[T]],
        *,
        on_error: Callable[[Exception], None] | None,
        ledger: Ledger[T] | None = None,
    ) -> None:
        self._cursors = dict(cursors)
        self._ledger = ledger
        self._given_up: list[Cursor[T]] = []
        self._on_error = on_error
        self._error: Exception | None = None
        self._closed = False
        self.failed: dict[str, Exception] = {}
        if ledger is not None:
            ledger.call_on_change(self._announcer())

    @property
    def snapshot(self) -> dict[Any, T]:
        """The items by key after all changes reported so far; those of a failed account as they were last."""
        cursors = (*self._given_up, *self._cursors.values())
        return {key: item for cursor in cursors for key, item in cursor.snapshot.items()}

    def check(self) -> None:
        """Raise the error that ended the polling, if any."""
        if self._error is not None:
            raise self._error
        for cursor in self._cursors.values():
            cursor.check()

    def _take(self) -> Change[T] | None:
        for account, cursor in self._cursors.items():
            if (change := cursor.take()) is not None:
                self._cursors[account] = self._cursors.pop(account)  # the other accounts are next
                return change
        return None

    def _ended(self) -> bool:
        for account, cursor in tuple(self._cursors.items()):
            error = cursor.feed.error
            denied = cursor.error is None and isinstance(error, PermissionDeniedError | NotFoundError)
            if denied and error is not None and len(self._cursors) > 1:
                self._give_up(account, error)
            elif cursor.ended:
                return True
        return self._error is not None

    def _give_up(self, account: str, error: Exception) -> None:
        """Go on without an account."""
        self._given_up.append(self._cursors.pop(account))
        self.failed[account] = error
        if self._on_error is None:
            operation, status = getattr(error, "operation", None), getattr(error, "status", None)
            logger.error("an account is no longer watched: %s %s %s", type(error).__name__, operation, status)
            return
        try:
            self._on_error(error)
        except Exception as raised:  # a callback ends the iteration by raising
            self._error = raised

    def _wait(self) -> Awaitable[None]:
        return wait_any([cursor.feed for cursor in self._cursors.values()])

    def _leave(self) -> Awaitable[None]:
        self._announcer()()
        return leave(tuple(self._cursors.values()), self._ledger)

    def _announcer(self) -> Callable[[], None]:
        """Return a function that wakes the tasks that wait here, without a reference to this watcher."""
        feeds = [cursor.feed for cursor in self._cursors.values()]

        def announce() -> None:
            for feed in feeds:
                feed.announce()

        return announce


def _check_accounts(account_numbers: Sequence[str], operation: Operation[Any]) -> tuple[str, ...]:
    """Return the accounts, each once, if each can be part of a path."""
    if isinstance(account_numbers, str) or not isinstance(account_numbers, Iterable):
        raise InvalidRequestError(f"account_numbers must be a list of str, got {account_numbers!r}")
    accounts = tuple(dict.fromkeys(account_numbers))
    if not accounts:
        raise InvalidRequestError("account_numbers must hold at least one account, got none")
    for account in accounts:
        check(operation, {"account_number": account}, {}, None)
    return accounts
