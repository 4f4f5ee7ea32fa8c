"""The streams of a client, over a transport that answers from a script, on the virtual clock."""

import asyncio
import inspect
import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken, errors
from brokerage_async._generated.models import Order, OrderStatus
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.watch import Watch, Watcher, WatchStateError, is_terminal, poll
from brokerage_async.watch.diff import Acknowledgeable
from tests.fake_transport import FakeTransport, ok
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.protocol.values import raised
from tests.tables import for_each
from tests.watch.memory_state import MemoryState
from tests.watch.scripted_service import NOON, Service, client_of, quiet

pytestmark = pytest.mark.virtual_time

LIVE = "/customers/me/orders/live"
SEARCH = "/customers/me/orders?"
WITHOUT_FILLS = {"id": 7, "account-number": "A1", "status": "Filled", "legs": [{"symbol": "AAPL", "quantity": 1}]}


def row(id: int, status: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "account-number": "A1", "status": status, **fields}


async def take(watcher: Watcher[Any], count: int) -> list[tuple[str, str, str | None]]:
    changes = [await anext(watcher) for _ in range(count)]
    return [(each.kind.value, each.key, each.after and each.after.status) for each in changes]


async def test_orders_changes_name_the_fields_that_differ(service: Service, client: Client) -> None:
    service.answers[LIVE] = [row(1, "Live", price="1.10"), row(2, "Received")]
    async with client.watch.orders("me", ["B2", "A1"], interval=1) as watcher:
        assert await take(watcher, 2) == [("added", "1", "Live"), ("added", "2", "Received")]
        service.answers[LIVE] = [
            row(1, "Filled", price="1.1", **{"terminal-at": "2026-03-02T12:00:03Z"}),
            row(2, "Live"),
        ]
        change = await anext(watcher)
        assert (change.kind, change.key, change.fields) == ("changed", "1", ("status", "terminal_at"))
        assert isinstance(change.before, Order)
        assert change.at == NOON + timedelta(seconds=1)
        assert await take(watcher, 1) == [("changed", "2", "Live")]
        service.answers[LIVE] = [row(2, "Live")]
        change = await anext(watcher)
        assert (change.kind, change.item.status, change.after) == ("removed", "Filled", None)
    assert service.times_of(LIVE) == [0, 1, 2]
    assert service.targets[0].endswith("?account-numbers[]=A1&account-numbers[]=B2")


async def test_orders_many_watchers_share_one_request_per_interval(service: Service, client: Client) -> None:
    service.answers[LIVE] = [row(1, "Live"), row(2, "Live")]
    watchers = [client.watch.orders("me", order, interval=1) for order in [["A1", "B2"], ["B2", "A1"]] * 250]
    await asyncio.gather(*(take(watcher, 2) for watcher in watchers))
    waiting = [asyncio.create_task(take(watcher, 1)) for watcher in watchers]
    await asyncio.sleep(5.5)
    service.answers[LIVE] = [row(1, "Live"), row(2, "Filled")]
    assert await asyncio.gather(*waiting) == [[("changed", "2", "Filled")]] * 500
    assert service.times_of(LIVE) == [0, 1, 2, 3, 4, 5, 6]
    await asyncio.gather(*(watcher.aclose() for watcher in watchers))
    await asyncio.sleep(5)
    assert len(service.times_of(LIVE)) == 7
    async with client.watch.orders("me", ["A1", "B2"], interval=1) as again:
        assert await take(again, 2) == [("added", "1", "Live"), ("added", "2", "Filled")]


async def test_orders_terminal_state_is_reported_before_removal(service: Service, client: Client) -> None:
    service.answers[LIVE] = [row(1, "Live")]
    async with client.watch.orders("me", ["A1"]) as watcher:
        await take(watcher, 1)
        service.answers[LIVE] = [row(1, "Expired"), row(2, "Live")]
        await asyncio.sleep(10)
        service.answers[LIVE] = []
        await asyncio.sleep(10)
        assert await take(watcher, 2) == [("changed", "1", "Expired"), ("removed", "1", None)]


async def test_order_many_waits_share_the_polls(service: Service, client: Client) -> None:
    service.answers[LIVE] = lambda target: [
        row(id, "Filled" if service.times[-1] >= id else "Live") for id in range(1, 21)
    ]
    orders = await asyncio.gather(*(client.watch.order("me", "A1", id, interval=1) for id in range(1, 21)))
    assert [order.id for order in orders] == [str(id) for id in range(1, 21)]
    assert service.times_of(LIVE) == list(range(21))
    assert service.times_of(SEARCH) == []


async def test_order_timeout_raises_deadline_exceeded(service: Service, client: Client) -> None:
    service.answers[LIVE] = [row(7, "Live")]
    with pytest.raises(errors.DeadlineExceededError, match=r"order 7 was not terminal within 30 s") as caught:
        await client.watch.order("me", "A1", "7", timeout=30)
    assert asyncio.get_running_loop().time() == 30
    assert caught.value.maybe_processed is False
    await asyncio.sleep(10)
    assert service.times[-1] <= 30


def listed_until(seconds: float, listed: Any, then: Any) -> Any:
    return lambda service: lambda _: listed if service.times[-1] < seconds else then


@for_each(
    "listed, older, status, end, lookups",
    [
        ([row(8, "Live")], [row(8, "Live"), row(7, "Cancelled")], "Cancelled", 0, [0]),
        (listed_until(100, [], [row(7, "Filled")]), [row(7, "Live")], "Filled", 100, [0]),  # works since yesterday
        (listed_until(50, [row(7, "Live")], []), [row(7, "Expired")], "Expired", 50, [50]),  # at once when it leaves
        ([], listed_until(800, [row(7, "Live")], [row(7, "Expired")]), "Expired", 900, [0, 300, 600, 900]),
        ([], [row(8, "Live")], None, 10, [0, 5, 10]),
        (listed_until(2, [WITHOUT_FILLS], []), [WITHOUT_FILLS], "Filled", 32, range(2, 33, 5)),  # after 30 s, at a look
    ],
)
@on_virtual_time
async def test_order_not_listed_today_is_looked_up(
    listed: Any, older: Any, status: str | None, end: float, lookups: Sequence[float]
) -> None:
    async with client_of(service := Service()) as client:
        for path, answer in ((LIVE, listed), ("/customers/me/orders", older)):
            service.answers[path] = answer(service) if callable(answer) else answer
        if status is None:
            await raised_by(client.watch.order("me", "A1", 7), errors.NotFoundError, "order 7")
        else:
            assert (await client.watch.order("me", "A1", 7)).status == status
        assert asyncio.get_running_loop().time() == pytest.approx(end)
        assert sorted(set(service.times_of(SEARCH))) == pytest.approx(list(lookups))
        assert "start-date=2025-01-25" in next(target for target in service.targets if target.startswith(SEARCH))


async def test_order_follow_waits_for_the_replacement_as_long_as_timeout_permits(
    service: Service, client: Client
) -> None:
    ended = row(7, "Cancelled", **{"replacing-order-id": 8})
    service.answers[LIVE] = lambda _: [ended, row(8, "Filled" if service.times[-1] >= 9 else "Live")]
    assert (await client.watch.order("me", "A1", 7)).replacing_order_id == "8"
    await raised_by(client.watch.order("me", "A1", 7, follow=True, timeout=5), errors.DeadlineExceededError, "order 7 ")
    assert (await client.watch.order("me", "A1", 7, follow=True)).id == "8"


async def test_order_lookup_failure_is_retried_unless_fatal(service: Service, client: Client) -> None:
    answers: Any = iter([502, 503, 429])
    service.answers[LIVE] = []
    service.answers["/customers/me/orders"] = lambda target: next(answers, None) or [row(7, "Filled")]
    failures: list[Exception] = []
    assert (await client.watch.order("me", "A1", 7, on_error=failures.append)).status == "Filled"
    assert [getattr(failure, "status", None) for failure in failures] == [502, 503, 429]
    service.answers["/customers/me/orders"] = 403
    await raised_by(client.watch.order("me", "A1", 7), errors.PermissionDeniedError)


def test_is_terminal_agrees_with_the_status_table() -> None:
    assert {status for status in OrderStatus if is_terminal(Order(status=status))} == TERMINAL
    assert {"Filled", "Cancelled", "Expired", "Rejected", "Removed"} <= TERMINAL
    assert is_terminal(Order(status=OrderStatus("Busted"), terminal_at=NOON))
    assert not is_terminal(Order(status=OrderStatus("Busted")))
    assert not is_terminal(Order())
    assert not is_terminal(Order(status=OrderStatus.LIVE, terminal_at=NOON))


CUSTOMERS = (None, "", True, 1.5, b"me", ["me"], "..")
ACCOUNTS = ("A1", b"A1", None, 5, [], [""], [5], [None], ["A1", 5], [["A1"]])
CALLBACKS = (5, asyncio.sleep)
COLLECTIONS = (None, 5, "", b"Equity")
IS_FLAG, FLAGS = "{} must be True or False, got 'false'", ("false",)
SECONDS = ("x", None, 0, -1, True, float("inf"), float("nan"))
INVALID: list[tuple[str, Callable[[Any, Any], Any], Sequence[Any]]] = [
    ("customer_id", lambda watch, wrong: watch.orders(wrong, ["A1"]), CUSTOMERS),
    ("customer_id", lambda watch, wrong: watch.order(wrong, "A1", 1), CUSTOMERS),
    ("account", lambda watch, wrong: watch.orders("me", wrong), [*ACCOUNTS, {"A1": 1}]),
    ("account", lambda watch, wrong: watch.positions(wrong), [*ACCOUNTS, [".."]]),
    ("seed must hold", lambda watch, wrong: watch.positions(["A1"], seed=wrong), (5, [5], "text", {"1": None})),
    ("include_marks", lambda watch, wrong: watch.positions(["A1"], include_marks=wrong), (None, 7, "yes")),
    ("id", lambda watch, wrong: watch.order("me", "A1", wrong), (None, 1.5, True, "")),
    ("timeout", lambda watch, wrong: watch.order("me", "A1", "1", timeout=wrong), ("5", -1)),
    ("interval", lambda watch, wrong: watch.order("me", "A1", "1", interval=wrong), ("5",)),
    ("follow", lambda watch, wrong: watch.order("me", "A1", "1", follow=wrong), ("yes",)),
    ("on_error must be a", lambda watch, wrong: watch.orders("me", ["A1"], on_error=wrong), CALLBACKS),
    ("on_error must be a", lambda watch, wrong: watch.market(on_error=wrong), CALLBACKS),
    ("instrument_collection", lambda watch, wrong: watch.market(wrong), COLLECTIONS),
    ("instrument_collection", lambda watch, wrong: watch.market_hours(wrong, trading=1), COLLECTIONS),
    (IS_FLAG.format("extended"), lambda watch, wrong: watch.market(extended=wrong), FLAGS),
    (IS_FLAG.format("initial"), lambda watch, wrong: watch.market(initial=wrong), FLAGS),
    (IS_FLAG.format("extended"), lambda watch, wrong: watch.market_hours(trading=1.0, extended=wrong), FLAGS),
    ("state must be an", lambda watch, wrong: watch.fills(["A1"], state=wrong), ("fills.db", MemoryState)),
    ("trading", lambda watch, wrong: watch.market_hours(trading=wrong), SECONDS),
    ("resting", lambda watch, wrong: watch.market_hours(trading=1, resting=wrong), SECONDS),
]


@for_each("name, call, wrong", [(name, call, wrong) for name, call, values in INVALID for wrong in values])
async def test_invalid_argument_raises_at_once(
    service: Service, client: Client, name: str, call: Callable[[Any, Any], Any], wrong: Any
) -> None:
    async def use() -> None:
        watcher = call(client.watch, wrong)
        if inspect.isawaitable(watcher):
            await watcher

    await raised_by(use(), (errors.InvalidRequestError, errors.ConfigurationError), name)
    assert service.requests == []


async def test_quote_alerts_kinds_come_from_timestamps(service: Service, client: Client) -> None:
    stamp = "2026-03-02T12:00:00.000+00:00"
    born = {"alert-external-id": "x", "symbol": "AAPL", "created-at": stamp, "triggered-at": None}
    path = "/quote-alerts"
    service.answers[path] = [born]
    async with client.watch.quote_alerts(interval=1) as watcher:
        assert [(change.kind, change.key) for change in [await anext(watcher)]] == [("created", "x")]
        service.answers[path] = [born | {"triggered-at": stamp, "completed-at": stamp}]
        assert [(await anext(watcher)).kind for _ in range(2)] == ["triggered", "completed"]
        service.answers[path] = [born | {"triggered-at": stamp, "completed-at": stamp, "dismissed-at": stamp}]
        assert (await anext(watcher)).kind == "dismissed"
        service.answers[path] = [{**born, "alert-external-id": "y", "expired-at": stamp}]
        kinds = [((change := await anext(watcher)).kind, change.key) for _ in range(3)]
        assert kinds == [("created", "y"), ("expired", "y"), ("removed", "x")]


async def test_orders_watcher_during_the_end_of_a_feed_gets_a_new_one(client: Client) -> None:
    async def slow_to_leave(request: Request) -> Response:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            raise
        return Response(status=200, body=json.dumps({"data": {"items": [row(1, "Live")]}}).encode())

    client.session.engine.transport.send = slow_to_leave
    one = client.watch.orders("me", ["A1"])
    await quiet(one, 2)
    leaving = asyncio.create_task(one.aclose())
    await asyncio.sleep(0.5)
    async with client.watch.orders("me", ["A1"]) as other:
        assert await take(other, 1) == [("added", "1", "Live")]
    await leaving


@for_each(
    "watch",
    [
        lambda client, state: client.watch.orders("me", ["A1"], state=state),
        lambda client, state: client.watch.quote_alerts(state=state),
        lambda client, state: client.watch.positions(["A1"], state=state),
        lambda client, state: client.watch.balances(["A1"], state=state),
        lambda client, state: client.watch.market(state=state),
    ],
)
async def test_state_of_another_service_is_rejected(watch: Callable[[Client, MemoryState], Watcher[Any]]) -> None:
    async def watch_service(address: str) -> None:
        transport: Any = FakeTransport(lambda _: ok({"items": []}))
        async with (
            Client(Environment.sandbox(address), StaticToken("token"), transport=transport) as client,
            watch(client, state) as watcher,
        ):
            await asyncio.wait_for(anext(watcher), 10)

    state = MemoryState()
    for address in ("https://service", "https://service/prefix"):
        await raised_by(watch_service(address), TimeoutError)
    with pytest.raises(WatchStateError, match=r'to .*"https://service", .*not to .*"https://service:8443"'):
        await watch_service("https://service:8443")


async def test_orders_filters_are_sent_and_watchers_with_others_do_not_share_polls(
    service: Service, client: Client
) -> None:
    service.answers[LIVE] = [row(1, "Live")]
    filters: list[Any] = [
        {},
        {"statuses": ["Live", "Routed"]},
        {"statuses": ("Routed", OrderStatus.LIVE), "underlying_symbol": None},
        {"underlying_symbol": "AAPL"},
    ]
    watchers = [client.watch.orders("me", ["A1"], **each) for each in filters]
    for watcher in watchers:
        assert await take(watcher, 1) == [("added", "1", "Live")]
    assert [target.partition("?account-numbers[]=A1")[2] for target in service.targets] == [
        "",
        "&status[]=Live&status[]=Routed",
        "&underlying-symbol=AAPL",
    ]
    await asyncio.gather(*(watcher.aclose() for watcher in watchers))
    raised(TypeError, client.watch.orders, "me", ["A1"], colour="blue", match=r"orders\.live has no parameter 'colour'")


async def test_order_looked_up_in_a_list_that_changed_is_not_called_nonexistent(
    service: Service, client: Client
) -> None:
    service.answers[LIVE] = []
    looks = 0

    def search(target: str) -> Response:
        nonlocal looks
        first = "page-offset=0" in target
        looks += first
        left = looks <= 3  # an order leaves the first page while the second is read
        block = {"total-items": 2 if first or not left else 1, "total-pages": 2, "current-item-count": 1}
        rows = [row(8, "Live")] if first else [] if left else [row(7, "Filled")]
        return Response(status=200, body=json.dumps({"data": {"items": rows}, "pagination": block}).encode())

    service.script = [lambda request: search(request.url) if SEARCH in request.url else service._answer(request)]
    assert (await client.watch.order("me", "A1", 7)).status == "Filled"
    assert looks == 4


def test_docstrings_list_the_arguments_and_show_the_loops() -> None:
    for call in (Watch.orders, Watch.order, Watch.fills, Watch.market, poll):
        doc = inspect.getdoc(call) or ""
        names = inspect.signature(call).parameters.keys() - {"self"}
        assert [name for name in names if f"\n    {name}: " not in doc] == [], call
        assert call not in (Watch.orders, Watch.fills) or "    async for " in doc
    assert "    idempotency_key: " in (inspect.getdoc(Acknowledgeable) or "")
