"""Lists of a client that can be watched: keys, changes worth reporting, conditional fetches, and single orders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar, cast

import attrs

from .._arguments import running_loop
from .._generated.models import AccountBalance, InstrumentType, Order, OrderStatus, Position, QuoteAlert
from ..errors import InvalidRequestError, NotFoundError
from ..operation import BoundCall, Executor, Guard, Operation, Pager
from ..protocol.order_status import TERMINAL, is_complete
from ..protocol.validation.requests import check
from .diff import UNCHANGED, AlertKind, Change, ChangeKind, Derive
from .feed import Cursor, Feed, Listener, OnError, is_fatal, logger

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


def is_terminal(order: Order) -> bool:
    """Return True if the status of ``order`` is final; `is_complete` says whether it shows all its fills.

    An unknown status counts as terminal if the order has a ``terminal_at``.
    """
    if order.status is None or not order.status.is_known:
        return order.terminal_at is not None
    return order.status in TERMINAL


@attrs.frozen(kw_only=True)
class Listing(Generic[T]):
    """A list of a client, as ``read(api, *arguments)`` returns it.

    It is about these ``accounts``, or all. Their ``events`` on the account stream announce its changes, if it
    ``has_news`` at all.
    """

    name: str
    key: Callable[[T], Any]
    item_type: type[T]
    read: Callable[..., Awaitable[Any]]
    arguments: tuple[Hashable, ...] = ()
    accounts: tuple[str, ...] | None = None
    events: frozenset[str] = frozenset()
    has_news: Callable[[], bool] = lambda: True
    derive: Derive | None = None
    keep: Callable[[T], bool] = lambda _: False


def _unless_only(ignored: frozenset[str], change: Change[Any]) -> Iterable[Change[Any]]:
    """Drop a change of ``ignored`` fields alone."""
    return () if change.kind == ChangeKind.CHANGED and ignored.issuperset(change.fields) else (change,)


ORDERS: Listing[Order] = Listing(
    name="orders",
    key=attrgetter("id"),
    item_type=Order,
    read=lambda api, customer_id, accounts, filters: api.orders.live(customer_id, accounts, **dict(filters)),
    events=frozenset({"Order", "ComplexOrder"}),
    keep=is_terminal,
)
ALERTS: Listing[QuoteAlert] = Listing(
    name="quote_alerts",
    key=attrgetter("alert_external_id"),
    item_type=QuoteAlert,
    read=lambda api: api.quote_alerts.list(),
    events=frozenset({"QuoteAlert"}),
    derive=alert_changes,
)
# The service merges the positions in one instrument on request, so that each has one key.
POSITIONS: Listing[Position] = Listing(
    name="positions",
    key=PositionKey.of,
    item_type=Position,
    read=lambda api, account: api.positions.list(account, net_positions=True),
    events=frozenset({"CurrentPosition"}),
    derive=partial(_unless_only, frozenset({"updated_at"})),
)
MARKED_POSITIONS: Listing[Position] = attrs.evolve(
    POSITIONS,
    name="marked positions",
    read=lambda api, account: api.positions.list(account, net_positions=True, include_marks=True),
)
BALANCES: Listing[AccountBalance] = Listing(
    name="balances",
    key=BalanceKey.of,
    item_type=AccountBalance,
    read=lambda api, account: api.balances.list(account),
    events=frozenset({"AccountBalance"}),
    derive=partial(_unless_only, frozenset({"updated_at", "snapshot_date"})),
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


class ConditionalExecutor:
    """Executor for one repeated read: instead of a body equal to the previous one it returns `UNCHANGED`, undecoded."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._previous_body: bytes | None = None
        self._rows: dict[Any, Any] = {}
        self._missed: frozenset[Any] = frozenset()

    async def fetch_if_changed(self, call: BoundCall[T], previous_body: bytes | None) -> tuple[T, bytes | None] | None:
        return await self._executor.fetch_if_changed(call, previous_body)

    async def execute(self, call: BoundCall[T], *, guard: Guard | None = None) -> T:
        """Return the decoded result, or `UNCHANGED`, which endpoints return as it is."""
        found = await self._executor.fetch_if_changed(call, self._previous_body)
        if found is None:
            return cast("T", UNCHANGED)
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
        return self._executor.paginate(call)


HISTORY = timedelta(days=401)
"""Age of the oldest orders that are looked up: 400 days, and one because a search counts days in US Eastern time."""


class LiveFilters(TypedDict, total=False):
    """Filters of the list of orders that work or are of today. See ``client.orders.list_live``."""

    statuses: Sequence[OrderStatus | str]
    start_date: date
    end_date: date
    start_at: datetime
    end_at: datetime
    underlying_symbol: str
    underlying_instrument_type: InstrumentType | str
    futures_symbol: str


MAX_LOOKUPS = 3  # that must not find an order before it counts as nonexistent: lists may lag behind
LOOKUP_INTERVAL = 300.0  # seconds between two lookups of a working order that is not on today's list
ABSENT_LOOKUP_INTERVAL = 5.0  # seconds between two lookups of an order that was not found, or lacks fills
FILLS_DELAY = 30.0  # seconds that a terminal order may lack fills: of several legs, the first one's fill ends it

LookUp = Callable[[str], Awaitable[Order | None]]
"""Looks up an order that is not on the list, by its id."""


async def until_terminal(
    feed: Feed[Order], order_id: str, look_up: LookUp, *, follow: bool = False, on_error: OnError | None = None
) -> Order:
    """Return the order of `Watch.order`, from the list that ``feed`` polls, or ``look_up`` while it lacks the order."""
    listener, cursor = Listener(on_error), Cursor[Order](feed)
    replaced, before = set[str](), None
    cursor.attach(listener)
    try:
        while True:
            order = await _until_complete(feed, listener, order_id, look_up)
            if before is not None and _has_fills(before) and not (order.live_at or _has_fills(order)):
                return before
            replaced.add(order_id)
            successor = None if order.status is OrderStatus.FILLED else order.replacing_order_id
            if not follow or successor is None or successor in replaced:
                return order
            order_id, before = successor, order
    finally:
        feed.release(cursor)
        await feed.join()


async def _until_complete(feed: Feed[Order], listener: Listener, order_id: str, look_up: LookUp) -> Order:
    """Return this very order once it is complete, or terminal too long to expect its fills."""
    clock = running_loop().time
    absent, due, end = 0, 0.0, None
    while True:
        listener.check()
        feed.check()
        latest = feed.latest
        order = None if latest is None else latest.get(order_id)
        if listed := order is not None:
            absent, due = 0, 0.0  # looked up at once if it leaves the list
        elif latest is not None and clock() >= due:
            try:
                order = await look_up(order_id)
            except Exception as error:
                if is_fatal(error, 1):
                    raise
                listener.on_failure(error)
            else:
                absent = absent + 1 if order is None else 0
            if absent == MAX_LOOKUPS:
                raise NotFoundError(
                    f"order {order_id} was not found in {MAX_LOOKUPS} lookups: it is neither on today's list nor among "
                    f"the orders of the last {HISTORY.days - 1} days; a sandbox or simulator that was reset has "
                    "forgotten its orders",
                    code="record_not_found",
                )
            works = order is not None and not is_terminal(order)
            due = clock() + (LOOKUP_INTERVAL if works else ABSENT_LOOKUP_INTERVAL)
        times = [] if latest is None or listed else [due]
        if order is not None and is_terminal(order):
            if is_complete(order) or order.status not in TERMINAL:
                return order
            end = clock() + FILLS_DELAY if end is None else end
            if clock() >= end:
                message = "order %s is %s, but shows not all fills after %g s"
                logger.warning(message, order_id, order.status, FILLS_DELAY)
                return order
            times.append(end)
        if feed.latest is latest:
            feed.begin()
            await listener.wait(min(times) - clock() if times else None)


def _has_fills(order: Order) -> bool:
    return any(leg.fills for leg in order.legs or ())
