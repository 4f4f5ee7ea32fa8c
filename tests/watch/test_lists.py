"""Orders to wait for, alerts, and the lists of several accounts as one stream, on the virtual clock."""

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import attrs
import pytest

from brokerage_async import Client, errors
from brokerage_async._generated.models import Fill, Order, OrderLeg, OrderStatus
from brokerage_async.errors import ConfigurationError, NotFoundError
from brokerage_async.models import AccountBalance, Position, QuoteAlert
from brokerage_async.watch import AccountsWatcher, BalanceKey, PositionKey, WatchStateError, is_complete
from brokerage_async.watch.diff import Change, change_of
from brokerage_async.watch.feed import Feed, Schedule
from brokerage_async.watch.lists import ABSENT_LOOKUP_INTERVAL, FILLS_DELAY, MAX_LOOKUPS, alert_changes, until_terminal
from tests.fake_transport import ok
from tests.http.calls import raised_by
from tests.tables import for_each
from tests.watch.memory_state import MemoryState
from tests.watch.scripted_service import NOON, Service, quiet

pytestmark = pytest.mark.virtual_time
AAPL, SPY = PositionKey("A1", "AAPL", "Equity"), PositionKey("B2", "SPY", "Equity")


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
    await raised_by(waiting, NotFoundError, r"order 1 was not found .* reset has forgotten its orders")
    assert asyncio.get_running_loop().time() == 3 + (MAX_LOOKUPS - 1) * ABSENT_LOOKUP_INTERVAL


async def test_until_terminal_client_closed_during_a_lookup_raises_at_once() -> None:
    feed: Feed[Order] = Feed(List().fetch, key=lambda order: order.id, schedule=Schedule(interval=1.0))

    async def look_up(_: str) -> Order:
        await feed.aclose()
        return of("Live")

    await raised_by(until_terminal(feed, "1", look_up), ConfigurationError, "the client is closed")
    assert asyncio.get_running_loop().time() == 0


def alert(*stamps: str, **fields: Any) -> QuoteAlert:
    return QuoteAlert(**{f"{name}_at": NOON for name in stamps}, **fields)


@for_each(
    "before, after, kinds",
    [
        (None, alert("created"), ["created"]),
        (None, alert(), ["created"]),
        (None, alert("created", "triggered", "completed"), ["created", "triggered", "completed"]),
        (alert("created"), alert("created", "triggered"), ["triggered"]),
        (alert("triggered"), alert("triggered", "completed"), ["completed"]),
        (alert(), alert("expired"), ["expired"]),
        (alert(), alert("dismissed"), ["dismissed"]),
        (alert(), alert(threshold="3"), ["changed"]),
        (alert("triggered"), alert(), ["changed"]),
        (alert(), None, ["removed"]),
    ],
)
def test_alert_changes_kinds_come_from_timestamps(
    before: QuoteAlert | None, after: QuoteAlert | None, kinds: list[str]
) -> None:
    changes = alert_changes(change_of("x", before, after, NOON))
    assert [change.kind for change in changes] == kinds
    assert {(change.before, change.after) for change in changes} == {(before, after)}


def position(account: str, symbol: str, quantity: str = "10", **fields: Any) -> dict[str, Any]:
    return {
        "account-number": account, "symbol": symbol, "instrument-type": "Equity", "quantity": quantity,
        "updated-at": f"2026-03-02T12:00:0{quantity[0]}Z", **fields,
    }  # fmt: skip


def balance(account: str, cash: str, **fields: Any) -> dict[str, Any]:
    return {"account-number": account, "currency": "USD", "cash-balance": cash, **fields}


@pytest.fixture
def service() -> Service:
    service = Service()
    service.answers = {"A1": [position("A1", "AAPL")], "B2": [position("B2", "SPY")]}
    return service


def asked(service: Service, account: str) -> list[float]:
    return service.times_of(f"/accounts/{account}/")


def brief(change: Change[Any]) -> tuple[str, Any, tuple[str, ...]]:
    return change.kind, change.key, change.fields


async def take(watcher: AccountsWatcher[Any], count: int) -> list[tuple[str, Any, tuple[str, ...]]]:
    return [brief(await anext(watcher)) for _ in range(count)]


async def test_positions_of_several_accounts_are_one_stream(service: Service, client: Client) -> None:
    async with client.watch.positions(["A1", "B2", "A1"], interval=2) as watcher:
        assert sorted(await take(watcher, 2)) == [("added", AAPL, ()), ("added", SPY, ())]
        service.answers["A1"] = [position("A1", "AAPL", "7"), position("A1", "TSLA")]
        assert await take(watcher, 2) == [
            ("changed", AAPL, ("quantity", "updated_at")),
            ("added", PositionKey("A1", "TSLA", "Equity"), ()),
        ]
        service.answers["B2"] = []
        change = await anext(watcher)
        assert (change.kind, change.key, change.after) == ("removed", SPY, None)
        assert isinstance(change.before, Position)
        assert change.at == NOON + timedelta(seconds=4)
        assert {key.symbol for key in watcher.snapshot} == {"AAPL", "TSLA"}
    assert asked(service, "A1") == asked(service, "B2") == [0, 2, 4]
    assert set(service.targets) == {f"/accounts/{each}/positions?net-positions=true" for each in ("A1", "B2")}


async def test_positions_new_timestamp_alone_is_no_change_but_is_in_the_snapshot(
    service: Service, client: Client
) -> None:
    async with client.watch.positions(["A1"]) as watcher:
        await take(watcher, 1)
        service.answers["A1"] = [position("A1", "AAPL", **{"updated-at": "2026-03-02T12:59:00Z"})]
        await quiet(watcher, 30)
        updated_at = watcher.snapshot[AAPL].updated_at
        assert updated_at.minute == 59


async def test_positions_marks_are_asked_for_and_polled_apart(service: Service, client: Client) -> None:
    async with client.watch.positions(["A1"]) as plain, client.watch.positions(["A1"], include_marks=True) as marked:
        await take(plain, 1)
        await take(marked, 1)
        service.answers["A1"] = [position("A1", "AAPL", mark="1500.1")]
        assert await take(marked, 1) == [("changed", AAPL, ("mark",))]
    assert sum(target.endswith("?include-marks=true&net-positions=true") for target in service.targets) == 2


async def test_balances_are_keyed_by_currency_and_a_new_day_alone_is_no_change(
    service: Service, client: Client
) -> None:
    service.answers["A1"] = [balance("A1", "10.5"), balance("A1", "3", currency="EUR")]
    async with client.watch.balances(["A1"]) as watcher:
        keys = [BalanceKey("A1", "USD"), BalanceKey("A1", "EUR")]
        assert await take(watcher, 2) == [("added", key, ()) for key in keys]
        stamps = {"updated-at": "2026-03-03T09:00:00Z", "snapshot-date": "2026-03-03"}
        service.answers["A1"] = [balance("A1", "10.5", **stamps), balance("A1", "3", currency="EUR")]
        await quiet(watcher, 30)
        service.answers["A1"] = [balance("A1", "9.5", **stamps), balance("A1", "3", currency="EUR")]
        change = await anext(watcher)
        assert brief(change) == ("changed", keys[0], ("cash_balance",))
        assert isinstance(change.after, AccountBalance)


async def test_positions_same_symbol_of_two_types_has_two_keys(service: Service, client: Client) -> None:
    option = position("A1", "ES", **{"instrument-type": "Future"})
    service.answers["A1"] = [position("A1", "ES"), option, {"account-number": "A1", "quantity": 1}]
    async with client.watch.positions(["A1"]) as watcher:
        assert [key for _, key, _ in await take(watcher, 2)] == [("A1", "ES", "Equity"), ("A1", "ES", "Future")]
        await quiet(watcher, 30)
    assert PositionKey.of(Position(account_number="A1", symbol="AAPL")) == ("A1", "AAPL", "")
    assert PositionKey.of(Position(symbol="AAPL")) is PositionKey.of(Position(account_number="A1")) is None
    assert BalanceKey.of(AccountBalance(currency="USD")) is None


async def test_balances_in_one_object_are_read_as_well(service: Service, client: Client) -> None:
    service.answers["A1"] = ok(balance("A1", "10.5"))
    async with client.watch.balances(["A1"]) as watcher:
        assert await take(watcher, 1) == [("added", BalanceKey("A1", "USD"), ())]


@for_each("accounts", [["A1"], ["A1", "B2"], ["B2", "A1"]])
async def test_item_that_names_another_account_is_followed_and_acknowledged(
    service: Service, client: Client, accounts: list[str]
) -> None:
    service.answers |= {"A1": [position("a1", "KO")], "B2": []}
    state, other = MemoryState(), ("a1", "KO", "Equity")
    async with client.watch.positions(accounts, interval=2, state=state) as watcher:
        first = await anext(watcher)
        service.answers["A1"] = [position("a1", "KO", "11")]
        await quiet(watcher)
        async with first:
            pass
        second = await anext(watcher)
        await second.ack()
        assert [brief(each) for each in (first, second)] == [("added", other, ()), ("changed", other, ("quantity",))]
        await quiet(watcher)
    if len(accounts) == 1:
        async with client.watch.positions(accounts, interval=2, state=state) as watcher:
            await quiet(watcher)
            service.answers["A1"] = []
            assert await take(watcher, 1) == [("removed", other, ())]


async def test_slow_account_delays_no_other(service: Service, client: Client) -> None:
    service.answers["B2"] = 25.0
    async with client.watch.positions(["B2", "A1"], interval=2) as watcher:
        assert await take(watcher, 1) == [("added", AAPL, ())]
        service.answers["A1"] = []
        assert await take(watcher, 1) == [("removed", AAPL, ())]
        assert asyncio.get_running_loop().time() == 2


async def test_failing_account_is_retried_on_its_own(service: Service, client: Client) -> None:
    service.answers["B2"] = 503
    failures: list[Exception] = []
    async with client.watch.positions(["B2", "A1"], interval=2, on_error=failures.append) as watcher:
        assert await take(watcher, 1) == [("added", AAPL, ())]
        await quiet(watcher, 21)
        assert asked(service, "A1") == [*range(0, 22, 2)]
        assert len(asked(service, "B2")) == len(failures) == 4
        service.answers["B2"] = [position("B2", "SPY")]
        assert await take(watcher, 1) == [("added", SPY, ())]
    assert watcher.failed == {}


@pytest.mark.parametrize(("status", "kind"), [(403, errors.PermissionDeniedError), (404, errors.NotFoundError)])
async def test_denied_account_is_given_up_and_the_others_go_on(
    service: Service, client: Client, caplog: pytest.LogCaptureFixture, status: int, kind: type[Exception]
) -> None:
    caplog.set_level(logging.ERROR, "brokerage_async.watch")
    async with client.watch.positions(["B2", "A1"], interval=2) as watcher:
        await take(watcher, 2)
        service.answers["B2"] = status
        await quiet(watcher, 3)
        service.answers["A1"] = [position("A1", "AAPL", "3")]
        assert [kind for kind, _, _ in await take(watcher, 1)] == ["changed"]
        assert {account: type(error) for account, error in watcher.failed.items()} == {"B2": kind}
        assert set(watcher.snapshot) == {AAPL, SPY}
        service.answers["A1"] = 403
        await raised_by(anext(watcher), errors.PermissionDeniedError)
        await raised_by(anext(watcher), StopAsyncIteration)
    (record,) = caplog.records
    assert record.getMessage() == f"an account is no longer watched: {kind.__name__} positions.list {status}"
    assert len(asked(service, "B2")) == 2


async def test_changes_found_before_the_end_are_reported_before_the_error(service: Service, client: Client) -> None:
    service.answers["B2"] = 403
    failures: list[Exception] = []
    async with client.watch.positions(["A1", "B2"], on_error=failures.append) as watcher:
        assert await take(watcher, 1) == [("added", AAPL, ())]
        service.answers["A1"] = 400
        await raised_by(anext(watcher), errors.BadRequestError)
    assert [type(error) for error in failures] == [errors.PermissionDeniedError]


async def test_callback_that_raises_ends_the_iteration(service: Service, client: Client) -> None:
    stop = Mock(side_effect=RuntimeError("enough"))
    for status in (403, 503):
        service.answers["B2"] = status
        async with client.watch.positions(["A1", "B2"], on_error=stop) as watcher:
            await raised_by(take(watcher, 3), RuntimeError, "enough")


async def test_error_of_the_callback_outlives_a_later_denial(service: Service, client: Client) -> None:
    def stop_at_503(error: Exception) -> None:
        if isinstance(error, errors.ServerError):
            raise RuntimeError("enough")

    service.answers["B2"] = 503
    async with client.watch.positions(["A1", "B2"], interval=2, on_error=stop_at_503) as watcher:
        await take(watcher, 1)
        service.answers["B2"] = 403
        await asyncio.sleep(10)
        await raised_by(anext(watcher), RuntimeError, "enough")


async def test_seed_and_later_changes_only(service: Service, client: Client) -> None:
    async with client.watch.positions(["A1", "B2"], initial=False) as watcher:
        await quiet(watcher, 3)
        snapshot = watcher.snapshot
        assert set(snapshot) == {AAPL, SPY}
    service.answers["A1"] = [position("A1", "AAPL", **{"updated-at": "2026-03-02T13:00:00Z"})]
    service.answers["B2"] = 4.0
    async with client.watch.positions(["A1", "B2"], interval=2, seed=snapshot) as watcher:
        await quiet(watcher, 3.5)  # nothing of B2 counts as closed while it has not answered
        assert await take(watcher, 1) == [("removed", SPY, ())]
    async with client.watch.positions(["A1"], seed=list(snapshot.values())) as watcher:
        await quiet(watcher, 3)


async def test_busy_account_does_not_starve_the_others(service: Service, client: Client) -> None:
    service.answers = {each: [position(each, f"S{number}") for number in range(9)] for each in ("A1", "B2")}
    async with client.watch.positions(["A1", "B2"]) as watcher:
        await take(watcher, 1)
        await asyncio.sleep(1)
        assert {key.account_number for _, key, _ in await take(watcher, 2)} == {"A1", "B2"}


async def test_polls_at_the_same_time_are_bounded_and_shared(service: Service, client: Client) -> None:
    accounts = [f"C{number}" for number in range(10)]
    service.answers = {each: [] for each in accounts}
    service.latency = 0.1
    watchers = [client.watch.positions(accounts[part:], interval=5) for part in (0, 3, 6)]
    for watcher in watchers:
        await quiet(watcher, 4)
    assert service.max_in_flight == 4
    for times in (asked(service, each) for each in accounts):
        assert len(times) == len({time // 5 for time in times})
    for watcher in watchers:
        await watcher.aclose()


async def test_intervals_are_polite_by_default_and_never_below_a_second(service: Service, client: Client) -> None:
    for options, polls in [({}, 3), ({"interval": 0.1}, 11), ({"interval": 0.1, "min_interval": 0.5}, 21)]:
        service.requests.clear()
        service.times.clear()
        async with client.watch.balances(["A1"], initial=False, **options) as watcher:
            await quiet(watcher, 10.2)
        assert len(service.requests) == polls


async def test_close_wakes_a_waiting_task_though_others_watch_on(client: Client) -> None:
    async with client.watch.positions(["A1", "B2"], interval=60) as other:
        watcher = client.watch.positions(["A1", "B2"], interval=60)
        await take(other, 2)
        await take(watcher, 2)
        waiting = asyncio.create_task(take(watcher, 1))
        await asyncio.sleep(1)
        await watcher.aclose()
        await raised_by(anext(watcher), StopAsyncIteration)
        await raised_by(waiting, StopAsyncIteration)
        assert asyncio.get_running_loop().time() == 1


async def test_states_of_other_accounts_and_lists_are_rejected(client: Client) -> None:
    state = MemoryState()
    for accounts in (["B2", "A1"], ["A1", "B2"]):
        async with client.watch.positions(accounts, state=state) as watcher:
            await anext(watcher)
    assert json.loads(state.feed or "") == {
        "watch": "positions", "origin": "https://service", "environment": "sandbox", "accounts": ["A1", "B2"],
    }  # fmt: skip
    for other in (
        client.watch.positions(["A1"], state=state),
        client.watch.positions(["A1", "B2"], include_marks=True, state=state),
        client.watch.balances(["A1"], state=state),
        client.watch.orders("me", ["A1"], state=state),
        client.watch.quote_alerts(state=state),
        client.watch.market(state=state),
    ):
        await raised_by(anext(other), WatchStateError, "belongs to")
        await other.aclose()
