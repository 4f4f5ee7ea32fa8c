"""Working an order through prices: steps, ends, interruptions, and what `recover` finds."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import repeat
from typing import Any

import attrs
import pytest

from brokerage_async.errors import InvalidRequestError
from brokerage_async.journal import EntryState, JournalEntry
from brokerage_async.models import Fill, Order, OrderLeg, OrderStatus, TickSize
from brokerage_async.order_entry import Outcome, Placement
from brokerage_async.order_entry.work import Ladder, Prices
from brokerage_async.tickets import buy_to_open, market
from tests.http.calls import raised_by
from tests.partial_listings import altered
from tests.trading import POLICY, UNLISTED, Floor, cancelled, floor, order

pytestmark = pytest.mark.virtual_time

LADDER = [Decimal(10), Decimal(11), Decimal(12)]
EVERY = 5.0


async def worked(here: Floor, prices: Any = LADDER, name: str = "worked", *, entry: Any = None, **options: Any) -> Any:
    return await (entry or here.entry).work(here.account, order(name), prices, **{"every": EVERY, **options})


def prices_of(here: Floor) -> list[Decimal]:
    """Prices of the orders in the books, oldest first."""
    return [here.sim.brokerage.state.order_store.find(each.order_id).terms.price for each in here.orders("worked")]  # type: ignore[union-attr, misc]


async def entry_of(here: Floor) -> JournalEntry:
    return next(each for each in await here.journaled() if each.key.external_identifier == "worked")


async def recovered(here: Floor) -> Placement:
    """What `recover` says of the ladder. A replacement may have an entry of its own."""
    return next(each for each in await here.another_entry().recover() if each.external_identifier == "worked")


def state_of(placement: Placement) -> str:
    return f"{placement.order.status} at {placement.order.price}"


async def end_of(here: Floor, seconds: float) -> datetime:
    await here.client.positions.list(here.account)  # the service's clock is known from now on
    return datetime.fromtimestamp(here.sim.clock.now() + seconds, UTC)


async def test_each_price_is_tried_and_what_remains_is_cancelled(here: Floor) -> None:
    asked, began = [], here.sim.clock.now()

    async def prices() -> AsyncIterator[Decimal]:
        for price in LADDER:
            asked.append(here.sim.clock.now())
            yield price

    await here.entry.place(here.account, order("other"))
    ticket = attrs.evolve(order("worked"), price=Decimal(9))  # the first price counts
    placement = await here.entry.work(here.account, ticket, prices(), every=EVERY)
    assert (placement.outcome, state_of(placement)) == (Outcome.PLACED, "Cancelled at 12.00")
    assert [each.price for each in placement.replaced] == LADDER[:2]
    assert prices_of(here) == LADDER
    assert 3 * EVERY < here.sim.clock.now() - began < 3 * EVERY + 5
    assert min(asked[1] - asked[0], asked[2] - asked[1]) >= EVERY
    entry = await entry_of(here)
    assert (entry.state, entry.order_id) == (EntryState.PLACED, placement.order_id)
    assert [str(each.status) for each in here.orders("other")] == ["Live"]
    assert len(here.wire.bodies["orders.submit"]) == 2
    assert here.sim.ledger.count("orders.get") == 0  # the lists show what is to be replaced


async def test_partial_fills_stay_counted_and_the_rest_is_worked_on(here: Floor) -> None:
    task = asyncio.create_task(worked(here, [*LADDER, here.sim.price("AAPL") + 1]))
    await asyncio.sleep(3)
    here.sim.fill_order(here.orders("worked")[0].order_id, 4)
    placement = await task
    assert placement.order.status == "Filled"
    assert [leg.quantity for leg in placement.order.legs] == [6]
    assert sum(fill.quantity or 0 for fill in placement.fills) == 10


async def test_until_a_time_or_the_close_the_last_price_is_tried() -> None:
    async with floor() as here:
        end = await end_of(here, 60)
        placement = await worked(here, until=end)
        assert prices_of(here) == LADDER
        assert end < (placement.order.cancelled_at or end) < end + timedelta(seconds=5)
        early = await worked(here, name="early", every=60, until=end + timedelta(seconds=70))
        assert state_of(early) == "Cancelled at 11.00"
        await raised_by(worked(here, until=end), InvalidRequestError, "must be in the future")
    async with floor() as here:
        here.sim.clock.advance(5 * 3600)  # an hour is left
        placement = await worked(here, until="close")
        over = placement.order.terminal_at
        assert (over.hour, over.minute) == (20, 0)
        assert placement.order.status in ("Cancelled", "Expired")


async def test_a_price_that_does_not_come_delays_neither_the_end_nor_the_result() -> None:
    async def prices() -> AsyncIterator[Decimal]:
        yield LADDER[0]
        await asyncio.sleep(3000)

    async with floor() as here:
        end = await end_of(here, 60)
        assert (await worked(here, prices(), until=end)).order.status == "Cancelled"
        assert here.sim.clock.now() < end.timestamp() + 5
    async with floor() as here:
        began = here.sim.clock.now()
        task = asyncio.create_task(worked(here, prices()))
        await asyncio.sleep(20)
        here.sim.fill_order(here.orders("worked")[0].order_id)
        assert (await task).order.status == "Filled"
        assert here.sim.clock.now() - began < 60


async def test_a_price_may_come_twice_and_a_second_worker_of_the_order_sends_nothing(here: Floor) -> None:
    prices = [Decimal(each) for each in (10, 11, 10, 12)]
    task = asyncio.create_task(worked(here, prices))
    await asyncio.sleep(3)
    await raised_by(worked(here, entry=here.another_entry()), Exception, "another worker is placing this order")
    await task
    assert prices_of(here) == prices


async def test_the_entry_is_open_meanwhile_and_a_cancelled_caller_leaves_the_order_to_recover(here: Floor) -> None:
    task = asyncio.create_task(worked(here))
    await asyncio.sleep(EVERY + 3)
    assert (await entry_of(here)).state is EntryState.OPEN
    error = await cancelled(task, 0)
    left = error.placement
    assert state_of(left) == "Live at 11.00"
    assert "recover() will find it" in str(error.__notes__)
    found = await recovered(here)
    assert (found.outcome, found.order_id) == (Outcome.PLACED, left.order_id)
    placement = await worked(here, entry=here.another_entry())
    assert prices_of(here) == LADDER  # it went on after its price
    assert placement.order.price == 12
    assert [each.price for each in placement.replaced] == LADDER[:2]


async def test_a_caller_cancelled_before_the_order_has_a_name_learns_that_it_was_not_sent(here: Floor) -> None:
    for name in ("worked", None):
        here.sim.faults.add("GET", "/market-time/", "hang")
        error = await cancelled(worked(here, name=name, until="close"), 1)
        told = f"order {name or 'without an identifier'} of account {here.account} was not sent by this call"
        assert (error.placement, error.external_identifier, error.__notes__) == (None, name or "", [told])


async def test_a_half_done_step_is_found_by_recover_and_gone_on_with() -> None:
    async with floor() as here:
        here.sim.faults.add("PUT", r"/orders/\d+$", "hang_after")
        await cancelled(worked(here), EVERY + 1.5)  # the replacement is sent, and not answered
        await asyncio.sleep(10)
        assert state_of(await recovered(here)) == "Live at 11.00"
        here.on_lists(UNLISTED, times=6)
        assert state_of(await worked(here, entry=here.another_entry())) == "Cancelled at 12.00"
    async with floor() as here:
        await cancelled(worked(here), EVERY + 3)
        changed = [Decimal(20), *LADDER]  # at the price of its first order, whatever the list begins with now
        placement = await worked(here, changed, entry=here.another_entry())
        assert prices_of(here) == LADDER
        assert placement.order.price == 12


async def test_what_a_step_or_the_cancellation_could_not_do_is_noted(here: Floor) -> None:
    here.sim.faults.add("POST", r"/orders/\d+/dry-run$", "status(422)")
    here.sim.faults.add("DELETE", r"/orders/\d+$", "status(503)", times=None)
    placement = await worked(here)
    assert prices_of(here) == [10, 12]
    assert "not replaced at 11 (refused)" in placement.note
    assert placement.order.status == "Live"
    assert f"order {placement.order_id} may still work" in placement.note
    here.sim.faults.add("POST", r"/orders/\d+/dry-run$", "status(422)", times=None)
    placement = await worked(here, [Decimal(each) for each in range(10, 18)], "noted")
    assert [f"not replaced at {price}" in placement.note for price in range(11, 18)] == [False] * 3 + [True] * 4


async def test_a_replacement_that_no_list_shows_yet_does_not_end_the_ladder(here: Floor) -> None:
    def hide(document: Any) -> Any:
        rows = document["data"]["items"]
        document["data"]["items"] = [row for row in rows if not row.get("replaces-order-id")]
        for count in ("total-items", "current-item-count") if "pagination" in document else ():
            document["pagination"][count] = len(document["data"]["items"])
        return document

    here.sim.faults.add("PUT", r"/orders/\d+$", "after_status(502)")
    here.on_lists(altered("hiding", hide))
    task = asyncio.create_task(worked(here, LADDER[:2]))
    await asyncio.sleep(POLICY.give_up + 20)
    assert not task.done()
    here.sim.faults.clear()
    placement = await task
    assert state_of(placement) == "Cancelled at 11.00"
    assert {record.status for record in here.orders("worked")} == {"Cancelled"}


def test_more_than_remains_is_seen() -> None:
    asked = order("worked")
    ladder = Ladder(None, asked, Prices(asked, LADDER, None), 1, None, POLICY, None)  # type: ignore[arg-type]
    some = (Fill(fill_id="1", quantity=Decimal(4)),)
    old = Order(id="1", status=OrderStatus.CANCELLED, legs=(OrderLeg(symbol="AAPL", quantity=Decimal(10), fills=some),))
    for quantity, remaining, exceeds in ((6, None, False), (10, 6, False), (10, None, True), (10, 10, True)):
        rest = None if remaining is None else Decimal(remaining)
        leg = OrderLeg(symbol="AAPL", quantity=Decimal(quantity), remaining_quantity=rest)
        ladder._orders = {"1": old, "2": Order(id="2", status=OrderStatus.LIVE, legs=(leg,))}
        assert ladder._exceeds() is exceeds, (quantity, remaining)


WRONG: list[tuple[Any, Any, dict[str, Any], str]] = [
    *((order(), prices, {}, "prices must be 1 to 1000") for prices in ([], [Decimal(1)] * 1001, repeat(Decimal(1)))),
    *((order(), [price], {}, "Decimals greater than zero") for price in (10.0, Decimal(0), Decimal("NaN"))),
    (order(), 10, {}, "prices must be 1 to 1000 Decimals, got int"),
    (order(), None, {}, "prices must be 1 to 1000 Decimals, got NoneType"),
    (market(buy_to_open("AAPL", 1)), LADDER, {}, "must be a Limit"),
    (None, LADDER, {"until": "close"}, "must be a Limit"),
    (order(), LADDER, {"until": datetime(2026, 6, 10, 15)}, "aware date-time"),  # noqa: DTZ001
    (order(), LADDER, {"until": "open"}, "aware date-time"),
    (order(), [Decimal("10.001")], {"tick_sizes": [TickSize(value=Decimal("0.01"))]}, "on a tick"),
]


async def test_wrong_arguments_are_refused_before_anything_is_sent(here: Floor) -> None:
    for ticket, prices, options, reason in WRONG:
        with pytest.raises(InvalidRequestError, match=reason):
            await here.entry.work(here.account, ticket, prices, every=EVERY, **options)
    assert not here.wire.bodies
