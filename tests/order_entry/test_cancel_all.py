"""Cancelling everything: complex orders first, until the lists prove it, and closing positions."""

import asyncio
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async.errors import BrokerageError, ConfigurationError, InvalidRequestError
from brokerage_async.journal import EntryState
from brokerage_async.models import InstrumentType, LegAction, Order, TimeInForce
from brokerage_async.order_entry import CancelOutcome, OrderEntry, Outcome
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.simulator import faults
from brokerage_async.tickets import limit, sell_to_close
from tests.http.calls import raised_by
from tests.partial_listings import altered
from tests.tables import for_each, lacks
from tests.trading import TIMEOUT, UNLISTED, Floor, HookedJournal, bracket_order, floor, hold, on_floor, order

pytestmark = pytest.mark.virtual_time

CANCELS = r"/(complex-)?orders/\d+$"
POSITIONS = r"/positions($|\?)"
DAY = "2026-06-01T14:00:00Z"


async def place(here: Floor, *names: str) -> list[str]:
    """Place orders that stay at work. Return their ids."""
    numbers = [(await here.entry.place(here.account, order(name))).order_id for name in names]
    await asyncio.sleep(5)
    return numbers


async def flatten(here: Floor, *, another: bool = False) -> Any:
    """Cancel all and close positions, perhaps in a process that starts later. Return the closing orders."""
    entry = here.another_entry() if another else here.entry
    return (await entry.cancel_all(here.account, flatten=True)).closing


def held(here: Floor, symbol: str = "AAPL") -> Decimal:
    here.sim.settle()
    state = here.sim.brokerage.state
    return Decimal(state.accounts.of(state.owner)[0].held(symbol))


async def held_later(here: Floor, symbol: str = "AAPL") -> Decimal:
    await asyncio.sleep(30)
    return held(here, symbol)


async def future_of(here: Floor) -> str:
    [future] = await here.client.instruments.futures().collect(max_items=1)
    return str(future.symbol)


async def test_complex_orders_are_cancelled_first_and_as_wholes(here: Floor) -> None:
    hold(here, "MSFT")
    single, *_ = await place(here, "single", "another")
    whole = (await here.entry.place_complex(here.account, bracket_order("bracket"))).order_id
    await asyncio.sleep(5)
    result = await here.entry.cancel_all(here.account)
    assert result.is_proven
    sent = [each.operation for each in here.sim.ledger.requests if each.method == "DELETE"]
    assert sent == ["complex_orders.cancel", "orders.cancel", "orders.cancel"]
    assert {row.outcome for row in result.values()} == {CancelOutcome.CANCELLED}
    assert len(result) == 2 + 3 + 1  # two orders, three components, and the bracket itself
    assert len(result[whole].orders) == 3
    assert lacks(repr(result), f"{single}: cancelled", f"{whole}: cancelled") == []
    assert (result.closing, await held_later(here, "MSFT")) == ((), 10)


@for_each(
    "action",
    [
        "drop_before", "drop_after", "hang", "hang_after", "truncate", "garbage", "status(500)", "after_status(503)",
        "html(502)", "after_html(502)", "rate_limited", "unauthorized", faults.body(b""), faults.delay(TIMEOUT + 5),
        "status(422)", "status(404)",
    ],
)  # fmt: skip
@on_floor()
async def test_every_fault_of_a_request_is_resolved_by_the_lists(here: Floor, action: Any) -> None:
    numbers = await place(here, "first", "second")
    here.sim.faults.add("DELETE", CANCELS, action, times=2)
    result = await here.entry.cancel_all(here.account)
    assert result.is_proven
    assert {number: result[number].outcome for number in numbers} == dict.fromkeys(numbers, "cancelled")
    assert {here.status(number) for number in numbers} == {"Cancelled"}


async def test_order_on_its_way_is_asked_for_again_and_a_filled_one_is_told_with_its_fills(here: Floor) -> None:
    whole, part = await place(here, "whole", "part")
    routed = (await here.entry.place(here.account, order("routed"))).order_id
    here.sim.hold_order(routed, "Routed")
    here.sim.faults.add("DELETE", rf"/({whole}|{part})$", "status(503)", times=2)
    task = asyncio.create_task(here.entry.cancel_all(here.account))
    await asyncio.sleep(0.3)
    here.sim.fill_order(whole)
    here.sim.fill_order(part, 4)
    await asyncio.sleep(30)
    here.sim.release_order(routed)
    result = await task
    told = {number: (row.outcome, sum(fill.quantity or 0 for fill in row.fills)) for number, row in result.items()}
    assert told == {whole: ("filled", 10), part: ("cancelled", 4), routed: ("cancelled", 0)}
    asked = [each.target for each in here.sim.ledger.requests if each.method == "DELETE"]
    assert sum(target.endswith(f"/{routed}") for target in asked) > 3


async def test_order_that_is_not_seen_to_end_in_time_is_unknown(here: Floor) -> None:
    stuck, other = await place(here, "stuck", "other")
    here.sim.faults.add("DELETE", rf"/{stuck}$", "status(503)", times=None)
    result = await here.entry.cancel_all(here.account)
    assert (result.is_proven, result[stuck].outcome, result[other].outcome) == (False, "unknown", "cancelled")
    assert "503" in str(result[stuck].error)
    here.on_lists("status(503)")
    await raised_by(here.entry.cancel_all(here.account), BrokerageError, "503")
    assert here.status(stuck) == "Live"
    here.sim.faults.clear()
    task = asyncio.create_task(here.entry.cancel_all(here.account, flatten=True))
    await asyncio.sleep(0.3)
    here.sim.faults.add("GET", r"/orders", "status(503)", times=None)
    result = await task
    assert (result.is_proven, result[stuck].outcome, result.closing) == (False, "unknown", ())


async def test_where_selects_and_a_component_selects_its_complex_order(here: Floor) -> None:
    def stop(each: Order) -> bool:
        return each.order_type == "Stop"

    old, one, other = await place(here, "old", "one", "other")
    await here.entry.cancel(here.account, old, wait=True)
    await asyncio.sleep(60)
    assert set(await here.entry.cancel_all(here.account, where=lambda each: each.id in (old, other))) == {other}
    [other] = await place(here, "another")
    await here.entry.place_complex(here.account, bracket_order("bracket"))
    result = await here.entry.cancel_all(here.account, where=lambda each: each.id == other)
    assert (set(result), here.status(one)) == ({other}, "Live")
    result = await here.entry.cancel_all(here.account, where=stop)
    assert (len(result), here.status(one)) == (4, "Live")
    await raised_by(here.entry.cancel_all(here.account, where=5), ConfigurationError, "where must be")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match="where must be None with flatten"):
        await here.entry.cancel_all(here.account, where=stop, flatten=True)
    async with here.sim.client(transport=here.sim.transport(), read_only=True) as client:
        await raised_by(client.order_entry(here.journal).cancel_all(here.account), ConfigurationError, "read")


@on_floor(without=["live_lists_keep_working_orders"])
async def test_an_old_order_that_today_s_list_lacks_is_found_by_the_last_look(here: Floor) -> None:
    old = attrs.evolve(order("old"), time_in_force=TimeInForce.GTC)
    number = (await here.entry.place(here.account, old)).order_id
    here.sim.clock.advance(5 * 86400)
    for _ in range(400):  # between the two: two pages that end the reading of a look not far back
        await here.client.orders.submit(here.account, order(quantity=1))
    here.sim.clock.advance(15 * 86400)
    await place(here, "new")
    result = await here.entry.cancel_all(here.account)
    assert (result.is_proven, here.status(number)) == (True, "Cancelled")


async def test_flatten_closes_each_kind_of_position_and_nothing_twice(here: Floor) -> None:
    for kind, symbol, action, quantity in (
        (InstrumentType.EQUITY, "AAPL", LegAction.BUY_TO_OPEN, "10"),
        (InstrumentType.EQUITY, "MSFT", LegAction.SELL_TO_OPEN, "5"),
        (InstrumentType.EQUITY, "TSLA", LegAction.BUY_TO_OPEN, "0.5"),
        (InstrumentType.EQUITY_OPTION, "AAPL  260619C00200000", LegAction.BUY_TO_OPEN, "2"),
        (InstrumentType.FUTURE, await future_of(here), LegAction.SELL, "1"),
    ):
        hold(here, symbol, quantity, kind=kind, action=action)
    before = [row.symbol for row in await here.client.positions.list(here.account)]
    assert len(before) == 5
    closing = await flatten(here)
    assert [each.outcome for each in closing] == [Outcome.PLACED] * len(before), closing
    await asyncio.sleep(30)
    assert {symbol: held(here, symbol) for symbol in before if symbol} == dict.fromkeys(before, 0)
    assert await flatten(here) == ()


@for_each("action", ["drop_after", "hang_after", "after_status(503)", "garbage", faults.delay(8.0)])
@on_floor()
async def test_a_repeated_flatten_does_not_sell_twice(here: Floor, action: Any) -> None:
    hold(here)
    here.on_submit(action)
    await asyncio.gather(flatten(here), flatten(here, another=True))
    here.sim.faults.clear()
    for _ in range(2):
        await asyncio.sleep(30)
        await flatten(here, another=True)
    assert held(here) == 0


async def test_a_record_of_positions_that_lags_behind_sells_nothing_twice(here: Floor) -> None:
    hold(here)
    seen: list[Any] = []

    def stale(document: Any) -> Any:
        seen.append(document)
        return seen[0]

    here.sim.faults.add("GET", POSITIONS, altered("stale", stale), times=None)
    first = await flatten(here)
    await asyncio.sleep(30)
    second = await flatten(here, another=True)
    assert held(here) == 0
    assert [each.order_id for each in first] == [each.order_id for each in second]


async def test_a_closing_order_is_named_after_the_state_of_its_position(here: Floor) -> None:
    hold(here)
    shown, names = list[Any](), list[str]()
    for new in ({}, {"quantity": "9"}, {"quantity-direction": "Short"}, {"created-at": DAY}, {"updated-at": DAY}, {}):

        def changed(document: Any, new: dict[str, str] = new) -> Any:
            shown.append(document["data"]["items"])
            document["data"]["items"] = [{**row, **new} for row in shown[0]]
            return document

        here.sim.faults.add("GET", POSITIONS, altered("changed", changed))
        names += [each.external_identifier for each in await flatten(here)]
    assert all(name.endswith("-1") for name in names), names
    assert (len(names), len(set(names)), names[0] == names[-1]) == (6, 5, True)


async def test_fills_that_are_just_booked_are_waited_for(here: Floor) -> None:
    [number] = await place(here, "opening")
    here.sim.fill_order(number, 6)
    filled = here.sim.clock.now()
    await flatten(here)
    [asked] = [each.at for each in here.sim.ledger.requests if each.operation == "positions.list"]
    assert asked - filled >= 5
    assert await held_later(here) == 0


async def test_while_the_market_is_closed_one_closing_order_waits(here: Floor) -> None:
    hold(here)
    here.sim.clock.advance(9 * 3600)
    [first] = await flatten(here)
    second = await here.another_entry().cancel_all(here.account, flatten=True)
    assert second[first.order_id].outcome is CancelOutcome.CANCELLED
    working = [each for each in here.sim.ledger.orders() if each.status not in TERMINAL]
    assert [each.order_id for each in working if each.account_number == here.account] == [second.closing[0].order_id]
    here.sim.clock.advance(15 * 3600)
    assert held(here) == 0


async def test_a_position_whose_order_may_still_work_is_left_alone(here: Floor) -> None:
    hold(here)
    hold(here, "MSFT")
    exit_order = attrs.evolve(limit(sell_to_close("AAPL", 10), price="900"), external_identifier="exit")
    number = (await here.entry.place(here.account, exit_order)).order_id
    here.sim.faults.add("DELETE", rf"/{number}$", "status(503)", times=None)
    closing = await flatten(here)
    assert [each.outcome for each in closing] == [Outcome.NOT_SENT, Outcome.PLACED]
    assert "AAPL is not closed" in closing[0].note
    assert [await held_later(here), held(here, "MSFT")] == [10, 0]


@for_each("filled, outcome", [(4, Outcome.NOT_SENT), (0, Outcome.PLACED)])
@on_floor()
async def test_a_future_that_another_call_is_closing_is_left_alone(here: Floor, filled: int, outcome: Outcome) -> None:
    """Its order is returned while the position is the same."""
    future = await future_of(here)
    hold(here, future, kind=InstrumentType.FUTURE, action=LegAction.BUY)
    here.sim.clock.advance(3 * 86400 + 9 * 3600)  # a Saturday: closing orders wait
    here.sim.faults.add("GET", POSITIONS, faults.delay(6.0))
    late = asyncio.create_task(flatten(here))
    await asyncio.sleep(0.8)  # it has looked, and reads the positions once the order of the other call has a fill
    [closing] = await flatten(here, another=True)
    if filled:
        here.sim.fill_order(closing.order_id, filled)
    [left] = await late
    assert (left.outcome, held(here, future)) == (outcome, 10 - filled)
    assert here.sim.ledger.count("orders.submit") == 1
    here.sim.clock.advance(3 * 86400)
    assert held(here, future) == 0


async def test_nothing_is_closed_while_the_working_orders_cannot_be_read(here: Floor) -> None:
    hold(here)
    here.sim.faults.add("GET", POSITIONS, faults.delay(6.0))
    task = asyncio.create_task(flatten(here))
    await asyncio.sleep(3)
    here.sim.faults.add("GET", r"/orders", "status(503)", times=None)
    [left] = await task
    assert (left.outcome, held(here)) == (Outcome.NOT_SENT, Decimal(10))


async def test_a_closing_order_of_unknown_outcome_is_searched_for_before_another_is_sent(here: Floor) -> None:
    hold(here)
    here.on_submit("drop_after")
    here.on_lists(UNLISTED)
    assert [each.outcome for each in await flatten(here)] == [Outcome.UNKNOWN]
    hold(here, quantity=5)  # the position has another state now, and its closing order another name
    assert [each.outcome for each in await flatten(here, another=True)] == [Outcome.UNKNOWN]
    assert here.sim.ledger.count("orders.submit") == 1


async def test_a_closing_order_that_got_lost_is_sent_again_once_it_is_abandoned(here: Floor) -> None:
    hold(here)
    here.on_submit("drop_before")
    for _ in range(2):
        [lost] = await flatten(here)
        assert (lost.outcome, lost.code) == (Outcome.UNKNOWN, "absent")
    assert await here.entry.abandon(here.account, lost.external_identifier, note="the broker has no such order")
    assert [each.outcome for each in await flatten(here)] == [Outcome.PLACED]
    assert await held_later(here) == 0


async def test_during_a_halt_cancels_and_closing_orders_go_out_and_nothing_else(here: Floor) -> None:
    hold(here, quantity=5)
    prices = [Decimal(10), Decimal(11)]
    work = here.entry.work(here.account, order("worked"), prices, every=5, allow_warnings=True)
    task = asyncio.create_task(work)
    await asyncio.sleep(3)
    await here.entry.halt("test")
    refused = await here.entry.place(here.account, order("other"))
    assert (refused.outcome, refused.error and refused.error.code) == (Outcome.REFUSED, "halted")
    assert "not replaced at 11 (refused)" in (await task).note
    assert [each.outcome for each in await flatten(here)] == [Outcome.PLACED]
    assert await held_later(here) == 0
    assert here.sim.ledger.count("orders.replace") == 0


async def test_flatten_that_ends_early_leaves_no_closing_order_under_way() -> None:
    """With an error of the journal's own, and cancelled while two outcomes are recorded."""
    finds, delays = iter([True]), iter([1.0, 5.0])

    async def find(call: Any, *names: Any, **values: Any) -> Any:
        if next(finds, False):
            raise OSError("no route to the database")
        return await call(*names, **values)

    async def close(call: Any, *names: Any, **values: Any) -> Any:
        await asyncio.sleep(next(delays))
        return await call(*names, **values)

    failing, slow = HookedJournal(find=find), HookedJournal(close=close)
    for journal, error, placed in ((failing, OSError, 1), (slow, asyncio.CancelledError, 2)):
        async with floor() as here:
            hold(here, "AAPL")
            hold(here, "MSFT")
            task = asyncio.create_task(OrderEntry(here.client, journal).cancel_all(here.account, flatten=True))
            await asyncio.sleep(1.5)
            task.cancel()
            await raised_by(task, error)
            assert [each.state for each in await journal.entries()] == [EntryState.PLACED] * placed
