"""Lists of a client that can be watched: keys of their items, changes worth reporting, and conditional fetches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from operator import attrgetter
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import attrs

from .._generated.endpoints import Endpoints
from .._generated.models import AccountBalance, MarketSession, Order, Position, QuoteAlert
from .._generated.operations import BALANCES_LIST, POSITIONS_LIST
from ..errors import InvalidRequestError
from ..operation import BoundCall, Executor, Guard, Operation, Pager
from ..protocol.validation.requests import check
from .diff import UNCHANGED, AlertKind, Change, ChangeKind, Derive, Unchanged
from .feed import FetchItems
from .orders import is_terminal

T = TypeVar("T")
E = TypeVar("E")


def alert_changes(change: Change[QuoteAlert]) -> Iterable[Change[QuoteAlert]]:
    """Split ``change`` into one change per timestamp set since, in the order of `AlertKind`.

    A new alert counts as created. A change that sets no timestamp, or that removes the alert, is returned unchanged.
    """
    before, after = change.before, change.after
    if after is None:
        return (change,)
    kinds = [
        kind
        for kind in AlertKind
        if (getattr(after, f"{kind}_at") is not None and (before is None or getattr(before, f"{kind}_at") is None))
        or (kind is AlertKind.CREATED and before is None)
    ]
    return [attrs.evolve(change, kind=kind) for kind in kinds] or (change,)


class PositionKey(NamedTuple):
    """Identity of a position: account and instrument."""

    account_number: str
    symbol: str
    instrument_type: str

    @classmethod
    def of(cls, position: Position) -> PositionKey | None:
        """Return the key of a position, None without a symbol or an account."""
        if not position.symbol or not position.account_number:
            return None
        return cls(position.account_number, position.symbol, position.instrument_type or "")


class BalanceKey(NamedTuple):
    """Identity of a balance: account and currency."""

    account_number: str
    currency: str

    @classmethod
    def of(cls, balance: AccountBalance) -> BalanceKey | None:
        """Return the key of a balance, None without an account."""
        return cls(balance.account_number, balance.currency or "") if balance.account_number else None


@attrs.frozen(kw_only=True)
class Listing(Generic[T]):
    """A list of a client. ``events`` are those of the account stream that announce its changes."""

    name: str
    events: frozenset[str]
    key: Callable[[T], Any]
    item_type: type[T]
    derive: Derive | None = None
    keep: Callable[[T], bool] = lambda _: False


@attrs.frozen(kw_only=True)
class AccountListing(Listing[T]):
    """A list that every account has. Its keys are tuples that begin with the account."""

    operation: Operation[Any]
    read: Callable[[Endpoints, str], Awaitable[Iterable[T]]]


def _unless_only(*fields: str) -> Derive:
    """Return a function that drops changes of these fields alone."""
    ignored = frozenset(fields)

    def derive(change: Change[Any]) -> Iterable[Change[Any]]:
        return () if change.kind == ChangeKind.CHANGED and ignored.issuperset(change.fields) else (change,)

    return derive


ORDERS: Listing[Order] = Listing(
    name="orders",
    events=frozenset({"Order", "ComplexOrder"}),
    key=attrgetter("id"),
    item_type=Order,
    keep=is_terminal,
)
ALERTS: Listing[QuoteAlert] = Listing(
    name="quote_alerts",
    events=frozenset({"QuoteAlert"}),
    key=attrgetter("alert_external_id"),
    item_type=QuoteAlert,
    derive=alert_changes,
)
SESSIONS: Listing[MarketSession] = Listing(
    name="market", events=frozenset(), key=attrgetter("session_date"), item_type=MarketSession
)
# The service merges the positions in one instrument on request, so that each of them has one key.
POSITIONS: AccountListing[Position] = AccountListing(
    name="positions",
    events=frozenset({"CurrentPosition"}),
    key=PositionKey.of,
    item_type=Position,
    derive=_unless_only("updated_at"),
    operation=POSITIONS_LIST,
    read=lambda api, account: api.positions.list(account, net_positions=True),
)
MARKED_POSITIONS: AccountListing[Position] = attrs.evolve(
    POSITIONS,
    name="marked positions",
    read=lambda api, account: api.positions.list(account, net_positions=True, include_marks=True),
)
BALANCES: AccountListing[AccountBalance] = AccountListing(
    name="balances",
    events=frozenset({"AccountBalance"}),
    key=BalanceKey.of,
    item_type=AccountBalance,
    derive=_unless_only("updated_at", "snapshot_date"),
    operation=BALANCES_LIST,
    read=lambda api, account: api.balances.list(account),
)


def check_accounts(account_numbers: Iterable[str], operation: Operation[Any]) -> tuple[str, ...]:
    """Return the accounts, each once, if there are any and each can be part of a path."""
    if isinstance(account_numbers, str) or not isinstance(account_numbers, Iterable):
        raise InvalidRequestError(f"account_numbers must be a list of str, got {account_numbers!r}")
    accounts = list(account_numbers)
    if not accounts:
        raise InvalidRequestError("account_numbers must hold at least one account, got none")
    for account in accounts:
        check(operation, {"account_number": account}, {}, None)
    return tuple(dict.fromkeys(accounts))


class BodyUnchanged(Exception):  # noqa: N818 - a signal to `conditional_fetch`
    """The body is byte for byte the previous one."""


class ConditionalExecutor:
    """Executor for one repeated read: a body equal to the previous one is not decoded."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._previous_body: bytes | None = None
        self._rows: dict[Any, Any] = {}
        self._missed: frozenset[Any] = frozenset()

    async def fetch_if_changed(self, call: BoundCall[T], previous_body: bytes | None) -> tuple[T, bytes | None] | None:
        """Delegate to the wrapped executor."""
        return await self._executor.fetch_if_changed(call, previous_body)

    async def execute(self, call: BoundCall[T], *, guard: Guard | None = None) -> T:
        """Return the decoded result, or raise `BodyUnchanged`."""
        found = await self._executor.fetch_if_changed(call, self._previous_body)
        if found is None:
            raise BodyUnchanged
        value, self._previous_body = found
        if self._previous_body is not None or not call.operation.identity:
            self._rows, self._missed = {}, frozenset()
            return value
        # A row may slip by between two pages though their totals agree: it is gone once two readings in a row lack it.
        rows, identity = cast("list[Any]", value), attrgetter(*call.operation.identity)
        latest = {identity(row): row for row in rows}
        missed = {name: row for name, row in self._rows.items() if name not in latest and name not in self._missed}
        self._rows, self._missed = latest | missed, frozenset(missed)
        return cast("T", [*rows, *missed.values()])

    def paginate(self, call: BoundCall[list[E]]) -> Pager[E]:
        """Return the pages, changed or not."""
        return self._executor.paginate(call)


def conditional_fetch(
    executor: Executor, read: Callable[[Endpoints], Awaitable[Iterable[T] | Literal[Unchanged.UNCHANGED]]]
) -> FetchItems[T]:
    """Build a fetch for `poll` from one endpoint call.

    It returns `UNCHANGED`, without decoding, if the body equals the previous one.
    """
    api = Endpoints(ConditionalExecutor(executor))

    async def fetch() -> Any:
        try:
            return await read(api)
        except BodyUnchanged:
            return UNCHANGED

    return fetch
