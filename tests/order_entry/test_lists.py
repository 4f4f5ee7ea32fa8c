"""How the lists of an account are read: as far as needed, no further, and never called complete when they are not.

Events bring looks at them forward, and decide nothing but that an order is there.
"""

import asyncio
from datetime import date, timedelta
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken
from brokerage_async._generated.models import Pagination
from brokerage_async.errors import BrokerageError, ConfigurationError, ResponseLostError, ServerError
from brokerage_async.journal import MemoryJournal
from brokerage_async.operation import Page
from brokerage_async.order_entry import OrderEntry, ReconcilePolicy
from brokerage_async.order_entry.decisions import SearchResult
from brokerage_async.order_entry.lists import FULL_PAGES, EarlyLooks, OrderLists, Sighting, Window, poll_until
from tests.fake_transport import FakeTransport
from tests.loops import on_virtual_time
from tests.order_entry.accounts import COUNTED, NOW, Account, order, poll
from tests.tables import for_each
from tests.trading import Bells

pytestmark = pytest.mark.virtual_time


def days(*ages: tuple[str, float | None]) -> list[Any]:
    """Return a page of orders by name and age in days."""
    return [order(name, days_ago=age) for name, age in ages]


X_Y_A_Z = [days(("x", 0)), days(("y", 2)), days(("a", 2.5)), days(("z", 30))]


@for_each(
    "live, everything, wanted, found, pages",
    [
        # An order of today is found without reading further.
        ([days(("a", 0)), days(("b", 0))], [days(("a", 0))], "a", "a", (1, 0)),
        # Both lists are read for what is missing.
        ([days(("a", 0))], [days(("a", 0), ("b", 0))], "abc", "ab", (1, 1)),
        # The older list is read newest first until it is past the order.
        ([[]], [days(("x", 1)), days(("y", 5)), days(("z", 9))], "a", "", (1, 2)),
        # An order of last month that was changed today may stand among today's.
        ([[]], [days(("x", 0), ("y", 40)), days(("a", 0), ("z", 50))], "a", "a", (1, 2)),
        # Orders without a time do not end the reading.
        ([[]], [days(("x", None)), days(("a", None))], "a", "a", (1, 2)),
    ],
)
async def test_lists_are_read_as_far_as_needed(
    live: Any, everything: Any, wanted: str, found: str, pages: tuple[int, int]
) -> None:
    account = Account(live, everything)
    sighting = await poll(account, *wanted)
    assert (sorted(sighting.orders), sighting.complete, sighting.error) == (list(found), True, None)
    numbers = [account.read.count(f"orders.list_live {number}") for number in range(pages[0] + 1)]
    assert numbers == [1] * pages[0] + [0]
    assert len(account.read) == sum(pages)
    assert account.queries["orders.list_live"] == {"per-page": 200}
    if pages[1]:  # from a day early, because the service counts in US Eastern time
        assert account.queries["orders.list"] == {"per-page": 200, "sort": "Desc", "start-date": date(2025, 5, 5)}


@for_each(
    "everything, opened_at",
    [
        ([days(("x", 5)), days(("a", 8)), days(("z", 20))], NOW - timedelta(days=8)),
        # The clock was ahead when the order was journaled, so the age of the entry is unknown.
        ([days(("x", 0)), days(("y", 6)), days(("a", 9))], NOW + timedelta(days=600)),
    ],
)
async def test_age_of_the_entry_decides_how_far_back_is_read(everything: Any, opened_at: Any) -> None:
    account = Account([[]], everything)
    assert list((await poll(account, "a", opened_at=opened_at)).orders) == ["a"]
    assert account.queries["orders.list"]["start-date"] < date(2025, 5, 6)  # type: ignore[operator]


@for_each("months", [-6, 6])
async def test_the_times_of_the_service_count_not_those_of_this_side(months: int) -> None:
    moment = NOW + timedelta(days=30 * months)
    lists = OrderLists(Account([[]], X_Y_A_Z), "A1")  # type: ignore[arg-type]
    window = Window.since(moment, moment + timedelta(seconds=5))
    sighting = await lists.poll({"a"}, window, by=lambda each: each.external_identifier)
    assert list(sighting.orders) == ["a"]


FAILURE = ServerError("down", status=503)
OF_THREE = Pagination(total_items=450, total_pages=3, current_item_count=0)
ROWS = tuple(order(f"o{number}") for number in range(200))
X, Y, LAST = ((order(name),) for name in ("x", "y", "last"))

READINGS: list[tuple[str, list[Any], bool, str]] = [
    ("breaks off", [list(X), FAILURE], False, "down"),
    ("shows nothing at all", [Page((), Pagination(per_page=200), 0)], False, "neither orders nor their number"),
    ("counts none", [Page((), COUNTED, 0)], True, ""),
    ("counts none on this page", [Page((), Pagination(current_item_count=0), 0)], True, ""),
    ("shows none of three pages", [Page((), OF_THREE, 0)], False, "shows no orders"),
    ("shows no last page", [Page((), OF_THREE, 2)], False, "shows no orders"),
    ("ends after its last page", [Page((), OF_THREE, 3)], True, ""),
    ("shows none of five", [Page((), Pagination(total_items=5), 0)], False, "shows no orders"),
    ("has no pages", [Page((), Pagination(total_items=5, total_pages=0), 0)], False, "shows no orders"),
    ("has an unreadable row", [Page(X, Pagination(total_items=2, total_pages=1, current_item_count=2), 0)],
     False, "shows 1 orders instead of 2"),
    ("repeats the first page", [Page((), Pagination(current_item_count=200), 1)], False, "instead of 200"),
    ("has a row that an earlier page has shown",
     [Page(X, Pagination(total_items=202, total_pages=2, current_item_count=2), 1)], False, "the list changed"),
    ("has nothing", [Page((), Pagination(total_items=0, total_pages=1), 0)], True, ""),
    # An order that moves to an earlier page is shown on none: the total number gives it away.
    ("shrinks", [Page(X, Pagination(total_items=total), number) for number, total in enumerate((3, 3, 2))],
     False, "the list changed while it was read: 2 orders instead of 3"),
    # Rows have moved while it was read: an order may have slipped by between two pages.
    ("repeats a row", [Page(X, COUNTED, 0), Page(Y, COUNTED, 1, repeats=1)],
     False, "page 1 repeats earlier orders (1)"),
    ("shows a row changed", [Page(X, COUNTED, 0), Page(Y, COUNTED, 1, changed=1)],
     False, "page 1 repeats earlier orders (1)"),
    *((f"is full at {size}", [Page(ROWS[:size], None, 0)], False, f"page 0 is full ({size} orders)")
      for size in FULL_PAGES),
    *((f"is not full at {size}", [Page(ROWS[: size - 1], None, 0)], True, "") for size in FULL_PAGES),
    # Lists without pagination blocks are whole once the same answer comes again.
    ("came whole", [Page(ROWS, None, 0), Page((), None, 1, repeats=200)], True, ""),
    ("was cut off", [Page(ROWS, None, 0), Page(LAST, None, 1)], False, "page 0 is full"),
]  # fmt: skip


@for_each("name, pages, complete, reason", READINGS)
@for_each("listing", ["live", "everything"])
async def test_list_is_complete_only_if_nothing_speaks_against_it(
    listing: str, name: str, pages: list[Any], complete: bool, reason: str
) -> None:
    """What was seen of an incomplete one counts."""
    account = Account(pages, [[]]) if listing == "live" else Account([[]], pages)
    sighting = await poll(account, "a")
    assert (dict(sighting.orders), sighting.complete, sighting.permanent) == ({}, complete, False)
    assert (sighting.error is None) is complete
    assert reason in str(sighting.error)
    shown = [each for page in pages if page is not FAILURE for each in getattr(page, "items", page)]
    if shown:
        assert list((await poll(account, shown[0].external_identifier)).orders) == [shown[0].external_identifier]


async def test_success_without_orders_and_pagination_proves_nothing_but_of_today() -> None:
    assert not (await poll(Account([[]], [Page((), None, 0)]), "a")).complete
    assert (await poll(Account([Page((), None, 0)], [[]]), "a")).complete


async def test_order_at_the_very_edge_of_the_window_is_not_past() -> None:
    window, newest = Window.from_now(NOW), NOW + timedelta(days=1)
    assert not window.is_past(order("a", days_ago=3), newest)
    assert window.is_past(order("a", days_ago=3.001), newest)


class Lists:
    """Order lists that show the order from a time on. Each poll takes a while and may fail."""

    def __init__(self, shown_from: float = 1e9, latency: float = 0.02, error: BrokerageError | None = None) -> None:
        self._shown_from = shown_from
        self._latency = latency
        self._error = error
        self.polls: list[float] = []

    async def poll(self) -> tuple[bool, Sighting[Any]]:
        loop = asyncio.get_running_loop()
        self.polls.append(round(loop.time(), 3))
        await asyncio.sleep(self._latency)
        found = loop.time() >= self._shown_from
        return found, Sighting(orders={}, complete=self._error is None, error=self._error)


@on_virtual_time
async def searched(*rings: float, **options: Any) -> tuple[SearchResult, float, list[float]]:
    """Search lists while events ring. Return the result, its time, and those of the polls."""
    lists = Lists(**options)
    result = await poll_until(ReconcilePolicy(), lists.poll, Bells(*rings).rings)
    return result, asyncio.get_running_loop().time(), lists.polls


@for_each(
    "shown_from, rings, end, polls",
    [
        (2.0, (2.0, 2.001, 2.005), 2.03, [0.5, 1.5, 2.01]),
        (2.0, (0.7, 0.701), 3.52, [0.5, 0.71, 1.5, 3.5]),  # of another order: one look more
        (0.5, (0.46, 0.495), 0.52, [0.5]),  # right before a poll
    ],
)
def test_event_brings_find_forward(shown_from: float, rings: tuple[float, ...], end: float, polls: list[float]) -> None:
    assert searched(*rings, shown_from=shown_from) == (SearchResult.FOUND, pytest.approx(end), polls)


@for_each("error", [None, ResponseLostError("lost")])
@for_each("seconds", [0.01, 0.3, 1.0, 7.0])
def test_raining_events_leave_the_conclusion_and_its_time_alone(seconds: float, error: BrokerageError | None) -> None:
    *alone, polls = searched(error=error)
    rings = [seconds * number for number in range(1, int(200 / seconds))]
    *with_push, more = searched(*rings, error=error)
    assert with_push == alone
    assert set(polls) <= set(more)
    assert 0 < len(more) - len(polls) <= min(len(rings), 11 + 0.5 * alone[1])


def test_early_look_that_takes_too_long_does_not_delay_the_next_poll() -> None:
    *alone, polls = searched(latency=1.2)
    *with_push, more = searched(0.2, 2.0, latency=1.2)
    assert with_push == alone
    assert more == sorted([*polls, 0.21, 2.9])  # the second came while a poll was under way


async def test_wait_that_is_cancelled_leaves_no_timer() -> None:
    looks = EarlyLooks()
    waiting = asyncio.ensure_future(looks.before(100))
    await asyncio.sleep(1)
    looks.ring()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    looks.reset()
    assert looks._timer is None


def test_push_needs_a_client_that_can_stream() -> None:
    client = Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport())
    for push, words in (
        (True, "streamer_url must be the address of the account stream"),
        (1, "push must be True or False, got 1"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            client.order_entry(MemoryJournal(), push=push)  # type: ignore[arg-type]

    class Other:
        session, environment = client.session, client.environment

    with pytest.raises(ConfigurationError, match="push must be False: the client has no streams"):
        OrderEntry(Other(), MemoryJournal(), push=True)
