"""Single orders: terminal statuses and waiting for them, over a hand-fed list on the virtual clock."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from brokerage_async._generated.models import Fill, Order, OrderLeg, OrderStatus
from brokerage_async.errors import ConfigurationError, NotFoundError
from brokerage_async.watch import is_complete
from brokerage_async.watch.feed import Feed, Schedule
from brokerage_async.watch.lists import (
    ABSENT_LOOKUP_INTERVAL,
    FILLS_DELAY,
    MAX_LOOKUPS,
    until_terminal,
)

pytestmark = pytest.mark.virtual_time


class List:
    """A list of orders that is polled every second, and older ones to be looked up."""

    def __init__(self, *listed: Order, older: Any = None) -> None:
        self.listed = list(listed)
        self.older = older
        self.looks: list[float] = []
        self.errors: list[Exception] = []

    async def fetch(self) -> list[Order]:
        return list(self.listed)

    async def look_up(self, id: str) -> Order | None:
        self.looks.append(asyncio.get_running_loop().time())
        found = self.older.pop(0) if isinstance(self.older, list) else self.older
        if isinstance(found, Exception):
            raise found
        return found

    async def wait(self, id: str = "1", *, follow: bool = False) -> Order:
        feed: Feed[Order] = Feed(self.fetch, key=lambda order: order.id, schedule=Schedule(interval=1.0))
        return await until_terminal(feed, id, self.look_up, follow=follow, on_error=self.errors.append)


def of(status: str, id: str = "1", by: str | None = None) -> Order:
    return Order(id=id, status=OrderStatus(status), replacing_order_id=by)


def filled(*fills: int, status: str = "Filled", id: str = "1", by: str | None = None, second: int = 0) -> Order:
    """An order of two legs of 10: the first has these fills, the second one fill of ``second``."""
    legs = (
        OrderLeg(quantity=10, remaining_quantity=10 - sum(fills), fills=tuple(Fill(quantity=each) for each in fills)),
        OrderLeg(quantity=10, remaining_quantity=10 - second, fills=(Fill(quantity=second),) if second else ()),
    )
    return Order(id=id, status=OrderStatus(status), replacing_order_id=by, legs=legs)


NEW_STATUS = Order(status=OrderStatus("Something New"), terminal_at=datetime(2026, 3, 2, tzinfo=UTC))


async def test_until_terminal_filled_with_fills_missing_is_waited_for() -> None:
    """An order of several legs is `Filled` when its first leg is. The fills of the others come later."""
    orders = List(filled(10))
    waiting = asyncio.create_task(orders.wait())
    await asyncio.sleep(3.5)
    assert not waiting.done()
    orders.listed[:] = [filled(10, second=10)]
    assert is_complete(await waiting)
    assert (asyncio.get_running_loop().time(), orders.looks) == (4, [])


async def test_until_terminal_fills_that_never_come_end_the_wait_in_time(caplog: pytest.LogCaptureFixture) -> None:
    assert await List(filled(10)).wait() == filled(10)
    assert asyncio.get_running_loop().time() == FILLS_DELAY
    assert f"order 1 is Filled, but shows not all fills after {FILLS_DELAY:g} s" in caplog.text


async def test_until_terminal_unknown_status_or_late_listing_ends() -> None:
    assert (await List(attrs.evolve(NEW_STATUS, id="1")).wait()).id == "1"
    assert asyncio.get_running_loop().time() == 0
    orders = List()
    waiting = asyncio.create_task(orders.wait())
    await asyncio.sleep(ABSENT_LOOKUP_INTERVAL + 1)
    orders.listed.append(of("Filled"))
    assert (await waiting).status == "Filled"


async def test_until_terminal_follow_returns_the_replacement_unless_a_fill_of_the_original_has_ended_it() -> None:
    """A replacement that never worked has no result to report. The original has one, with its fills."""
    partly, live = filled(4, status="Cancelled", by="2"), datetime(2026, 3, 2, tzinfo=UTC)
    rejected = of("Rejected", "2")
    for listed, expected in (
        ([partly, rejected], "1"),
        ([partly, of("Cancelled", "2")], "1"),
        ([partly, filled(10, second=10, id="2")], "2"),
        ([partly, attrs.evolve(of("Cancelled", "2"), live_at=live)], "2"),
        ([of("Filled", by="2"), rejected], "1"),
        ([of("Rejected", by="2"), rejected], "2"),
        ([of("Expired", by="2"), rejected], "2"),
        ([of("Cancelled", by="2"), rejected], "2"),
        ([of("Cancelled", by="2"), of("Cancelled", "2", by="1")], "2"),  # a circle ends
        ([of("Cancelled", by="1")], "1"),
    ):
        assert (await List(*listed).wait(follow=True)).id == expected, listed


async def test_until_terminal_follow_waits_for_the_last_replacement() -> None:
    orders = List(of("Live"))
    waiting = asyncio.create_task(orders.wait(follow=True))
    await asyncio.sleep(2.5)
    orders.listed[:] = [of("Replace Requested", by="2"), of("Contingent", "2")]
    await asyncio.sleep(2)
    orders.listed[:] = [of("Cancelled", by="2"), of("Live", "2")]
    await asyncio.sleep(2)
    orders.listed[:] = [of("Cancelled", "2", by="3"), of("Live", "3")]
    await asyncio.sleep(2)
    assert not waiting.done()
    orders.listed[:] = [of("Filled", "3")]
    end = await waiting
    assert (end.id, end.status) == ("3", "Filled")
    assert orders.looks == []


async def test_until_terminal_follow_looks_up_a_replacement_that_is_not_listed() -> None:
    orders = List(of("Cancelled", by="2"), older=[None, of("Expired", "2")])
    assert (await orders.wait(follow=True)).id == "2"
    assert orders.looks == [0, ABSENT_LOOKUP_INTERVAL]


async def test_until_terminal_forgotten_order_raises() -> None:
    """The service was reset while the order was watched."""
    orders = List(of("Live"))
    waiting = asyncio.create_task(orders.wait())
    await asyncio.sleep(2.5)
    orders.listed.clear()
    with pytest.raises(NotFoundError, match=r"order 1 was not found .* reset has forgotten its orders"):
        await waiting
    assert asyncio.get_running_loop().time() == 3 + (MAX_LOOKUPS - 1) * ABSENT_LOOKUP_INTERVAL


async def test_until_terminal_client_closed_during_a_lookup_raises_at_once() -> None:
    feed: Feed[Order] = Feed(List().fetch, key=lambda order: order.id, schedule=Schedule(interval=1.0))

    async def look_up(_: str) -> Order:
        await feed.aclose()
        return of("Live")

    with pytest.raises(ConfigurationError, match="the client is closed"):
        await until_terminal(feed, "1", look_up)
    assert asyncio.get_running_loop().time() == 0
