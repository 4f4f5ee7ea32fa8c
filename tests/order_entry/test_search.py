"""How the lists of an account are read: as far as needed, no further, and never called complete when they are not."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async._generated.models import NewOrder, Order, OrderStatus, Pagination
from brokerage_async.errors import BrokerageError, PermissionDeniedError, ServerError
from brokerage_async.journal import EntryKey, JournalEntry, MemoryJournal
from brokerage_async.operation import BoundCall, Page
from brokerage_async.order_entry import claims
from brokerage_async.order_entry.claims import ClaimKeeper
from brokerage_async.order_entry.context import Context
from brokerage_async.order_entry.decisions import ReconcilePolicy, SearchResult
from brokerage_async.order_entry.matching import terms_of
from brokerage_async.order_entry.search import FULL_PAGES, IdentifierSearch, OrderLists, Sighting, Window, poll_until
from tests.loops import on_virtual_time

NOW = datetime(2026, 6, 10, 14, tzinfo=UTC)
COUNTED = Pagination(total_items=0)


def order(name: str, *, days_ago: float | None = 0) -> Order:
    received = None if days_ago is None else NOW - timedelta(days=days_ago)
    return Order(id=f"id of {name}", external_identifier=name, received_at=received)


class Account:
    """An executor that answers both lists page by page; an exception in place of a page is raised."""

    def __init__(self, live: list[Any], everything: list[Any]) -> None:
        self._lists = {"orders.list_live": live, "orders.list": everything}
        self.read: list[str] = []
        self.queries: dict[str, Mapping[str, object]] = {}

    def paginate(self, call: BoundCall[list[Order]]) -> Any:
        operation = call.operation
        assert call.path == {"account_number": "A1"}
        self.queries[operation.name] = call.query
        account = self

        class Lists:
            async def pages(self) -> AsyncIterator[Page[Order]]:
                for number, page in enumerate(account._lists[operation.name]):
                    account.read.append(f"{operation.name} {number}")
                    if isinstance(page, BrokerageError):
                        raise page
                    yield page if isinstance(page, Page) else Page(tuple(page), COUNTED, number)

        return Lists()


async def poll(account: Account, *wanted: str, opened_at: datetime = NOW) -> Sighting:
    lists = OrderLists(account)  # type: ignore[arg-type]
    return await lists.poll("A1", set(wanted), Window.since(opened_at, NOW), by=lambda each: each.external_identifier)


@on_virtual_time
async def test_an_order_of_today_is_found_without_reading_further() -> None:
    account = Account([[order("a")], [order("b")]], [[order("a")]])
    sighting = await poll(account, "a")
    assert (list(sighting.orders), sighting.complete) == (["a"], True)
    assert account.read == ["orders.list_live 0"]


@on_virtual_time
async def test_both_lists_are_read_for_what_is_missing() -> None:
    account = Account([[order("a")]], [[order("a"), order("b")]])
    sighting = await poll(account, "a", "b", "c")
    assert (sorted(sighting.orders), sighting.complete, sighting.error) == (["a", "b"], True, None)
    assert account.read == ["orders.list_live 0", "orders.list 0"]


@on_virtual_time
async def test_the_older_list_is_read_newest_first_until_it_is_past_the_order() -> None:
    account = Account([[]], [[order("x", days_ago=1)], [order("y", days_ago=5)], [order("z", days_ago=9)]])
    sighting = await poll(account, "a")
    assert (dict(sighting.orders), sighting.complete) == ({}, True)
    assert account.read[1:] == ["orders.list 0", "orders.list 1"]
    assert account.queries["orders.list"] == {"per-page": 200, "sort": "Desc", "start-date": date(2025, 5, 6)}


@on_virtual_time
async def test_an_old_order_among_newer_ones_does_not_end_the_reading() -> None:
    """An order of last month that was changed today may stand among today's."""
    pages = [[order("x"), order("y", days_ago=40)], [order("a"), order("z", days_ago=50)]]
    assert list((await poll(Account([[]], pages), "a")).orders) == ["a"]


@on_virtual_time
async def test_an_older_order_is_read_for_further_back() -> None:
    account = Account([[]], [[order("x", days_ago=5)], [order("a", days_ago=8)], [order("z", days_ago=20)]])
    assert list((await poll(account, "a", opened_at=NOW - timedelta(days=8))).orders) == ["a"]


@pytest.mark.parametrize("months", [-6, 6])
def test_the_times_of_the_service_count_not_those_of_this_side(months: int) -> None:
    @on_virtual_time
    async def run() -> None:
        pages = [
            [order("x", days_ago=0)],
            [order("y", days_ago=2)],
            [order("a", days_ago=2.5)],
            [order("z", days_ago=30)],
        ]
        account = Account([[]], pages)
        moment = NOW + timedelta(days=30 * months)
        lists = OrderLists(account)  # type: ignore[arg-type]
        window = Window.since(moment, moment + timedelta(seconds=5))
        sighting = await lists.poll("A1", {"a"}, window, by=lambda each: each.external_identifier)
        assert list(sighting.orders) == ["a"]

    run()


@on_virtual_time
async def test_orders_without_a_time_do_not_end_the_reading() -> None:
    account = Account([[]], [[order("x", days_ago=None)], [order("a", days_ago=None)]])
    assert list((await poll(account, "a")).orders) == ["a"]


@pytest.mark.parametrize("broken", ["live", "everything"])
def test_a_list_that_breaks_off_is_not_complete_but_what_was_seen_counts(broken: str) -> None:
    @on_virtual_time
    async def run() -> None:
        failure = ServerError("down", status=503)
        pages = [[order("x")], failure]
        account = Account(pages, [[order("b")]]) if broken == "live" else Account([[order("b")]], pages)
        sighting = await poll(account, "a")
        assert (dict(sighting.orders), sighting.complete, sighting.error) == ({}, False, failure)
        assert not sighting.permanent
        assert list((await poll(account, "b", "x")).orders) in (["x", "b"], ["b", "x"])

    run()


@on_virtual_time
async def test_a_success_that_shows_nothing_at_all_proves_nothing() -> None:
    assert not (await poll(Account([[]], [Page((), None, 0)]), "a")).complete
    assert not (await poll(Account([[]], [Page((), Pagination(per_page=200), 0)]), "a")).complete
    assert (await poll(Account([[]], [Page((), COUNTED, 0)]), "a")).complete
    assert (await poll(Account([[]], [Page((), Pagination(current_item_count=0), 0)]), "a")).complete


@pytest.mark.parametrize("listing", ["live", "everything"])
@on_virtual_time
async def test_a_list_that_shows_less_than_it_says_is_not_complete(listing: str) -> None:
    of_three = Pagination(total_items=450, total_pages=3, current_item_count=0)
    for number, complete in [(0, False), (2, False), (3, True)]:
        pages = [Page((), of_three, number)]
        account = Account(pages, [[]]) if listing == "live" else Account([[]], pages)
        assert (await poll(account, "a")).complete is complete
    contradictions = [
        Page((), Pagination(total_items=5), 0),  # none of five, and no number of pages
        Page((), Pagination(total_items=5, total_pages=0), 0),
        Page((order("x"),), Pagination(total_items=2, total_pages=1, current_item_count=2), 0),  # a row is unreadable
        Page((), Pagination(current_item_count=200), 1),  # the first page once more
    ]
    for page in contradictions:
        account = Account([page], [[]]) if listing == "live" else Account([[]], [page])
        assert not (await poll(account, "a")).complete
    grown = [Page((order("x"),), Pagination(total_items=202, total_pages=2, current_item_count=2), 1)]
    assert not (await poll(Account([[]], grown), "a")).complete  # a row that an earlier page has shown
    nothing = [Page((), Pagination(total_items=0, total_pages=1), 0)]
    assert (await poll(Account(nothing, nothing), "a")).complete


@on_virtual_time
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


@on_virtual_time
async def test_a_clock_that_was_set_back_hides_no_order() -> None:
    """It was ahead when the order was written down: how long ago that was, nobody knows."""
    account = Account([[]], [[order("x", days_ago=0)], [order("y", days_ago=6)], [order("a", days_ago=9)]])
    assert list((await poll(account, "a", opened_at=NOW + timedelta(days=600))).orders) == ["a"]
    assert account.queries["orders.list"]["start-date"] < date(2025, 5, 6)  # type: ignore[operator]


def context_of(account: Account, now: datetime | None = None) -> Context:
    journal = MemoryJournal()
    return Context(
        executor=account,  # type: ignore[arg-type]
        journal=journal,
        claims=ClaimKeeper(journal, 30.0),
        origin="https://api.example.com",
        environment="sandbox",
        service_now=lambda: now,
    )


def searching(account: Account, *, attempts: int, now: datetime | None = None) -> IdentifierSearch:
    body = b'{"legs":[{"symbol":"AAPL","action":"Buy to Open","quantity":"10"}],"price":"10"}'
    entry = JournalEntry(
        key=EntryKey("https://api.example.com", "sandbox", "A1", "a"), body=body, attempts=attempts, opened_at=NOW
    )
    return IdentifierSearch(context_of(account, now), "A1", Window.from_now(NOW), {"a": entry})


def carrier(number: int, **terms: Any) -> Order:
    return Order(id=str(number), external_identifier="a", status=OrderStatus.LIVE, received_at=NOW, **terms)


@on_virtual_time
async def test_an_order_that_may_have_been_sent_twice_is_looked_for_to_the_end() -> None:
    pages = [[carrier(2)], [carrier(1)]]
    once, twice = (searching(Account([[]], pages), attempts=attempts) for attempts in (1, 2))
    assert (await once.poll(["a"])).orders["a"].id == (await twice.poll(["a"])).orders["a"].id == "2"
    assert once.duplicates("a") == ""
    assert twice.duplicates("a") == "2 live orders carry this identifier: 1, 2"


@on_virtual_time
async def test_what_turns_out_to_be_another_order_does_not_end_the_reading() -> None:
    """The replacement of another order comes before the order that it replaces: first it looks like ours."""
    other = [carrier(3, replaces_order_id="2"), carrier(2, price=Decimal(9))]
    search = searching(Account([[]], [other, [carrier(1, price=Decimal(10))]]), attempts=1)
    first, second = await search.poll(["a"]), await search.poll(["a"])
    assert (dict(first.orders), first.complete, first.conflict) == ({}, False, True)
    assert second.orders["a"].id == "1"


@pytest.mark.parametrize(
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
    ids=repr,
)
def test_bytes_of_no_order_prove_nothing(body: bytes) -> None:
    assert terms_of(body, NewOrder) is None


def test_terms_are_those_of_the_bytes() -> None:
    body = b'{"order-type":"Limit","price":"1.50","legs":[{"symbol":"AAPL","quantity":"10"}],"new-field":1}'
    terms = terms_of(body, NewOrder)
    assert terms is not None
    assert (terms.order_type, terms.price, terms.legs[0].symbol) == ("Limit", Decimal("1.50"), "AAPL")
    assert terms.extra == {"new-field": 1}


@pytest.mark.parametrize("listing", ["live", "everything"])
@on_virtual_time
async def test_poll_of_a_list_that_changes_while_it_is_read_is_not_complete(listing: str) -> None:
    """An order that moves to an earlier page is shown on none: the total number gives it away."""
    pages = [Page((order("x"),), Pagination(total_items=total), number) for number, total in enumerate((3, 3, 2))]
    account = Account(pages, [[]]) if listing == "live" else Account([[]], pages)
    sighting = await poll(account, "a")
    assert (sighting.complete, "the list changed" in str(sighting.error)) == (False, True)
    assert list((await poll(account, "x")).orders) == ["x"]


@pytest.mark.parametrize("size", sorted(FULL_PAGES))
@pytest.mark.parametrize("listing", ["live", "everything"])
@on_virtual_time
async def test_poll_of_a_full_page_without_pagination_is_not_complete(listing: str, size: int) -> None:
    for count, complete in ((size, False), (size - 1, True)):
        pages = [Page(tuple(order(f"x{number}") for number in range(count)), None, 0)]
        account = Account(pages, [[]]) if listing == "live" else Account([[]], pages)
        assert (await poll(account, "a")).complete is complete


class Endless(Account):
    """An account whose list of all orders never ends; each page takes a second."""

    def paginate(self, call: BoundCall[list[Order]]) -> Any:
        if call.operation.name != "orders.list":
            return super().paginate(call)

        class Lists:
            async def pages(self) -> AsyncIterator[Page[Order]]:
                for number in itertools.count():
                    await asyncio.sleep(1)
                    yield Page((order(f"x{number}"),), None, number)

        return Lists()


@on_virtual_time
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


@pytest.mark.parametrize("year", [1, 9999])
@on_virtual_time
async def test_poll_with_absurd_times_reads_on(year: int) -> None:
    absurd = Order(id="x", external_identifier="x", received_at=datetime(year, 1, 1, tzinfo=UTC))
    for pages in ([[absurd], [order("a")]], [[order("y"), absurd], [order("a")]]):
        found = searching(Account([[]], pages), attempts=1, now=NOW)
        assert list((await poll(Account([[]], pages), "a")).orders) in (["a"], [])
        assert (await found.poll(["a"])).complete


@on_virtual_time
async def test_poll_takes_no_order_for_ours_that_was_received_before_it_was_journaled() -> None:
    """Identifiers that repeat, of a counter for example: the terms are the same, the order is not."""
    earlier = carrier(1)
    for now, ours in ((NOW, True), (NOW + timedelta(hours=1), False), (None, True)):
        search = searching(Account([[earlier]], [[]]), attempts=1, now=now)
        sighting = await search.poll(["a"])
        assert (list(sighting.orders), sighting.conflict) == ((["a"], False) if ours else ([], True))
        assert ("was received before this one was journaled" in search.conflict("a")) is not ours


@on_virtual_time
async def test_poll_after_a_suspension_of_the_machine_takes_our_order_for_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop's clock stood still for an hour, the service's went on."""
    search = searching(Account([[carrier(1)]], [[]]), attempts=1, now=NOW + timedelta(hours=1))
    suspended_until = time.time() + 3600
    monkeypatch.setattr(claims.time, "time", lambda: suspended_until)
    sighting = await search.poll(["a"])
    assert (list(sighting.orders), sighting.conflict) == (["a"], False)


@pytest.mark.parametrize("again", [{"repeats": 1}, {"changed": 1}], ids=str)
@on_virtual_time
async def test_a_list_that_shows_an_order_again_is_not_complete(again: dict[str, int]) -> None:
    """Rows have moved while it was read: an order may have slipped by between two pages."""
    pages = [Page((order("x"),), COUNTED, 0), Page((order("y"),), COUNTED, 1, **again)]
    sighting = await poll(Account([[]], pages), "a")
    assert not sighting.complete
    assert "page 1 repeats earlier orders (1): the list changed" in str(sighting.error)
