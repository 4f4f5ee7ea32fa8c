"""Lists of a client that can be watched: keys, changes worth reporting, conditional fetches, single orders, fills."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar, cast

import attrs

from .._arguments import running_loop
from .._generated.endpoints import Endpoints
from .._generated.models import AccountBalance, InstrumentType, Order, OrderStatus, Position, QuoteAlert
from .._generated.operations import ORDERS_LIST
from ..errors import LIST_CHANGED, BrokerageError, InvalidRequestError, NotFoundError, ResponseDecodeError
from ..http.service_clock import MAX_SUSPENSION
from ..observers import FillSeen
from ..operation import BoundCall, Executor, Guard, Operation, Pager
from ..protocol.order_status import TERMINAL, is_complete, is_terminal
from ..protocol.retry import Fault, verdict_of
from ..protocol.validation.requests import check
from .diff import SILENT, UNCHANGED, AlertKind, Change, ChangeKind, Derive
from .feed import Cursor, Feed, Listener, OnError, is_fatal, logger
from .ledger import Books, Discrepancy, Execution, Fill, FillKind, Item, Ledger
from .poll import Iteration

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
        number, symbol = position.account_number, position.symbol
        return cls(number, symbol, position.instrument_type or "") if number and symbol else None


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
    """A list of a client, as ``read(api, *arguments)`` returns it.

    It is about these ``accounts``, or all. Their ``events`` on the account stream announce its changes, if it
    ``has_news`` at all.
    """

    name: str
    key: Callable[[T], Any]
    item_type: type[T] | None = None
    read: Callable[..., Awaitable[Any]]
    arguments: tuple[Any, ...] = ()
    accounts: tuple[str, ...] | None = None
    events: frozenset[str] = frozenset()
    has_news: Callable[[], bool] = lambda: True
    derive: Derive = lambda change: (change,)
    keep: Callable[[T], bool] = lambda _: False


def unless_only(*ignored: str) -> Derive:
    """Return a function that drops a change of ``ignored`` fields alone."""
    fields = frozenset(ignored)
    return lambda change: () if change.kind == ChangeKind.CHANGED and fields.issuperset(change.fields) else (change,)


ORDER_EVENTS = frozenset({"Order", "ComplexOrder"})


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
        """Return the decoded result, or `UNCHANGED`, which endpoints pass on."""
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


HISTORY = timedelta(days=401)  # of orders to look up: 400 days, and one because a search counts days in US Eastern time
MAX_LOOKUPS = 3  # that must not find an order before it counts as nonexistent: lists may lag behind
LOOKUP_INTERVAL = 300.0  # seconds between two lookups of a working order that is not on today's list
ABSENT_LOOKUP_INTERVAL = 5.0  # seconds between two lookups of an order that was not found, or lacks fills
FILLS_DELAY = 30.0  # seconds that a terminal order may lack fills: of several legs, the first one's fill ends it

LookUp = Callable[[str], Awaitable[Order | None]]  # of an order that is not on the list, by its id


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
    absent, due = 0, 0.0  # lookups in a row that did not find it, and when the next one is due
    end = math.inf  # of the wait for fills
    while True:
        if listener.raised is not None:
            raise listener.raised
        feed.check()
        latest = feed.latest
        order = (latest or {}).get(order_id)
        if is_listed := order is not None:
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
        wake = math.inf if latest is None or is_listed else due
        if order is not None and is_terminal(order):
            if is_complete(order) or order.status not in TERMINAL:
                return order
            end = min(end, clock() + FILLS_DELAY)
            if clock() >= end:
                message = "order %s is %s, but shows not all fills after %g s"
                logger.warning(message, order_id, order.status, FILLS_DELAY)
                return order
            wake = min(wake, end)
        if feed.latest is latest:
            feed.begin()
            await listener.wait(None if wake == math.inf else wake - clock())


def _has_fills(order: Order) -> bool:
    return any(leg.fills for leg in order.legs or ())


QUIET_SECONDS = 5.0  # without news until positions and transactions are read
CHECK_INTERVAL = 60.0  # seconds between two comparisons while there is no news
RECHECK_INTERVAL = 10.0  # seconds until the next one if it fails, or something does not add up
ROWS = 2000  # transactions per page, the maximum that is published


def _steps(change: Change[Item]) -> Iterable[Change[Any]]:
    """Turn the change of an item into one for each fill or discrepancy to report, or into a silent one."""
    before, after = change.before, change.after
    if isinstance(after, Discrepancy):
        return [attrs.evolve(change, kind=after.kind)]
    steps = list[Change[Any]]()
    if isinstance(after, Execution):
        for number in range(len(before.events) if isinstance(before, Execution) else after.skipped, len(after.events)):
            step = attrs.evolve(after, events=after.events[: number + 1])
            steps.append(attrs.evolve(change, kind=step.last.kind, before=before, after=step))
            before = step
    return steps or [attrs.evolve(change, kind=SILENT)]


FILL_TYPES: Mapping[str, type[Item]] = {"books": Books, "fill": Execution, "discrepancy": Discrepancy}


class FillReader:
    """Reads what the ledger of an account needs: its orders with each poll, the other witnesses after quiet moments.

    It begins where the consumer of ``cursor`` stands, else when it was ``called_at``, if the service's time was known
    then. Failures of comparisons do not delay the next fill.
    """

    cursor: Cursor[Item]

    def __init__(
        self,
        api: Endpoints,
        account: str,
        now: Callable[[], datetime],
        on_event: Callable[[FillSeen], object],
        called_at: datetime | None,
    ) -> None:
        self._api, self._account, self._now, self._on_event = api, account, now, on_event
        self._called_at = called_at
        self._clock: Callable[[], float] = running_loop().time
        self._created = self._clock()
        self._ledger = Ledger(account)
        self._check_at = 0.0
        self._read_at: datetime | None = None
        self._has_news = False  # a new fill in the last poll: other items have no event
        self._absent: set[str] = set()
        self.listing: Listing[Any] = Listing(
            name="fills", key=attrgetter("key"), read=self.read, arguments=(account, object()), accounts=(account,),
            events=ORDER_EVENTS, has_news=lambda: self._has_news, derive=_steps,
        )  # fmt: skip

    async def read(self, *_: object) -> Iterable[Item]:
        if not self._ledger.has_begun and self.cursor.seen:
            self._ledger.restore(self.cursor.seen.values())
        self._has_news, settled = await self._observe(), False
        if self._clock() >= self._check_at:
            try:
                settled = await self._check()
            except Exception as error:
                if is_fatal(error, 1):
                    raise
                self.cursor.listener.on_failure(error)
            self._check_at = max(self._check_at, self._clock() + (CHECK_INTERVAL if settled else RECHECK_INTERVAL))
        return self._ledger.items()

    async def _observe(self) -> bool:
        """Read the orders. Return whether they show something new."""
        orders = await self._api.orders.list_live(self._account).collect()
        now, books, last = self._now(), self._ledger.books, self._read_at
        if self._ledger.has_begun and (last is None or last.date() != now.date()):  # what the list of today has lost
            since = min(books.search_from, books.horizon.date()) if last is None else books.search_from
            pager = self._api.orders.list(self._account, start_date=since - timedelta(days=1))
            orders = [*await pager.collect(), *orders]  # the later one of an order counts
            if pager.disagreement is not None:  # an order may have slipped by: look again
                raise ResponseDecodeError(pager.disagreement, operation=ORDERS_LIST.name, code=LIST_CHANGED)
        self._read_at = now
        return self._take(orders)

    async def _check(self) -> bool:
        """Compare all witnesses, if the moment is quiet. Return whether everything adds up."""
        since = self._ledger.books.horizon.date() - timedelta(days=1)
        positions = await self._api.positions.list(self._account, net_positions=True)
        rows = await self._api.transactions.list(self._account, start_date=since, per_page=ROWS).collect()
        if await self._observe():
            return False
        strangers = self._ledger.strangers(rows)
        self._absent &= strangers
        for order_id in strangers - self._absent:
            try:
                self._take([await self._api.orders.get(self._account, order_id)], whole=False)
            except BrokerageError as error:
                if verdict_of(error).fault not in {Fault.REQUEST, Fault.ACCESS}:
                    raise
                self._absent.add(order_id)
        now = self._now()
        self._announce(self._ledger.reconcile(positions, rows, now), "transactions", now)
        return not self._ledger.is_unsettled

    def _take(self, orders: Iterable[Order], *, whole: bool = True) -> bool:
        now = self._now()
        began = now - timedelta(seconds=self._clock() - self._created)
        if self._called_at is not None and began - self._called_at > timedelta(seconds=MAX_SUSPENSION):
            began = self._called_at  # this machine has slept since, which the loop's clock does not count
        return self._announce(self._ledger.observe(orders, now, began, whole=whole), "orders", now)

    def _announce(self, news: Sequence[Fill], source: str, now: datetime) -> bool:
        """Compare later if there are new events. Return whether there are."""
        if news:
            self._check_at = self._clock() + QUIET_SECONDS
        for fill in news:
            if fill.kind is FillKind.FILL and fill.filled_at is not None:
                self._on_event(FillSeen(source=source, delay=max(0.0, (now - fill.filled_at).total_seconds())))
        return bool(news)


class FillWatcher(Iteration[Fill | Discrepancy]):
    """Async iterator over the executions of accounts, each once, from ``client.watch.fills``.

    It is closed, dropped and cancelled like a `Watcher`, and its state is used in the same way.
    """

    def _report(self, change: Change[Any]) -> Any:
        report = change.item.last if isinstance(change.item, Execution) else change.item
        return attrs.evolve(report, idempotency_key=change.idempotency_key, acknowledge=change.ack)
