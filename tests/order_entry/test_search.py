"""Search for journaled orders: the orders that are taken for ours, and the others."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async._generated.models import ComplexOrder, LegAction, NewOrder, Order, OrderLeg, OrderStatus
from brokerage_async.errors import BrokerageError, PermissionDeniedError, ServerError
from brokerage_async.journal import EntryKey, JournalEntry, MemoryJournal
from brokerage_async.operation import BoundCall, Page
from brokerage_async.order_entry import context as module
from brokerage_async.order_entry.context import Attempts, Context
from brokerage_async.order_entry.decisions import ReconcilePolicy, SearchResult
from brokerage_async.order_entry.lists import Sighting, Window, poll_until
from brokerage_async.order_entry.orders import terms_of
from brokerage_async.order_entry.search import IdentifierSearch
from tests.loops import on_virtual_time
from tests.order_entry.accounts import NOW, Account, order, poll
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time


async def test_looking_ends_at_once_when_it_is_hopeless() -> None:
    account = Account(
        [PermissionDeniedError("no", status=403, from_service=True)],
        [PermissionDeniedError("no", status=403, from_service=True)],
    )
    count = 0

    async def once() -> tuple[bool, Sighting]:
        nonlocal count
        count += 1
        return False, await poll(account, "a")

    assert await poll_until(ReconcilePolicy(), once) is SearchResult.UNDETERMINED
    assert count == 1


def context_of(account: Account, now: datetime | None = None) -> Context:
    journal = MemoryJournal()
    return Context(
        executor=account,  # type: ignore[arg-type]
        journal=journal,
        attempts=Attempts(journal, 30.0),
        origin="https://api.example.com",
        environment="sandbox",
        service_now=lambda: now,
    )


BODY = (
    b'{"order-type":"Limit","time-in-force":"Day","price":"10",'
    b'"legs":[{"instrument-type":"Equity","symbol":"AAPL","action":"Buy to Open","quantity":"10"}]}'
)


def searching(
    account: Account, *, attempts: int = 1, now: datetime | None = None, body: bytes = BODY, order_id: str | None = None
) -> IdentifierSearch:
    key = EntryKey("https://api.example.com", "sandbox", "A1", "a")
    entry = JournalEntry(key=key, body=body, attempts=attempts, opened_at=NOW, order_id=order_id)
    return IdentifierSearch(context_of(account, now), "A1", Window.from_now(NOW), {"a": entry})


def carrier(number: int, **terms: Any) -> Order:
    return Order(id=str(number), external_identifier="a", status=OrderStatus.LIVE, received_at=NOW, **terms)


async def test_an_order_that_may_have_been_sent_twice_is_looked_for_to_the_end() -> None:
    pages = [[carrier(2)], [carrier(1)]]
    once, twice = (searching(Account([[]], pages), attempts=attempts) for attempts in (1, 2))
    assert (await once.poll(["a"])).orders["a"].id == (await twice.poll(["a"])).orders["a"].id == "2"
    assert once.duplicates("a") == ""
    assert twice.duplicates("a") == "2 live orders carry this identifier: 1, 2"


async def test_what_turns_out_to_be_another_order_does_not_end_the_reading() -> None:
    """The replacement of another order comes before the order that it replaces: first it looks like ours."""
    other = [carrier(3, replaces_order_id="2"), carrier(2, price=Decimal(9))]
    search = searching(Account([[]], [other, [carrier(1, price=Decimal(10))]]), attempts=1)
    first, second = await search.poll(["a"]), await search.poll(["a"])
    assert (dict(first.orders), first.complete) == ({}, False)
    assert second.orders["a"].id == "1"


@for_each(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b'{"legs": [null, {}]}',
        b'{"legs": {"symbol": "AAPL"}}',
        b'{"price": []}',
        b'{"price": 1e99999999999999999999}',
    ],
)
def test_bytes_of_no_order_prove_nothing(body: bytes) -> None:
    assert terms_of(body, NewOrder) is None


def test_terms_are_those_of_the_bytes() -> None:
    body = b'{"order-type":"Limit","price":"1.50","legs":[{"symbol":"AAPL","quantity":"10"}],"new-field":1}'
    terms = terms_of(body, NewOrder)
    assert (terms.order_type, terms.price, terms.legs[0].symbol) == ("Limit", Decimal("1.50"), "AAPL")
    assert terms.extra == {"new-field": 1}


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


async def test_poll_until_an_endless_list_gives_up_in_time() -> None:
    account = Endless([[]], [])
    began = asyncio.get_running_loop().time()

    async def once() -> tuple[bool, Sighting]:
        return False, await poll(account, "a")

    policy = ReconcilePolicy(give_up=40)
    assert await poll_until(policy, once) is SearchResult.UNDETERMINED
    assert asyncio.get_running_loop().time() - began < policy.give_up + 20
    sighting = await poll(account, "a")
    assert (sighting.complete, "did not end within" in str(sighting.error)) == (False, True)


async def test_poll_takes_no_order_for_ours_that_was_received_before_it_was_journaled() -> None:
    """Identifiers that repeat, of a counter for example: the terms are the same, the order is not."""
    earlier = carrier(1)
    for now, ours in ((NOW, True), (NOW + timedelta(hours=1), False), (None, True)):
        search = searching(Account([[earlier]], [[]]), now=now)
        sighting = await search.poll(["a"])
        assert list(sighting.orders) == (["a"] if ours else [])
        assert ("was received before this one was journaled" in search.conflict("a")) is not ours


async def test_poll_after_a_suspension_of_the_machine_takes_our_order_for_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop's clock stood still for an hour, the service's went on."""
    search = searching(Account([[carrier(1)]], [[]]), now=NOW + timedelta(hours=1))
    suspended_until = time.time() + 3600
    monkeypatch.setattr(module.time, "time", lambda: suspended_until)
    sighting = await search.poll(["a"])
    assert list(sighting.orders) == ["a"]


@pytest.mark.parametrize("year", [1, 9999])
async def test_poll_with_absurd_times_reads_on(year: int) -> None:
    absurd = Order(id="x", external_identifier="x", received_at=datetime(year, 1, 1, tzinfo=UTC))
    for pages in ([[absurd], [order("a")]], [[order("y"), absurd], [order("a")]]):
        found = searching(Account([[]], pages), now=NOW)
        assert list((await poll(Account([[]], pages), "a")).orders) in (["a"], [])
        assert (await found.poll(["a"])).complete


async def test_order_without_an_id_precedes_no_other_one() -> None:
    nameless = Order(external_identifier="a", status=OrderStatus.LIVE, received_at=NOW, price=Decimal(11))
    found = await searching(Account([[]], [[nameless, carrier(1, price=Decimal(10))]]), attempts=2).poll(["a"])
    assert found.orders["a"].id == "1"


async def test_orders_that_replace_each_other_are_followed_once() -> None:
    """A service in disorder: each of two orders names the other one as its predecessor."""
    circle = [carrier(1, replaces_order_id="2"), carrier(2, replaces_order_id="1")]
    search = searching(Account([circle], [[]]), attempts=2)
    assert (await search.poll(["a"])).orders["a"].id == "1"
    assert search.conflict("a") == ""


class Unreadable(Account):
    """An account whose complex orders are listed, but cannot be read."""

    def __init__(self, live: list[Any], failure: BrokerageError) -> None:
        super().__init__([live], [[]])
        self._lists["complex_orders.list"] = [[]]
        self._failure = failure

    async def execute(self, call: BoundCall[Any]) -> Any:
        raise self._failure


@pytest.mark.parametrize(
    ("failure", "permanent"),
    [
        (PermissionDeniedError("no", status=403, from_service=True), True),
        (ServerError("down", status=503, from_service=True), False),
    ],
)
async def test_poll_reports_why_a_listed_complex_order_cannot_be_read(failure: BrokerageError, permanent: bool) -> None:
    body = b'{"orders": [{"external-identifier": "a"}]}'
    sighting = await searching(Unreadable([carrier(1, complex_order_id="7")], failure), body=body).poll(["a"])
    assert (dict(sighting.orders), sighting.complete) == ({}, False)
    assert sighting.error is failure
    assert sighting.permanent is permanent


@pytest.mark.parametrize(("price", "fits", "others"), [("10", True, []), ("10", True, ["b"]), ("9", False, [])])
async def test_complex_order_without_identifiers_is_neither_ours_nor_nothing(
    price: str, fits: bool, others: list[str]
) -> None:
    """One with the terms of ours may be ours: calling ours absent would permit a second submit.

    It is not taken for ours where other orders show identifiers, nor while the service's time is not known.
    """
    body = b'{"orders": [{"external-identifier": "a", "price": "10"}]}'
    nameless = Order(id="1", status=OrderStatus.LIVE, received_at=NOW, price=Decimal(price), complex_order_id="7")
    account = Account([[nameless, *map(order, others)]], [[]])
    account.wholes["7"] = ComplexOrder(id="7", orders=(nameless,))
    account._lists["complex_orders.list"] = [[ComplexOrder(id="7", orders=(nameless,))]]
    search = searching(account, body=body)
    sighting = await search.poll(["a"])
    assert (dict(sighting.orders), search.conflict("a"), sighting.complete) == ({}, "", True)
    found, problem = await search.nameless("a")
    assert (found, "order 7 shows no identifier" in problem) == (None, fits)


BOUGHT = (OrderLeg(symbol="AAPL", action=LegAction.BUY_TO_OPEN, quantity=Decimal(10)),)


@for_each(
    "body, seen, is_ours",
    [
        (BODY, {}, True),
        (BODY, {"price": Decimal(9)}, False),
        # The order that it replaces is on no list, so its terms do not show whose it is.
        (BODY, {"replaces_order_id": "4", "price": Decimal(99)}, None),
        (BODY, {"edited": True, "price": Decimal(99)}, None),
        (b'{"legs": []', {}, None),
    ],
)
@on_virtual_time
async def test_order_without_identifier_is_ours_only_by_its_own_terms(
    body: bytes, seen: dict[str, Any], is_ours: bool | None
) -> None:
    """Calling it ours could be false, and calling ours absent would permit a second submit."""
    terms = {"price": Decimal(10), "legs": BOUGHT, "status": OrderStatus.LIVE, "received_at": NOW} | seen
    search = searching(Account([[Order(id="5", **terms)]], [[]]), now=NOW, body=body)
    await search.poll(["a"])
    found, problem = await search.nameless("a")
    assert (found and found.id, bool(problem)) == ("5" if is_ours else None, is_ours is None)


@for_each("days_ago, is_doubted", [(0, True), (1, False)])
@on_virtual_time
async def test_order_without_identifier_may_be_ours_where_others_show_theirs(days_ago: int, is_doubted: bool) -> None:
    """The echo of identifiers was never recorded: it may differ between lists, or between statuses."""
    received = NOW - timedelta(days=days_ago)
    ours = Order(id="5", status=OrderStatus.FILLED, received_at=received, price=Decimal(10), legs=BOUGHT)
    search = searching(Account([[order("another")]], [[ours]]), now=NOW)
    sighting = await search.poll(["a"])
    assert (dict(sighting.orders), sighting.complete) == ({}, True)
    found, problem = await search.nameless("a")
    assert (found, "order 5 shows no identifier" in problem) == (None, is_doubted)


@for_each("is_complex", [False, True])
@on_virtual_time
async def test_single_and_complex_orders_of_one_number_are_two(is_complex: bool) -> None:
    single, component = carrier(7), Order(id="71", complex_order_id="7", status=OrderStatus.LIVE)
    rows = [single, component] if is_complex else [component, single]
    account = Account([rows], [[]])
    account.wholes["7"] = ComplexOrder(id="7", orders=(component,))
    account._lists["complex_orders.list"] = [[]]
    body = b'{"orders": [{"external-identifier": "a"}]}' if is_complex else BODY
    found = (await searching(account, body=body, order_id="7").poll(["a"])).orders
    assert isinstance(found.get("a"), ComplexOrder if is_complex else Order)
