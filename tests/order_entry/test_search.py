"""Search for journaled orders: the orders that are taken for ours, and the others."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async._generated.models import ComplexOrder, LegAction, NewOrder, Order, OrderLeg, OrderStatus
from brokerage_async.errors import PermissionDeniedError, ServerError
from brokerage_async.journal import EntryKey, JournalEntry, MemoryJournal
from brokerage_async.operation import BoundCall, Page
from brokerage_async.order_entry import context as module
from brokerage_async.order_entry.context import Attempts, Context
from brokerage_async.order_entry.decisions import ReconcilePolicy, SearchResult
from brokerage_async.order_entry.lists import Sighting, Window, poll_until
from brokerage_async.order_entry.orders import terms_of
from brokerage_async.order_entry.search import IdentifierSearch
from tests.order_entry.accounts import NOW, Account, order, poll
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time


BODY = (
    b'{"order-type":"Limit","time-in-force":"Day","price":"10",'
    b'"legs":[{"instrument-type":"Equity","symbol":"AAPL","action":"Buy to Open","quantity":"10"}]}'
)


def searching(
    account: Account, *, attempts: int = 1, now: datetime | None = None, body: bytes = BODY, order_id: str | None = None
) -> IdentifierSearch:
    key, journal = EntryKey("https://api.example.com", "sandbox", "A1", "a"), MemoryJournal()
    entry = JournalEntry(key=key, body=body, attempts=attempts, opened_at=NOW, order_id=order_id)
    context = Context(
        executor=account,  # type: ignore[arg-type]
        journal=journal,
        attempts=Attempts(journal, 30.0),
        origin=key.origin,
        environment=key.environment,
        service_now=lambda: now,
    )
    return IdentifierSearch(context, "A1", Window.from_now(NOW), {"a": entry})


def carrier(number: int, **terms: Any) -> Order:
    return Order(id=str(number), external_identifier="a", status=OrderStatus.LIVE, received_at=NOW, **terms)


async def test_order_that_may_have_been_sent_twice_is_looked_for_to_the_end() -> None:
    pages = [[carrier(2)], [carrier(1)]]
    once, twice = (searching(Account([[]], pages), attempts=attempts) for attempts in (1, 2))
    assert (await once.poll(["a"])).orders["a"].id == (await twice.poll(["a"])).orders["a"].id == "2"
    assert once.duplicates("a") == ""
    assert twice.duplicates("a") == "2 live orders carry this identifier: 1, 2"
    # One without an id precedes no other one.
    nameless = attrs.evolve(carrier(0, price=Decimal(11)), id=None)
    found = await searching(Account([[]], [[nameless, carrier(1, price=Decimal(10))]]), attempts=2).poll(["a"])
    assert found.orders["a"].id == "1"
    # A service in disorder: each of two orders names the other one as its predecessor.
    circle = [carrier(1, replaces_order_id="2"), carrier(2, replaces_order_id="1")]
    search = searching(Account([circle], [[]]), attempts=2)
    assert (await search.poll(["a"])).orders["a"].id == "1"
    assert search.conflict("a") == ""


async def test_what_turns_out_to_be_another_order_does_not_end_the_reading() -> None:
    """The replacement of another order comes before the order that it replaces: first it looks like ours."""
    other = [carrier(3, replaces_order_id="2"), carrier(2, price=Decimal(9))]
    search = searching(Account([[]], [other, [carrier(1, price=Decimal(10))]]), attempts=1)
    first, second = await search.poll(["a"]), await search.poll(["a"])
    assert (dict(first.orders), first.complete) == ({}, False)
    assert second.orders["a"].id == "1"


def test_terms_are_those_of_the_bytes_if_they_are_an_order() -> None:
    body = b'{"order-type":"Limit","price":"1.50","legs":[{"symbol":"AAPL","quantity":"10"}],"new-field":1}'
    terms = terms_of(body, NewOrder)
    assert (terms.order_type, terms.price, terms.legs[0].symbol) == ("Limit", Decimal("1.50"), "AAPL")
    assert terms.extra == {"new-field": 1}
    for legs in (b"[null, {}]", b'{"symbol": "AAPL"}'):
        assert terms_of(b'{"legs": %b}' % legs, NewOrder) is None, legs
    for body in (b"", b"\xff", b"[]", b"null", b'{"price": []}', b'{"price": 1e99999999999999999999}'):
        assert terms_of(body, NewOrder) is None, body


class Endless(Account):
    """An account whose list of all orders never ends. Each page takes a second."""

    def paginate(self, call: BoundCall[list[Order]]) -> Any:
        if call.operation.name != "orders.list":
            return super().paginate(call)

        class Lists:
            async def pages(self) -> AsyncIterator[Page[Order]]:
                for number in itertools.count():
                    await asyncio.sleep(1)
                    yield Page((order(f"x{number}"),), None, number)

        return Lists()


async def test_search_gives_up_in_time_and_at_once_when_it_is_hopeless() -> None:
    forbidden, policy, polls = PermissionDeniedError("no", status=403, from_service=True), ReconcilePolicy(), []

    async def once() -> tuple[bool, Sighting]:
        polls.append(await poll(account, "a"))
        return False, polls[-1]

    account = Account([forbidden], [forbidden])
    assert await poll_until(policy, once) is SearchResult.UNDETERMINED
    assert len(polls) == 1
    account, began = Endless([[]], []), asyncio.get_running_loop().time()
    policy = ReconcilePolicy(give_up=40)
    assert await poll_until(policy, once) is SearchResult.UNDETERMINED
    assert asyncio.get_running_loop().time() - began < policy.give_up + 20
    sighting = await poll(account, "a")
    assert (sighting.complete, "did not end within" in str(sighting.error)) == (False, True)


async def test_order_received_before_ours_was_journaled_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Identifiers that repeat, of a counter for example: the terms are the same, the order is not."""
    hour_later = NOW + timedelta(hours=1)
    for now, ours in ((NOW, True), (hour_later, False), (None, True)):
        search = searching(Account([[carrier(1)]], [[]]), now=now)
        sighting = await search.poll(["a"])
        assert list(sighting.orders) == (["a"] if ours else [])
        assert ("was received before this one was journaled" in search.conflict("a")) is not ours
    # The machine was suspended: the event loop's clock stood still for an hour, the service's went on.
    search, suspended_until = searching(Account([[carrier(1)]], [[]]), now=hour_later), time.time() + 3600
    monkeypatch.setattr(module.time, "time", lambda: suspended_until)
    assert list((await search.poll(["a"])).orders) == ["a"]


@pytest.mark.parametrize("year", [1, 9999])
async def test_poll_with_absurd_times_reads_on(year: int) -> None:
    absurd = Order(id="x", external_identifier="x", received_at=datetime(year, 1, 1, tzinfo=UTC))
    for pages in ([[absurd], [order("a")]], [[order("y"), absurd], [order("a")]]):
        found = searching(Account([[]], pages), now=NOW)
        assert list((await poll(Account([[]], pages), "a")).orders) in (["a"], [])
        assert (await found.poll(["a"])).complete


@for_each("failure, permanent", [(PermissionDeniedError, True), (ServerError, False)])
async def test_poll_reports_why_a_listed_complex_order_cannot_be_read(failure: Any, permanent: bool) -> None:
    error = failure("no", status=403 if permanent else 503, from_service=True)
    account = Account([[carrier(1, complex_order_id="7")]], [[]], complex_orders=[[]])
    account.wholes["7"] = error
    sighting = await searching(account, body=b'{"orders": [{"external-identifier": "a"}]}').poll(["a"])
    assert (dict(sighting.orders), sighting.complete) == ({}, False)
    assert (sighting.error, sighting.permanent) == (error, permanent)


@for_each("price, fits, others", [("10", True, []), ("10", True, ["b"]), ("9", False, [])])
async def test_nameless_complex_order_is_neither_ours_nor_nothing(price: str, fits: bool, others: list[str]) -> None:
    """One with the terms of ours may be ours: calling ours absent would permit a second submit.

    It is not taken for ours where other orders show identifiers, nor while the service's time is not known.
    """
    body = b'{"orders": [{"external-identifier": "a", "price": "10"}]}'
    nameless = Order(id="1", status=OrderStatus.LIVE, received_at=NOW, price=Decimal(price), complex_order_id="7")
    whole = ComplexOrder(id="7", orders=(nameless,))
    account = Account([[nameless, *map(order, others)]], [[]], complex_orders=[[whole]])
    account.wholes["7"] = whole
    search = searching(account, body=body)
    sighting = await search.poll(["a"])
    assert (dict(sighting.orders), search.conflict("a"), sighting.complete) == ({}, "", True)
    found, problem = await search.nameless("a")
    assert (found, "order 7 shows no identifier" in problem) == (None, fits)


BOUGHT = (OrderLeg(symbol="AAPL", action=LegAction.BUY_TO_OPEN, quantity=Decimal(10)),)


@for_each(
    "body, seen, now, others, is_ours",
    [
        (BODY, {}, NOW, [], True),
        (BODY, {"price": Decimal(9)}, NOW, [], False),
        # The order that it replaces is on no list, so its terms do not show whose it is.
        (BODY, {"replaces_order_id": "4", "price": Decimal(99)}, NOW, [], None),
        (BODY, {"edited": True, "price": Decimal(99)}, NOW, [], None),
        (b'{"legs": []', {}, NOW, [], None),
        # The echo of identifiers was never recorded: it may differ between lists, or between statuses.
        (BODY, {"status": OrderStatus.FILLED}, NOW, [order("another")], None),
        (BODY, {"status": OrderStatus.FILLED, "received_at": NOW - timedelta(days=1)}, NOW, [order("another")], False),
    ],
)
async def test_order_without_identifier_is_ours_only_by_its_own_terms_where_no_other_shows_one(
    body: bytes, seen: dict[str, Any], now: datetime, others: list[Order], is_ours: bool | None
) -> None:
    """Calling it ours could be false, and calling ours absent would permit a second submit."""
    terms = {"price": Decimal(10), "legs": BOUGHT, "status": OrderStatus.LIVE, "received_at": NOW} | seen
    search = searching(Account([others], [[Order(id="5", **terms)]]), now=now, body=body)
    sighting = await search.poll(["a"])
    assert (dict(sighting.orders), sighting.complete) == ({}, True)
    found, problem = await search.nameless("a")
    assert (found and found.id, "order 5 shows no identifier" in problem) == ("5" if is_ours else None, is_ours is None)


@for_each("is_complex", [False, True])
async def test_single_and_complex_orders_of_one_number_are_two(is_complex: bool) -> None:
    single, component = carrier(7), Order(id="71", complex_order_id="7", status=OrderStatus.LIVE)
    rows = [single, component] if is_complex else [component, single]
    account = Account([rows], [[]], complex_orders=[[]])
    account.wholes["7"] = ComplexOrder(id="7", orders=(component,))
    body = b'{"orders": [{"external-identifier": "a"}]}' if is_complex else BODY
    found = (await searching(account, body=body, order_id="7").poll(["a"])).orders
    assert isinstance(found.get("a"), ComplexOrder if is_complex else Order)
