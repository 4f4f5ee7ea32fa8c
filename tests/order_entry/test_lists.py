"""How the lists of an account are read: as far as needed, no further, and never called complete when they are not."""

from datetime import date, timedelta

import pytest

from brokerage_async._generated.models import Pagination
from brokerage_async.errors import ServerError
from brokerage_async.operation import Page
from brokerage_async.order_entry.lists import FULL_PAGES, OrderLists, Window
from tests.order_entry.accounts import COUNTED, NOW, Account, order, poll

pytestmark = pytest.mark.virtual_time


async def test_an_order_of_today_is_found_without_reading_further() -> None:
    account = Account([[order("a")], [order("b")]], [[order("a")]])
    sighting = await poll(account, "a")
    assert (list(sighting.orders), sighting.complete) == (["a"], True)
    assert account.read == ["orders.list_live 0"]


async def test_both_lists_are_read_for_what_is_missing() -> None:
    account = Account([[order("a")]], [[order("a"), order("b")]])
    sighting = await poll(account, "a", "b", "c")
    assert (sorted(sighting.orders), sighting.complete, sighting.error) == (["a", "b"], True, None)
    assert account.read == ["orders.list_live 0", "orders.list 0"]


async def test_the_older_list_is_read_newest_first_until_it_is_past_the_order() -> None:
    account = Account([[]], [[order("x", days_ago=1)], [order("y", days_ago=5)], [order("z", days_ago=9)]])
    sighting = await poll(account, "a")
    assert (dict(sighting.orders), sighting.complete) == ({}, True)
    assert account.read[1:] == ["orders.list 0", "orders.list 1"]
    assert account.queries["orders.list"] == {
        "per-page": 200,
        "sort": "Desc",
        "start-date": date(2025, 5, 5),
    }  # a day early


async def test_an_old_order_among_newer_ones_does_not_end_the_reading() -> None:
    """An order of last month that was changed today may stand among today's."""
    pages = [[order("x"), order("y", days_ago=40)], [order("a"), order("z", days_ago=50)]]
    assert list((await poll(Account([[]], pages), "a")).orders) == ["a"]


async def test_an_older_order_is_read_for_further_back() -> None:
    account = Account([[]], [[order("x", days_ago=5)], [order("a", days_ago=8)], [order("z", days_ago=20)]])
    assert list((await poll(account, "a", opened_at=NOW - timedelta(days=8))).orders) == ["a"]


@pytest.mark.parametrize("months", [-6, 6])
async def test_the_times_of_the_service_count_not_those_of_this_side(months: int) -> None:
    pages = [[order("x", days_ago=0)], [order("y", days_ago=2)], [order("a", days_ago=2.5)], [order("z", days_ago=30)]]
    account = Account([[]], pages)
    moment = NOW + timedelta(days=30 * months)
    lists = OrderLists(account)  # type: ignore[arg-type]
    window = Window.since(moment, moment + timedelta(seconds=5))
    sighting = await lists.poll("A1", {"a"}, window, by=lambda each: each.external_identifier)
    assert list(sighting.orders) == ["a"]


async def test_orders_without_a_time_do_not_end_the_reading() -> None:
    account = Account([[]], [[order("x", days_ago=None)], [order("a", days_ago=None)]])
    assert list((await poll(account, "a")).orders) == ["a"]


@pytest.mark.parametrize("broken", ["live", "everything"])
async def test_a_list_that_breaks_off_is_not_complete_but_what_was_seen_counts(broken: str) -> None:
    failure = ServerError("down", status=503)
    pages = [[order("x")], failure]
    account = Account(pages, [[order("b")]]) if broken == "live" else Account([[order("b")]], pages)
    sighting = await poll(account, "a")
    assert (dict(sighting.orders), sighting.complete, sighting.error) == ({}, False, failure)
    assert not sighting.permanent
    assert list((await poll(account, "b", "x")).orders) in (["x", "b"], ["b", "x"])


async def test_a_success_that_shows_nothing_at_all_proves_nothing() -> None:
    assert not (await poll(Account([[]], [Page((), None, 0)]), "a")).complete
    assert not (await poll(Account([[]], [Page((), Pagination(per_page=200), 0)]), "a")).complete
    assert (await poll(Account([[]], [Page((), COUNTED, 0)]), "a")).complete
    assert (await poll(Account([[]], [Page((), Pagination(current_item_count=0), 0)]), "a")).complete


@pytest.mark.parametrize("listing", ["live", "everything"])
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
        Page((), Pagination(current_item_count=200), 1),  # the first page again
    ]
    for page in contradictions:
        account = Account([page], [[]]) if listing == "live" else Account([[]], [page])
        assert not (await poll(account, "a")).complete
    grown = [Page((order("x"),), Pagination(total_items=202, total_pages=2, current_item_count=2), 1)]
    assert not (await poll(Account([[]], grown), "a")).complete  # a row that an earlier page has shown
    nothing = [Page((), Pagination(total_items=0, total_pages=1), 0)]
    assert (await poll(Account(nothing, nothing), "a")).complete


async def test_a_clock_that_was_set_back_hides_no_order() -> None:
    """The clock was ahead when the order was journaled, so the age of the entry is unknown."""
    account = Account([[]], [[order("x", days_ago=0)], [order("y", days_ago=6)], [order("a", days_ago=9)]])
    assert list((await poll(account, "a", opened_at=NOW + timedelta(days=600))).orders) == ["a"]
    assert account.queries["orders.list"]["start-date"] < date(2025, 5, 6)  # type: ignore[operator]


@pytest.mark.parametrize("listing", ["live", "everything"])
async def test_poll_of_a_list_that_changes_while_it_is_read_is_not_complete(listing: str) -> None:
    """An order that moves to an earlier page is shown on none: the total number gives it away."""
    pages = [Page((order("x"),), Pagination(total_items=total), number) for number, total in enumerate((3, 3, 2))]
    account = Account(pages, [[]]) if listing == "live" else Account([[]], pages)
    sighting = await poll(account, "a")
    assert (sighting.complete, "the list changed" in str(sighting.error)) == (False, True)
    assert list((await poll(account, "x")).orders) == ["x"]


@pytest.mark.parametrize("size", sorted(FULL_PAGES))
@pytest.mark.parametrize("listing", ["live", "everything"])
async def test_poll_of_a_full_page_without_pagination_is_not_complete(listing: str, size: int) -> None:
    for count, complete in ((size, False), (size - 1, True)):
        pages = [Page(tuple(order(f"x{number}") for number in range(count)), None, 0)]
        account = Account(pages, [[]]) if listing == "live" else Account([[]], pages)
        assert (await poll(account, "a")).complete is complete


@pytest.mark.parametrize("again", [{"repeats": 1}, {"changed": 1}], ids=str)
async def test_a_list_that_shows_an_order_again_is_not_complete(again: dict[str, int]) -> None:
    """Rows have moved while it was read: an order may have slipped by between two pages."""
    pages = [Page((order("x"),), COUNTED, 0), Page((order("y"),), COUNTED, 1, **again)]
    sighting = await poll(Account([[]], pages), "a")
    assert not sighting.complete
    assert "page 1 repeats earlier orders (1): the list changed" in str(sighting.error)


async def test_both_lists_are_read_in_pages_of_the_largest_size() -> None:
    account = Account([[]], [[]])
    await poll(account, "a")
    assert account.queries["orders.list_live"] == {"per-page": 200}
    assert account.queries["orders.list"]["per-page"] == 200


async def test_order_at_the_very_edge_of_the_window_is_not_past() -> None:
    window, newest = Window.from_now(NOW), NOW + timedelta(days=1)
    assert not window.is_past(order("a", days_ago=3), newest)
    assert window.is_past(order("a", days_ago=3.001), newest)


async def test_lists_without_pagination_blocks_are_whole_once_the_same_answer_comes_again() -> None:
    rows = [order(f"o{number}") for number in range(200)]
    whole = [Page(tuple(rows), None, 0), Page((), None, 1, repeats=200)]
    cut_off = [Page(tuple(rows), None, 0), Page((order("last"),), None, 1)]
    for live, complete in [(whole, True), (cut_off, False), (whole[:1], False)]:
        sighting = await poll(Account(live, [[order("x", days_ago=9)]]), "a")
        assert sighting.complete is complete
