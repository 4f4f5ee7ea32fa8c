"""The watcher of fills: reads the lists of an account for its `Ledger`, and reports every execution once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Final, Literal

import attrs
import msgspec

from .._arguments import running_loop
from .._generated.endpoints import Endpoints
from .._generated.models import Order
from .._generated.operations import ORDERS_LIST
from ..errors import LIST_CHANGED, NotFoundError, ResponseDecodeError
from ..observers import FillSeen
from .diff import SILENT, UNCHANGED, Change, Unchanged
from .feed import Cursor, is_fatal
from .ledger import Books, Discrepancy, Execution, Fill, FillKind, Item, Ledger
from .lists import ORDERS, Listing
from .poll import Iteration
from .state import ItemCodec

QUIET_SECONDS: Final = 5.0  # without news until positions and transactions are read
CHECK_INTERVAL: Final = 60.0  # seconds between two comparisons while there is no news
RECHECK_INTERVAL: Final = 10.0  # seconds until the next one if it fails, or something does not add up
ROWS: Final = 2000  # transactions per page, the maximum that is published


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


def _report(change: Change[Any]) -> Fill | Discrepancy:
    item: Execution | Discrepancy = change.item
    return item if isinstance(item, Discrepancy) else item.last


class FillCodec(ItemCodec[Item]):
    """Items of a ledger as JSON."""

    def encode(self, item: Item) -> bytes:
        return msgspec.json.encode(item)

    def decode(self, key: str, data: bytes) -> Item:
        types: Mapping[str, type[Item]] = {"books": Books, "fill": Execution, "discrepancy": Discrepancy}
        return msgspec.json.decode(data, type=types[json.loads(key)[1]])


@attrs.define(eq=False, repr=False)
class FillReader:
    """Reads what the ledger of an account needs: its orders with each poll, the other witnesses after quiet moments.

    It begins where the consumer of ``cursor`` stands. Failures of comparisons do not delay the next fill.
    """

    _api: Endpoints
    _account: str
    now: Callable[[], datetime]
    on_event: Callable[[FillSeen], object]
    cursor: Cursor[Item] = attrs.field(init=False)
    ledger: Ledger = attrs.field(default=attrs.Factory(lambda self: Ledger(self._account), takes_self=True), init=False)
    _created: float = attrs.field(factory=lambda: running_loop().time(), init=False)
    _check_at: float = attrs.field(default=attrs.Factory(attrgetter("_created"), takes_self=True), init=False)
    _read_at: datetime | None = attrs.field(default=None, init=False)
    _reported: list[Item] | None = attrs.field(default=None, init=False)
    _has_news: bool = attrs.field(default=False, init=False)  # a new fill in the last poll: other items have no event
    _absent: set[str] = attrs.field(factory=set, init=False)

    @property
    def listing(self) -> Listing[Any]:
        """The items of the ledger, a list that is shared with no other watcher."""
        return Listing(
            name="fills", key=attrgetter("key"), item_type=object, read=self.read, arguments=(self._account, object()),
            accounts=(self._account,), events=ORDERS.events, has_news=lambda: self._has_news,
        )  # fmt: skip

    async def read(self, *_: object) -> Iterable[Item] | Literal[Unchanged.UNCHANGED]:
        """Return the items of the ledger after one more poll."""
        if not self.ledger.has_begun and self.cursor.seen:
            self.ledger.restore(self.cursor.seen.values())
        self._has_news = await self._observe()
        clock = running_loop().time
        if clock() >= self._check_at:
            try:
                settled = await self._check()
            except Exception as error:
                if is_fatal(error, 1):
                    raise
                self.cursor.listener.on_failure(error)
                settled = False
            self._check_at = max(self._check_at, clock() + (CHECK_INTERVAL if settled else RECHECK_INTERVAL))
        items = self.ledger.items()
        if items == self._reported:
            return UNCHANGED
        self._reported = items
        return items

    async def _observe(self) -> bool:
        """Read the orders. Return whether they show something new."""
        orders = await self._api.orders.list_live(self._account).collect()
        now, books, last = self.now(), self.ledger.books, self._read_at
        if self.ledger.has_begun and (last is None or last.date() != now.date()):  # what the list of today has lost
            since = min(books.search_from, books.horizon.date()) if last is None else books.search_from
            pager = self._api.orders.list(self._account, start_date=since - timedelta(days=1))
            found = {order.id: order for order in await pager.collect()}
            if pager.disagreement is not None:  # an order may have slipped by: look again
                raise ResponseDecodeError(pager.disagreement, operation=ORDERS_LIST.name, code=LIST_CHANGED)
            orders = list({**found, **{order.id: order for order in orders}}.values())
        self._read_at = now
        return self._take(orders, whole=True)

    def _take(self, orders: Iterable[Order], *, whole: bool) -> bool:
        clock, now = running_loop().time(), self.now()
        began = now - timedelta(seconds=clock - self._created)
        news = self.ledger.observe(orders, now, began, whole=whole)
        self._announce(news, "orders", now)
        return bool(news)

    async def _check(self) -> bool:
        """Compare all witnesses, if the moment is quiet. Return whether everything adds up."""
        since = self.ledger.books.horizon.date() - timedelta(days=1)
        positions = await self._api.positions.list(self._account, net_positions=True)
        rows = await self._api.transactions.list(self._account, start_date=since, per_page=ROWS).collect()
        if await self._observe():
            return False
        for order_id in self.ledger.strangers(rows) - self._absent:
            try:
                self._take([await self._api.orders.get(self._account, order_id)], whole=False)
            except NotFoundError:
                self._absent.add(order_id)
        now = self.now()
        self._announce(self.ledger.reconcile(positions, rows, now), "transactions", now)
        return not self.ledger.is_unsettled

    def _announce(self, news: Iterable[Fill], source: str, now: datetime) -> None:
        for fill in news:
            self._check_at = running_loop().time() + QUIET_SECONDS
            if fill.kind is FillKind.FILL and fill.filled_at is not None:
                self.on_event(FillSeen(source=source, delay=max(0.0, (now - fill.filled_at).total_seconds())))


class FillWatcher(Iteration[Fill | Discrepancy]):
    """Async iterator over the executions of accounts, each once, from ``client.watch.fills``.

    It is closed, dropped and cancelled like a `Watcher`, and its state is used in the same way.
    """

    def __init__(self, parts: Mapping[str, Cursor[Item]], **options: Any) -> None:
        super().__init__(parts, report=_report, derive=_steps, codec=FillCodec(None), **options)
