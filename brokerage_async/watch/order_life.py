"""When an order is over, and how to wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from .._generated.models import Order
from ..errors import NotFoundError
from ..protocol.order_status import TERMINAL
from .poll import Feed, Watcher
from .schedule import is_fatal

__all__ = ["is_terminal", "until_terminal"]

LOOKS = 3
"""How often an order must be found nowhere before it is taken not to exist: lists may be behind."""

RECHECK = 300.0
"""Seconds after which a working order that is not on today's list is looked up again."""

SETTLE = 5.0
"""Seconds between two such looks."""


def is_terminal(order: Order) -> bool:
    """Whether ``order`` will not change its status any more.

    A status that is not known counts as terminal when the order says when it became so.
    """
    if order.status is None or not order.status.is_known:
        return order.terminal_at is not None
    return order.status in TERMINAL


async def until_terminal(
    feed: Feed[Order],
    lease: Watcher[Order],
    id: str,  # noqa: A002
    look_up: Callable[[], Awaitable[Order | None]],
) -> Order:
    """Follow an order on the list that ``feed`` reads, and with ``look_up`` while it is not there; its last state."""
    clock = asyncio.get_running_loop().time
    absent, due = 0, 0.0
    while True:
        lease.check()
        latest = feed.latest
        order = None if latest is None else latest.get(id)
        if listed := order is not None:
            absent, due = 0, 0.0  # should it leave the list, it is looked up at once
        elif latest is not None and clock() >= due:
            try:
                order = await look_up()
            except Exception as error:
                if is_fatal(error, 1):
                    raise
                lease.report(error)
            else:
                absent = absent + 1 if order is None else 0
            if absent == LOOKS:
                raise NotFoundError(f"order {id} was found nowhere", code="record_not_found")
            due = clock() + (SETTLE if order is None else RECHECK)
        if order is not None and is_terminal(order):
            return order
        if feed.latest is latest:
            await feed.news(None if latest is None or listed else due - clock())
