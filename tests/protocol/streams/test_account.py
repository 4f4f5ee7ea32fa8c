"""The account stream, message by message."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async.config import Secret
from brokerage_async.errors import MessageTooLargeError, ResponseDecodeError, StreamRefusedError, TransportError
from brokerage_async.protocol.streams.account import MAX_OBJECT, AccountConnection
from brokerage_async.protocol.streams.events import AccountEvent
from brokerage_async.protocol.streams.timing import Timing
from tests.protocol.values import json_values, raised
from tests.tables import for_each

TOKEN = "Bearer AAA"
ORDER: dict[str, Any] = {"id": 700100, "account-number": "9ZZ00001", "status": "Live", "updated-at": 1783344600133}


def connection(*accounts: str, **options: Any) -> AccountConnection:
    return AccountConnection(accounts or ["9ZZ00001"], now=0.0, **options)


def sent(stream: AccountConnection, now: float, token: str = TOKEN) -> list[dict[str, Any]]:
    return [json.loads(message.reveal()) for message in stream.send(Secret(token), now)]


def receive(stream: AccountConnection, now: float, **message: Any) -> list[AccountEvent]:
    return stream.receive(json.dumps({key.replace("_", "-"): value for key, value in message.items()}), now)


def ready(**options: Any) -> AccountConnection:
    """Return a connection at second 0 whose ``connect`` and subscriptions are confirmed."""
    stream = connection(**options)
    while stream.must_send:
        for message in sent(stream, 0.0):
            answer = {"value": message["value"]} if "value" in message else {}
            receive(stream, 0.0, status="ok", action=message["action"], request_id=message["request-id"], **answer)
    assert stream.is_ready
    return stream


def test_connect_goes_first_then_the_subscriptions() -> None:
    stream = connection("B", "A", alerts=True, watchlists=True, source="demo/1")
    assert sent(stream, 0.0) == [
        {"action": "connect", "value": ["A", "B"], "auth-token": TOKEN, "request-id": 1, "source": "demo/1"}
    ]
    assert not stream.must_send
    assert sent(stream, 1.0) == []
    receive(stream, 1.0, status="ok", action="connect", value=["A", "B"], request_id=1)
    assert [each["action"] for each in sent(stream, 1.0)] == ["public-watchlists-subscribe", "quote-alerts-subscribe"]
    assert not stream.is_ready
    receive(stream, 1.0, status="ok", action="quote-alerts-subscribe")  # no request-id: the oldest of that action
    receive(stream, 1.0, status="ok", action="public-watchlists-subscribe")
    assert stream.is_ready


@for_each("alerts", [True, False])
def test_what_was_wanted_before_stays_wanted_and_what_is_not_confirmed_is_rejected(alerts: bool) -> None:
    stream = connection("B", alerts=alerts, watchlists=not alerts)
    stream.want(["A"], alerts=not alerts, watchlists=alerts)
    stream.want([], alerts=False, watchlists=False)
    sent(stream, 0.0)
    receive(stream, 0.0, status="ok", action="connect", value=["A"], request_id=1)
    assert (stream.accepted, stream.rejected) == ({"A"}, {"B"})
    assert [each["action"] for each in sent(stream, 0.0)] == ["public-watchlists-subscribe", "quote-alerts-subscribe"]


def test_heartbeat_counts_from_the_last_message_and_carries_the_new_token() -> None:
    stream = ready()
    assert stream.due == 20.0
    assert sent(stream, 19.9) == []
    assert sent(stream, 20.0, "Bearer BBB") == [{"action": "heartbeat", "auth-token": "Bearer BBB", "request-id": 2}]
    receive(stream, 20.1, status="ok", action="heartbeat", ws_sequence=7)
    assert stream.due == 40.0


@for_each(
    "now, timing, reason",
    [(10.0, Timing(), "did not answer connect in 10 s"), (60.0, Timing(answer=90.0), "was silent for 60 s")],
)
def test_service_that_does_not_answer_is_lost(now: float, timing: Timing, reason: str) -> None:
    stream = connection(timing=timing)
    sent(stream, 0.0)
    assert stream.due == now
    assert stream.send(Secret(TOKEN), now - 0.1) == []
    raised(TransportError, stream.send, Secret(TOKEN), now, match=reason)


@for_each("message", ["failed", "not-implemented", "connect-not-completed", "something new"])
def test_error_is_a_refusal(message: str) -> None:
    stream = connection()
    sent(stream, 0.0)
    answer = {"status": "error", "action": "connect", "message": message}
    error = raised(StreamRefusedError, receive, stream, 0.1, **answer, match=f"refused connect: {message}")
    assert error.code == message


def test_order_event_has_the_model_and_the_time_of_the_message() -> None:
    [event] = receive(ready(), 1.0, type="Order", data=ORDER, timestamp=1783344600140, ws_sequence=4)
    updated, sent = (datetime(2026, 7, 6, 13, 30, 0, milli * 1000, tzinfo=UTC) for milli in (133, 140))
    assert event.data == models.Order(id="700100", account_number="9ZZ00001", status="Live", updated_at=updated)
    assert (event.type, event.account_number, event.sequence) == ("Order", "9ZZ00001", 4)
    assert event.timestamp == sent


TOTALS, NODE = models.OrderChainTotals(total_fees=Decimal("1.2")), models.OrderChainNode(node_type="order", roll=False)
CHAIN = models.OrderChain(id="3", computed_data=TOTALS, lite_nodes=(NODE,))
CHAIN_DATA = {"id": 3, "computed-data": {"total-fees": "1.2"}, "lite-nodes": [{"node-type": "order", "roll": False}]}


@for_each(
    "kind, data, expected",
    [
        ("CurrentPosition", {"symbol": "ACME", "quantity": 7}, models.Position(symbol="ACME", quantity=Decimal(7))),
        ("AccountBalance", {"cash-balance": "1.5"}, models.AccountBalance(cash_balance=Decimal("1.5"))),
        ("QuoteAlert", {"symbol": "ACME", "expires-at": 5}, models.QuoteAlert(symbol="ACME", expires_at="5")),
        ("PublicWatchlists", {"name": "Tech", "order-index": 3}, models.Watchlist(name="Tech", order_index=3)),
        ("OrderChain", CHAIN_DATA, CHAIN),
        ("UnderlyingYearGainSummary", {"year": "2026"}, models.UnderlyingYearGainSummary(year=2026)),
        ("ExternalTransaction", {"amount": 5}, models.ExternalTransaction(amount=Decimal(5))),
        ("UserMessage", {"hello": [1]}, {"hello": [1]}),
        ("TradingStatus", {"brand-new": 1}, models.TradingStatus(extra={"brand-new": 1})),
        ("Order", None, None),
    ],
)
def test_event_of_each_type(kind: str, data: Any, expected: Any) -> None:
    [event] = receive(ready(), 1.0, type=kind, data=data)
    assert (event.type, event.data) == (kind, expected)


def test_value_that_does_not_fit_is_an_error_with_its_path_in_strict_mode() -> None:
    odd = {"type": "Order", "data": {**ORDER, "price": ["?"]}}
    error = raised(ResponseDecodeError, receive, ready(strict=True), 1.0, **odd)
    assert (error.operation, error.json_path) == ("stream.account", "$.Order.price")


def test_message_with_a_type_or_unknown_is_an_event() -> None:
    [event] = receive(ready(), 1.0, type="Order", data=ORDER, status="error", action="connect")
    assert event.data.id == "700100"
    assert receive(ready(), 1.0, results=[{"data": ORDER}, {"status": "error"}]) == []
    events = receive(ready(), 1.0, results=[{"type": "Order", "data": ORDER}, 7, {"type": "Order", "data": ORDER}])
    assert [event.data.id for event in events] == ["700100", "700100"]
    [event] = receive(ready(), 1.0, news="all")
    assert (event.type, event.data) == ("", {"news": "all"})


def test_message_that_is_no_object_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    stream = ready()
    assert [each for each in (b"\xff", "[1]", "[" * 100_000) if stream.receive(each, 1.0) != []] == []
    assert caplog.text.count("not a JSON object") == 3


def test_repeated_answer_confirms_no_later_request() -> None:
    stream = ready()
    stream.want(["B"], alerts=False, watchlists=False)
    [second] = sent(stream, 1.0)
    assert second["value"] == ["9ZZ00001", "B"]
    receive(stream, 1.0, status="ok", action="connect", request_id=1, value=["9ZZ00001"])
    assert (stream.rejected, stream.is_ready) == (frozenset(), False)
    receive(stream, 1.0, status="ok", action="connect", request_id=second["request-id"], value=["9ZZ00001", "B"])
    assert (stream.accepted, stream.is_ready) == ({"9ZZ00001", "B"}, True)


def test_token_shows_in_no_error_and_no_representation() -> None:
    stream = connection()
    [message] = stream.send(Secret("Bearer hush"), 0.0)
    assert "hush" not in repr(message)
    assert "hush" in message.reveal()
    answer = {"status": "error", "action": "connect hush", "message": "bad token Bearer hush"}
    error = raised(StreamRefusedError, receive, stream, 0.1, **answer)
    assert "hush" not in str(error)
    assert error.code == "bad token Bearer <secret>"


KEYS = ["type", "data", "status", "action", "request-id", "results", "value", "timestamp", "id", "legs", "x"]
JSON = json_values(KEYS, max_size=5)


@given(st.lists(JSON | st.fixed_dictionaries({"type": st.sampled_from(["Order", "QuoteAlert", "?"]), "data": JSON})))
def test_no_message_breaks_the_connection_but_a_refusal(messages: list[Any]) -> None:
    stream = ready()
    for number, message in enumerate(messages):
        try:
            events = stream.receive(json.dumps(message), float(number) / 1000)
        except StreamRefusedError:
            return
        assert all(isinstance(event, AccountEvent) for event in events)
    assert stream.due >= 20.0


def test_large_message_is_read_in_short_steps_and_a_large_object_refused() -> None:
    link = AccountConnection(["A"], now=0.0)
    results = ",".join(['{"type":"Order","data":{"id":"7","status":[]}}', "7", "{}"] * 5_000)
    found = [events for _, events in link.steps(f'{{"results":[{results}]}}', 0.0)]
    assert (sum(map(len, found)), max(map(len, found)) <= 256) == (5_000, True)
    assert link.receive('{"results":[' + "[" * 600_000, 0.0) == []
    fills = ",".join(['{"fill-id":"1","quantity":"1"}'] * 10_000)
    body = '{"type":"Order","data":{"id":"7","legs":[{"fills":[%s]}]}}'
    assert len(body) + len(fills) < MAX_OBJECT < 2 * len(fills)
    assert len(link.receive(body % fills, 0.0)[0].data.legs[0].fills) == 10_000
    raised(MessageTooLargeError, link.receive, body % (fills * 2), 0.0, match="an object of 6")
