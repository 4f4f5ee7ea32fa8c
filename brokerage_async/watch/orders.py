"""Single orders: whether one is terminal and shows all its fills, and waiting until it does."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import date, datetime, timedelta
from typing import TypedDict

from .._arguments import running_loop
from .._generated.models import InstrumentType, Order, OrderStatus
from ..errors import NotFoundError
from ..protocol.order_status import TERMINAL, is_complete
from .feed import Cursor, Feed, Listener, OnError
from .schedule import is_fatal

logger: logging.Logger = logging.getLogger("brokerage_async.watch")

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


MAX_LOOKUPS = 3
"""Lookups that must not find an order before it counts as nonexistent: lists may lag behind."""

LOOKUP_INTERVAL = 300.0
"""Seconds between two lookups of a working order that is not on today's list."""

ABSENT_LOOKUP_INTERVAL = 5.0
"""Seconds between two lookups of an order that was not found, or lacks fills."""

FILLS_DELAY = 30.0
"""Seconds that a terminal order may lack fills: of several legs, the first one's fill ends it."""


def is_terminal(order: Order) -> bool:
    """Return True if the status of ``order`` is final; `is_complete` says whether it shows all its fills.

    An unknown status counts as terminal if the order has a ``terminal_at``.
    """
    if order.status is None or not order.status.is_known:
        return order.terminal_at is not None
    return order.status in TERMINAL


async def until_terminal(
    feed: Feed[Order],
    id: str,  # noqa: A002
    look_up: Callable[[str], Awaitable[Order | None]],
    *,
    follow: bool = False,
    on_error: OnError | None = None,
) -> Order:
    """Return an order once it is complete. With ``follow`` the one that works in its place, however often replaced.

    A replacement that a fill of its original has ended never worked: the original is returned, with that fill.

    It is followed on the list that ``feed`` polls, and with ``look_up`` while it is not on that list.

    Raises:
        NotFoundError: several lookups did not find the order.
    """
    listener, cursor = Listener(on_error), Cursor[Order](feed)
    replaced, before = set[str](), None
    cursor.attach(listener)
    try:
        while True:
            order = await _until_complete(feed, listener, id, look_up)
            if before is not None and _has_fills(before) and not (order.live_at or _has_fills(order)):
                return before
            replaced.add(id)
            successor = None if order.status is OrderStatus.FILLED else order.replacing_order_id
            if not follow or successor is None or successor in replaced:
                return order
            id, before = successor, order  # noqa: A001
    finally:
        feed.release(cursor)
        await feed.join()


async def _until_complete(
    feed: Feed[Order],
    listener: Listener,
    id: str,  # noqa: A002
    look_up: Callable[[str], Awaitable[Order | None]],
) -> Order:
    """Return this very order once it is complete, or terminal too long to expect its fills."""
    clock = running_loop().time
    absent, due, end = 0, 0.0, None
    while True:
        listener.check()
        feed.check()
        latest = feed.latest
        order = None if latest is None else latest.get(id)
        if listed := order is not None:
            absent, due = 0, 0.0  # looked up at once if it leaves the list
        elif latest is not None and clock() >= due:
            try:
                order = await look_up(id)
            except Exception as error:
                if is_fatal(error, 1):
                    raise
                listener.on_failure(error)
            else:
                absent = absent + 1 if order is None else 0
            if absent == MAX_LOOKUPS:
                raise NotFoundError(
                    f"order {id} was not found in {MAX_LOOKUPS} lookups: it is neither on today's list nor among the "
                    f"orders of the last {HISTORY.days - 1} days; a sandbox or simulator that was reset has forgotten "
                    "its orders",
                    code="record_not_found",
                )
            works = order is not None and not is_terminal(order)
            due = clock() + (LOOKUP_INTERVAL if works else ABSENT_LOOKUP_INTERVAL)
        if order is not None and is_terminal(order):
            if is_complete(order) or order.status not in TERMINAL:
                return order
            end = clock() + FILLS_DELAY if end is None else end
            if clock() >= end:
                logger.warning("order %s is %s, but shows not all fills after %g s", id, order.status, FILLS_DELAY)
                return order
        if feed.latest is latest:
            times = [each for each in (None if latest is None or listed else due, end) if each is not None]
            feed.begin()
            await listener.wait(min(times) - clock() if times else None)


def _has_fills(order: Order) -> bool:
    return any(leg.fills for leg in order.legs or ())
