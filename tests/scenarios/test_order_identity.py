"""Answers that are not ours, orders that show no identifier, and a gateway whose clock is ahead."""

import asyncio
import email.utils
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from brokerage_async.journal import EntryState
from brokerage_async.order_entry import Outcome
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults
from tests.trading import COMPLEX, SINGLE, Floor, floor, leave_open, order, place_unknown

pytestmark = pytest.mark.virtual_time

UNECHOED = ("external_identifier_echoed",)


def stale() -> faults.Fault:
    """Answer each submit with the answer to the submit before it."""
    before: list[Response | None] = []

    def answer(response: Response | None) -> Response:
        before.append(response)
        return before[-2] if len(before) > 1 else response

    return faults.Fault(name="stale", answer=answer)


def ahead(seconds: float) -> Callable[[Any], Any]:
    """Set the gateway's clock ahead of the clock that stamps the orders."""

    def over(inner: Any) -> Any:
        async def send(request: Request) -> Response:
            response = await inner.send(request)
            shown = email.utils.parsedate_to_datetime(response.headers["date"]).timestamp()
            headers = {**response.headers, "date": email.utils.formatdate(shown + seconds, usegmt=True)}
            return attrs.evolve(response, headers=headers)

        return SimpleNamespace(send=send, close=inner.close)

    return over


async def test_answer_to_another_request_gives_no_order_its_id() -> None:
    for kind, without in ((SINGLE, ()), (SINGLE, UNECHOED), (COMPLEX, ()), (COMPLEX, UNECHOED)):
        async with floor(without=without) as here:
            here.sim.faults.add("POST", kind.submit, stale(), times=None)
            names = [f"order {number}" for number in range(12)]
            placements = [await kind.place(here.entry, here.account, name) for name in names]
            ids = [kind.ids(here, one.external_identifier) for one in placements]
            assert ids == [[one.order_id] for one in placements], (kind.name, without)
            expected = ["identifier_not_echoed"] if without else []
            assert {tuple(code.code for code in one.warnings) for one in placements} == {tuple(expected)}


async def test_answer_without_an_identifier_is_read_back(here: Floor) -> None:
    """The order that it names is read before the lists show it. One that is not ours is not taken."""
    mine = await here.entry.place(here.account, order("mine"))
    for name, number in (("named", None), ("misled", mine.order_id)):

        def nameless(response: Response | None, number: str | None = number) -> Response:
            body = response.body.replace(b'"external-identifier"', b'"unknown"')
            if number is not None:
                body = b'{"data":{"order":{"id":' + number.encode() + b"}}}"
            return attrs.evolve(response, body=body)

        here.on_submit(faults.Fault(name="nameless", answer=nameless))
        if number is None:
            here.on_lists(faults.status(403), times=2)
        placement = await here.entry.place(here.account, order(name))
        assert [placement.order_id] == [record.order_id for record in here.orders(name)]
        assert placement.warnings == ()


async def test_two_orders_without_identifiers_that_fit_are_unknown() -> None:
    async with floor(without=UNECHOED) as here:
        placing = asyncio.ensure_future(place_unknown(here, fault="drop_after", resubmit=3))
        await asyncio.sleep(1)
        await here.client.orders.submit(here.account, order())
        error = await placing
        assert (error.code, "each may be this one" in str(error)) == ("identifier_conflict", True)
        (found,) = await here.another_entry().recover()
        assert (found.outcome, found.code) == (Outcome.UNKNOWN, "identifier_conflict")
        assert here.sim.ledger.count("orders.submit") == 2


async def test_one_order_without_identifiers_that_fits_two_entries_is_unknown() -> None:
    async with floor(without=UNECHOED) as here:
        await leave_open(here, "arrived")
        await leave_open(here, "never", "drop_before")
        found = await here.another_entry().recover()
        assert [(one.outcome, one.code) for one in found] == [(Outcome.UNKNOWN, "identifier_conflict")] * 2
        assert {entry.state for entry in await here.journaled()} == {EntryState.OPEN}


async def test_order_without_an_identifier_beside_others_with_one_is_doubted(here: Floor) -> None:
    await here.entry.place(here.account, order("another", 11))
    placing = asyncio.ensure_future(place_unknown(here, fault="drop_before"))
    await asyncio.sleep(1)
    await here.client.orders.submit(here.account, order())
    assert (await placing).code == "identifier_conflict"


async def test_order_without_an_identifier_of_before_is_not_ours() -> None:
    for seconds, code in ((600.0, "absent"), (30.0, "identifier_conflict")):
        async with floor(without=UNECHOED) as here:
            await here.client.orders.submit(here.account, order())
            await asyncio.sleep(seconds)
            assert (await place_unknown(here, fault="drop_before")).code == code


async def test_gateway_whose_clock_is_ahead_hides_no_order() -> None:
    for seconds in (15, 16, 60, 240, -60):
        for kind in (SINGLE, COMPLEX):
            async with floor(over=ahead(seconds)) as here:
                here.sim.faults.add("POST", kind.submit, "drop_after")
                placement = await kind.place(here.entry, here.account, "lost")
                assert (placement.outcome, kind.ids(here, "lost")) == (Outcome.PLACED, [placement.order_id])
                here.sim.faults.add("GET", kind.lists, faults.status(403), times=3)
                await place_unknown(here, "left", kind=kind, fault="drop_after")
                (found,) = await here.another_entry().recover()
                assert found.outcome is Outcome.PLACED, seconds
