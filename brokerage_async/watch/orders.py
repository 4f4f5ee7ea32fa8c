"""Single orders: whether one is terminal, and waiting until it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from .._generated.models import Order
from ..errors import NotFoundError
from ..protocol.order_status import TERMINAL
from .feed import Feed
from .poll import Watcher
from .schedule import is_fatal

__all__ = ["is_terminal", "until_terminal"]

MAX_LOOKUPS = 3
"""Lookups that must not find an order before it counts as nonexistent: lists may lag behind."""

LOOKUP_INTERVAL = 300.0
"""Seconds between two lookups of a working order that is not on today's list."""

ABSENT_LOOKUP_INTERVAL = 5.0
"""Seconds between two lookups of an order that was not found."""


def is_terminal(order: Order) -> bool:
    """Return True if the status of ``order`` is final.

    An unknown status counts as terminal if the order has a ``terminal_at``.
    """
    if order.status is None or not order.status.is_known:
        return order.terminal_at is not None
    return order.status in TERMINAL


async def until_terminal(
    feed: Feed[Order],
    watcher: Watcher[Order],
    id: str,  # noqa: A002
    look_up: Callable[[], Awaitable[Order | None]],
) -> Order:
    """Return an order once it is terminal.

    It is followed on the list that ``feed`` polls, and with ``look_up`` while it is not on that list.
    """
    clock = asyncio.get_running_loop().time
    absent, due = 0, 0.0
    while True:
        watcher.check()
        latest = feed.latest
        order = None if latest is None else latest.get(id)
        if listed := order is not None:
            absent, due = 0, 0.0  # looked up at once if it leaves the list
        elif latest is not None and clock() >= due:
            try:
                order = await look_up()
            except Exception as error:
                if is_fatal(error, 1):
                    raise
                watcher.on_failure(error)
            else:
                absent = absent + 1 if order is None else 0
            if absent == MAX_LOOKUPS:
                raise NotFoundError(f"order {id} was not found in {MAX_LOOKUPS} lookups", code="record_not_found")
            due = clock() + (ABSENT_LOOKUP_INTERVAL if order is None else LOOKUP_INTERVAL)
        if order is not None and is_terminal(order):
            return order
        if feed.latest is latest:
            await feed.wait(None if latest is None or listed else due - clock())
