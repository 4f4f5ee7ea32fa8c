"""Search for journaled orders: how far the lists are read, when a look is complete, and which orders are ours.

Events bring looks at them forward, and decide nothing but that an order is there.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from brokerage_async import Client, Environment, StaticToken, errors, models
from brokerage_async.journal import EntryKey, JournalEntry, MemoryJournal
from brokerage_async.operation import BoundCall, Page
from brokerage_async.order_entry import OrderEntry, ReconcilePolicy
from brokerage_async.order_entry import context as module
from brokerage_async.order_entry.context import Context
from brokerage_async.order_entry.decisions import SearchResult
from brokerage_async.order_entry.lists import FULL_PAGES, EarlyLooks, OrderLists, Sighting, Window, poll_until
from brokerage_async.order_entry.orders import terms_of
from brokerage_async.order_entry.search import IdentifierSearch
from tests.fake_transport import FakeTransport
from tests.loops import on_virtual_time
from tests.protocol.values import raised
from tests.tables import for_each
from tests.trading import Bells, cancelled

pytestmark = pytest.mark.virtual_time

LIVE, FILLED, CANCELLED = models.OrderStatus.LIVE, models.OrderStatus.FILLED, models.OrderStatus.CANCELLED
CONTINGENT = models.OrderStatus.CONTINGENT
FILLED_LEGS = (models.OrderLeg(symbol="AAPL", fills=(models.Fill(fill_id="1", quantity=Decimal(1)),)),)
NOW = datetime(2026, 6, 10, 14, tzinfo=UTC)
COUNTED = models.Pagination(total_items=0)
BOUGHT = (models.OrderLeg(symbol="AAPL", action=models.LegAction.BUY_TO_OPEN, quantity=Decimal(10)),)


def order(name: str, *, days_ago: float | None = 0) -> models.Order:
    received = None if days_ago is None else NOW - timedelta(days=days_ago)
    return models.Order(id=f"id of {name}", external_identifier=name, received_at=received)


class Account:
    """An executor that answers both lists page by page. An exception in place of a page is raised."""

    def __init__(self, live: Any, everything: Any, complex_orders: Any = (), *, seconds: float = 0) -> None:
        self._seconds = seconds  # for each page
        self._lists = {"orders.list_live": live, "orders.list": everything, "complex_orders.list": complex_orders}
        self.read: list[str] = []
        self.queries: dict[str, Mapping[str, object]] = {}
        self.wholes: dict[str, models.ComplexOrder | errors.BrokerageError] = {}
        self.now: datetime | None = None

    def service_now(self) -> datetime | None:
        return self.now

    async def execute(self, call: BoundCall[Any]) -> Any:
        whole = self.wholes[str(call.path["id"])]
        if isinstance(whole, errors.BrokerageError):
            raise whole
        return whole

    def paginate(self, call: BoundCall[list[models.Order]]) -> Any:
        assert call.path == {"account_number": "A1"}
        self.queries[call.operation.name] = call.query
        return SimpleNamespace(pages=lambda: self._pages(call.operation.name))

    async def _pages(self, name: str) -> AsyncIterator[Page[models.Order]]:
        for number, page in enumerate(self._lists[name]):
            self.read.append(f"{name} {number}")
            await asyncio.sleep(self._seconds)
            if isinstance(page, errors.BrokerageError):
                raise page
            yield page if isinstance(page, Page) else Page(tuple(page), COUNTED, number)


async def poll(account: Account, *wanted: str, opened: float = 0, now: float = 0, **options: Any) -> Sighting:
    """Poll for an entry that was opened so many days from `NOW`, by a clock that shows so many more."""
    lists = OrderLists(account, "A1")  # type: ignore[arg-type]
    window = Window.since(NOW + timedelta(days=opened), NOW + timedelta(days=now))
    return await lists.poll(set(wanted), window, by=lambda each: getattr(each, "external_identifier", None), **options)


BODY = (
    b'{"order-type":"Limit","time-in-force":"Day","price":"10",'
    b'"legs":[{"instrument-type":"Equity","symbol":"AAPL","action":"Buy to Open","quantity":"10"}]}'
)


def searching(
    account: Account,
    *,
    attempts: int = 1,
    now: datetime | None = None,
    body: bytes = BODY,
    order_id: str | None = None,
    hint: models.Order | None = None,
) -> IdentifierSearch:
    key, journal = EntryKey("https://api.example.com", "sandbox", "A1", "a"), MemoryJournal(clock=NOW.timestamp)
    entry = JournalEntry(key=key, body=body, attempts=attempts, opened_at=NOW, order_id=order_id)
    client: Any = SimpleNamespace(session=account, environment=Environment.sandbox(key.origin))
    account.now = now
    context = Context(client, journal, 30.0, push=False, guard=None)
    return IdentifierSearch(context, "A1", Window.from_now(NOW), {"a": entry}, hint)


def carrier(number: int, **terms: Any) -> models.Order:
    return models.Order(**{"id": str(number), "external_identifier": "a", "status": LIVE, "received_at": NOW} | terms)


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
    # One that was to replace another and never worked is no sign of ours, and one that has worked is.
    for shown, is_ours in (
        ((), False), ({"status": CONTINGENT}, False), ({"live_at": NOW}, True), ({"legs": FILLED_LEGS}, True),
    ):  # fmt: skip
        account = Account([[carrier(2, replaces_order_id="9", **{"status": CANCELLED} | dict(shown))]], [[]])
        assert bool((await searching(account).poll(["a"])).orders) is is_ours, shown
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
    terms = terms_of(body, models.NewOrder)
    assert (terms.order_type, terms.price, terms.legs[0].symbol) == ("Limit", Decimal("1.50"), "AAPL")
    assert terms.extra == {"new-field": 1}
    for legs in (b"[null, {}]", b'{"symbol": "AAPL"}'):
        assert terms_of(b'{"legs": %b}' % legs, models.NewOrder) is None, legs
    for body in (b"", b"\xff", b"[]", b"null", b'{"price": []}', b'{"price": 1e99999999999999999999}'):
        assert terms_of(body, models.NewOrder) is None, body


async def test_search_gives_up_in_time_and_at_once_when_it_is_hopeless() -> None:
    forbidden, policy, polls = errors.PermissionDeniedError("no", status=403, from_service=True), ReconcilePolicy(), []

    async def once() -> tuple[bool, Sighting]:
        polls.append(await poll(account, "a"))
        return False, polls[-1]

    account = Account([forbidden], [forbidden])
    assert await poll_until(policy, once) is SearchResult.UNDETERMINED
    assert len(polls) == 1
    endless = (Page((order(f"x{number}"),), None, number) for number in itertools.count())
    account, began = Account([[]], endless, seconds=1), asyncio.get_running_loop().time()
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
    absurd = models.Order(id="x", external_identifier="x", received_at=datetime(year, 1, 1, tzinfo=UTC))
    for pages in ([[absurd], [order("a")]], [[order("y"), absurd], [order("a")]]):
        found = searching(Account([[]], pages), now=NOW)
        assert list((await poll(Account([[]], pages), "a")).orders) in (["a"], [])
        assert (await found.poll(["a"])).complete


@for_each("failure, permanent", [(errors.PermissionDeniedError, True), (errors.ServerError, False)])
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
    nameless = attrs.evolve(carrier(1, price=Decimal(price), complex_order_id="7"), external_identifier=None)
    whole = models.ComplexOrder(id="7", orders=(nameless,))
    account = Account([[nameless, *map(order, others)]], [[]], complex_orders=[[whole]])
    account.wholes["7"] = whole
    search = searching(account, body=body)
    sighting = await search.poll(["a"])
    assert (dict(sighting.orders), search.conflict("a"), sighting.complete) == ({}, "", True)
    found, problem = await search.nameless("a")
    assert (found, "order 7 shows no identifier" in problem) == (None, fits)


@for_each(
    "body, seen, now, others, is_ours",
    [
        (BODY, {}, NOW, [], True),
        (BODY, {"price": Decimal(9)}, NOW, [], False),
        # The order that it replaces is on no list, so its terms do not show whose it is.
        (BODY, {"replaces_order_id": "4", "price": Decimal(99)}, NOW, [], None),
        (BODY, {"edited": True, "price": Decimal(99)}, NOW, [], None),
        (b'{"legs": []', {}, NOW, [], None),
        (BODY, {"received_at": NOW + timedelta(hours=1)}, NOW, [], None),
        (BODY, {"replaces_order_id": "4"}, NOW, [models.Order(id="4", price=Decimal(9))], False),
        # The echo of identifiers was never recorded: it may differ between lists, or between statuses.
        (BODY, {"status": FILLED}, NOW, [order("another")], None),
        (BODY, {"status": FILLED, "received_at": NOW - timedelta(days=1)}, NOW, [order("another")], False),
    ],
)
async def test_order_without_identifier_is_ours_only_by_its_own_terms_where_no_other_shows_one(
    body: bytes, seen: dict[str, Any], now: datetime, others: list[models.Order], is_ours: bool | None
) -> None:
    """Calling it ours could be false, and calling ours absent would permit a second submit."""
    terms = {"price": Decimal(10), "legs": BOUGHT, "status": LIVE, "received_at": NOW} | seen
    search = searching(Account([others], [[models.Order(id="5", **terms)]]), now=now, body=body)
    sighting = await search.poll(["a"])
    assert (dict(sighting.orders), sighting.complete) == ({}, True)
    found, problem = await search.nameless("a")
    assert (found and found.id, "order 5 shows no identifier" in problem) == ("5" if is_ours else None, is_ours is None)


@for_each("origin, problem", [("https://api.example.com", "or b"), ("https://old.example.com", "")])
async def test_order_without_identifier_may_be_that_of_another_entry_at_the_service(origin: str, problem: str) -> None:
    order = models.Order(id="5", price=Decimal(10), legs=BOUGHT, status=LIVE, received_at=NOW)
    search = searching(Account([[order]], [[]]), now=NOW)
    await search._context.journal.open(EntryKey(origin, "sandbox", "A1", "b"), BODY, owner="b", lease=1)
    await search.poll(["a"])
    found, reason = await search.nameless("a")
    assert (found is None, reason[-4:]) == (bool(problem), problem)


async def test_order_that_an_answer_to_the_submit_names_is_read_in_every_poll() -> None:
    """It is ours by its identifier or, with the lists read to their end, by everything else."""
    terms: Any = {"legs": BOUGHT, "status": LIVE, "received_at": NOW}
    other = models.Order(id="6", price=Decimal(10), **terms)
    for shown, number, price, is_ours in (
        ("a", "5", 10, True), (None, "5", 10, True),
        ("b", "5", 10, False), ("a", None, 10, False), (None, "5", 9, False),
    ):  # fmt: skip
        account = Account([[other] if price == 9 else []], [[]])
        account.wholes["5"] = models.Order(id="5", external_identifier=shown, price=Decimal(price), **terms)
        search = searching(account, now=NOW, hint=models.Order(id=number))
        found = await search.poll(["a"])
        assert (bool(found.orders), found.complete) == (is_ours, True), (shown, number)


@for_each("is_complex", [False, True])
async def test_single_and_complex_orders_of_one_number_are_two(is_complex: bool) -> None:
    single, component = carrier(7), models.Order(id="71", complex_order_id="7", status=LIVE)
    rows = [single, component] if is_complex else [component, single]
    account = Account([rows], [[]], complex_orders=[[]])
    account.wholes["7"] = models.ComplexOrder(id="7", orders=(component,))
    body = b'{"orders": [{"external-identifier": "a"}]}' if is_complex else BODY
    found = (await searching(account, body=body, order_id="7").poll(["a"])).orders
    assert isinstance(found.get("a"), models.ComplexOrder if is_complex else models.Order)


def days(*ages: tuple[str, float | None]) -> list[Any]:
    return [order(name, days_ago=age) for name, age in ages]


X_Y_A_Z = [days(("x", 0)), days(("y", 2)), days(("a", 2.5)), days(("z", 30))]


@for_each(
    "live, everything, clocks, wanted, found, pages, back",
    [
        # An order of today is found without reading further.
        ([days(("a", 0)), days(("b", 0))], [days(("a", 0))], (0, 0), "a", "a", (1, 0), None),
        # Both lists are read for the missing ones.
        ([days(("a", 0))], [days(("a", 0), ("b", 0))], (0, 0), "abc", "ab", (1, 1), 401),
        # The older list is read newest first until it is past the order.
        ([[]], [days(("x", 1)), days(("y", 5)), days(("z", 9))], (0, 0), "a", "", (1, 2), 401),
        # An order of last month that was changed today may stand among today's.
        ([[]], [days(("x", 0), ("y", 40)), days(("a", 0), ("z", 50))], (0, 0), "a", "a", (1, 2), 401),
        # Orders without a time do not end the reading.
        ([[]], [days(("x", None)), days(("a", None))], (0, 0), "a", "a", (1, 2), 401),
        # The age of the entry decides how far back is read.
        ([[]], [days(("x", 5)), days(("a", 8)), days(("z", 20))], (-8, 0), "a", "a", (1, 2), 409),
        # The clock was ahead when the order was journaled, so the age of the entry is unknown.
        ([[]], [days(("x", 0)), days(("y", 6)), days(("a", 9))], (600, 0), "a", "a", (1, 3), 801),
        # The times of the service count, not those of this side.
        *(([[]], X_Y_A_Z, (days, days), "a", "a", (1, 3), 401) for days in (-180, 180)),
    ],
)
async def test_lists_are_read_as_far_as_needed(
    live: Any, everything: Any, clocks: Any, wanted: str, found: str, pages: Any, back: int | None
) -> None:
    account = Account(live, everything)
    sighting = await poll(account, *wanted, opened=clocks[0], now=clocks[1])
    assert (sorted(sighting.orders), sighting.complete, sighting.error) == (list(found), True, None)
    numbers = [account.read.count(f"orders.list_live {number}") for number in range(pages[0] + 1)]
    assert numbers == [1] * pages[0] + [0]
    assert (len(account.read), account.queries["orders.list_live"]) == (sum(pages), {"per-page": 200})
    if back is not None:  # a day more than that, because the service counts in US Eastern time
        start = (NOW + timedelta(days=clocks[1] - back)).date()
        assert account.queries["orders.list"] == {"per-page": 200, "sort": "Desc", "start-date": start}


FAILURE = errors.ServerError("down", status=503)
OF_THREE = models.Pagination(total_items=450, total_pages=3, current_item_count=0)
ROWS = tuple(order(f"o{number}") for number in range(200))
X, Y, LAST = ((order(name),) for name in ("x", "y", "last"))

READINGS: list[tuple[str, list[Any], bool, str]] = [
    ("breaks off", [list(X), FAILURE], False, "down"),
    ("shows nothing at all", [Page((), models.Pagination(per_page=200), 0)], False, "neither orders nor their number"),
    ("counts none", [Page((), COUNTED, 0)], True, ""),
    ("counts none on this page", [Page((), models.Pagination(current_item_count=0), 0)], True, ""),
    ("shows none of three pages", [Page((), OF_THREE, 0)], False, "shows no orders"),
    ("shows no last page", [Page((), OF_THREE, 2)], False, "shows no orders"),
    ("ends after its last page", [Page((), OF_THREE, 3)], True, ""),
    ("shows none of five", [Page((), models.Pagination(total_items=5), 0)], False, "shows no orders"),
    ("has no pages", [Page((), models.Pagination(total_items=5, total_pages=0), 0)], False, "shows no orders"),
    ("has an unreadable row", [Page(X, models.Pagination(total_items=2, total_pages=1, current_item_count=2), 0)],
     False, "shows 1 orders instead of 2"),
    ("repeats the first page", [Page((), models.Pagination(current_item_count=200), 1)], False, "instead of 200"),
    ("has a row that an earlier page has shown",
     [Page(X, models.Pagination(total_items=202, total_pages=2, current_item_count=2), 1)], False, "the list changed"),
    ("has nothing", [Page((), models.Pagination(total_items=0, total_pages=1), 0)], True, ""),
    # An order that moves to an earlier page is shown on none: the total number gives it away.
    ("shrinks", [Page(X, models.Pagination(total_items=total), number) for number, total in enumerate((3, 3, 2))],
     False, "the list changed while it was read: 2 orders instead of 3"),
    # Rows have moved while it was read: an order may have slipped by between two pages.
    ("repeats a row", [Page(X, COUNTED, 0), Page(Y, COUNTED, 1, repeats=1)],
     False, "page 1 repeats earlier orders (1)"),
    ("shows a row changed", [Page(X, COUNTED, 0), Page(Y, COUNTED, 1, changed=1)],
     False, "page 1 repeats earlier orders (1)"),
    *((f"is full at {size}", [Page(ROWS[:size], None, 0)], False, f"page 0 is full ({size} orders)")
      for size in FULL_PAGES),
    *((f"is not full at {size}", [Page(ROWS[:size], None, 0)], True, "") for size in (10, 99, 199)),
    ("ends with a page of old orders that lacks one",
     [Page(X, COUNTED, 0), Page((order("old", days_ago=30),), models.Pagination(current_item_count=2), 1)],
     False, "page 1 shows 1 orders instead of 2"),
    # Lists without pagination blocks are whole once the same answer comes again.
    ("came whole", [Page(ROWS, None, 0), Page((), None, 1, repeats=200)], True, ""),
    ("was cut off", [Page(ROWS, None, 0), Page(LAST, None, 1)], False, "page 0 is full"),
]  # fmt: skip


@for_each("name, pages, complete, reason", READINGS)
@for_each("listing", ["live", "everything"])
async def test_list_is_complete_or_says_why_not(
    listing: str, name: str, pages: Any, complete: bool, reason: str
) -> None:
    """The rows of an incomplete one count."""
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


@for_each("size, complete", [(9, True), (10, False), (11, True), (100, False), (200, False)])
async def test_full_pages_of_complex_orders_are_smaller(size: int, complete: bool) -> None:
    wholes = tuple(models.ComplexOrder(id=str(number)) for number in range(size))
    account = Account([[]], [[]], [Page(wholes, None, 0)])
    assert (await poll(account, "a", complex_orders=True)).complete is complete


async def test_order_at_the_very_edge_of_the_window_is_not_past() -> None:
    window, newest = Window.from_now(NOW), NOW + timedelta(days=1)
    assert not window.is_past(order("a", days_ago=3), newest)
    assert window.is_past(order("a", days_ago=3.001), newest)


@on_virtual_time
async def searched(
    *rings: float, shown_from: float = 1e9, latency: float = 0.02, error: Any = None
) -> tuple[SearchResult, float, list[float]]:
    """Search lists that show the order from a time on, while events ring. Return result, its time, those of polls."""
    loop, polls = asyncio.get_running_loop(), list[float]()

    async def poll() -> tuple[bool, Sighting[Any]]:
        polls.append(round(loop.time(), 3))
        await asyncio.sleep(latency)
        return loop.time() >= shown_from, Sighting(orders={}, complete=error is None, error=error)

    return await poll_until(ReconcilePolicy(), poll, Bells(*rings).rings), loop.time(), polls


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


@for_each("error", [None, errors.ResponseLostError("lost")])
@for_each("seconds", [0.01, 0.3, 1.0, 7.0])
def test_raining_events_leave_the_conclusion_and_its_time_alone(seconds: float, error: Any) -> None:
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
    asyncio.get_running_loop().call_later(1, looks.ring)
    await cancelled(looks.before(100), 1.001)
    looks.reset()
    assert looks._timer is None


def test_push_needs_a_client_that_can_stream() -> None:
    client = Client(Environment.sandbox("https://api.example.com"), StaticToken("t"), transport=FakeTransport())
    for push, words in (
        (True, "streamer_url must be the address of the account stream"),
        (1, "push must be True or False, got 1"),
    ):
        raised(errors.ConfigurationError, client.order_entry, MemoryJournal(), push=push, match=words)

    class Other:
        session, environment = client.session, client.environment

    with pytest.raises(errors.ConfigurationError, match="push must be False: the client has no streams"):
        OrderEntry(Other(), MemoryJournal(), push=True)
