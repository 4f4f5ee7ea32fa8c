"""The market-data stream, message by message."""

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async.config import Secret
from brokerage_async.errors import ResponseDecodeError, StreamRefusedError, TransportError
from brokerage_async.protocol.decoding.adaptive import DecoderRegistry
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.streams.channel import MAX_MESSAGE, MAX_TYPES, Interruption, Subscription
from brokerage_async.protocol.streams.dxlink import VERSION, DxLinkConnection
from brokerage_async.protocol.streams.events import Rows, Snapshot
from brokerage_async.protocol.streams.feed_data import ROWS_PER_STEP, _row_plan, default_columns
from tests.protocol.values import json_values, raised
from tests.tables import for_each

QUOTE, CANDLE = Subscription("Quote", "ACME"), Subscription("Candle", "ACME{=m}", 1783344480000)


def sent(link: DxLinkConnection, now: float = 0.0) -> list[dict[str, Any]]:
    return [json.loads(message.reveal()) for message in link.send(now)]


def receive(link: DxLinkConnection, kind: str, channel: Any = 0, now: float = 0.0, **values: Any) -> list[Any]:
    return link.receive(json.dumps({"type": kind, "channel": channel, **values}), now)


def authorized(*subscriptions: Subscription, **options: Any) -> DxLinkConnection:
    link = DxLinkConnection(Secret("dG9rZW4="), now=0.0, **options)
    link.add(subscriptions)
    sent(link)
    receive(link, "SETUP", version="1.0-9.9.9", keepaliveTimeout=60, acceptKeepaliveTimeout=60)
    sent(link)
    receive(link, "AUTH_STATE", state="UNAUTHORIZED")
    receive(link, "AUTH_STATE", state="AUTHORIZED", userId="u-demo")
    return link


def opened(*subscriptions: Subscription, columns: list[str] | None = None, **options: Any) -> DxLinkConnection:
    """Return a connection with a channel for each type of the subscriptions: 1, 3 and so on.

    ``columns`` are announced for the first of them.
    """
    link = authorized(*subscriptions, **options)
    for message in sent(link):
        receive(link, "CHANNEL_OPENED", message["channel"], service="FEED", parameters={"contract": "AUTO"})
    sent(link)
    assert link.is_ready
    if columns is not None:
        receive(link, "FEED_CONFIG", 1, eventFields={subscriptions[0].type: columns})
    return link


def test_handshake_in_the_recorded_order() -> None:
    link = DxLinkConnection(Secret("dG9rZW4="), now=0.0, aggregation=0.5)
    link.add([QUOTE, CANDLE])
    setup = {"type": "SETUP", "channel": 0, "version": VERSION, "keepaliveTimeout": 60, "acceptKeepaliveTimeout": 60}
    assert sent(link) == [setup]
    receive(link, "SETUP", version="1.0-9.9.9")
    assert sent(link) == [{"type": "AUTH", "channel": 0, "token": "dG9rZW4="}]
    assert sent(link) == []
    receive(link, "AUTH_STATE", state="UNAUTHORIZED")
    assert sent(link) == []
    receive(link, "AUTH_STATE", state="AUTHORIZED")
    assert link.must_send
    request = {"type": "CHANNEL_REQUEST", "service": "FEED", "parameters": {"contract": "AUTO"}}
    assert sent(link) == [{**request, "channel": 1}, {**request, "channel": 3}]
    receive(link, "CHANNEL_OPENED", 3)
    assert sent(link) == [
        {"type": "FEED_SETUP", "channel": 3, "acceptAggregationPeriod": 0.5, "acceptDataFormat": "COMPACT",
         "acceptEventFields": {"Candle": list(default_columns("Candle"))}},
        {"type": "FEED_SUBSCRIPTION", "channel": 3, "reset": True,
         "add": [{"type": "Candle", "symbol": "ACME{=m}", "fromTime": 1783344480000}]},
    ]  # fmt: skip
    assert not link.is_ready


def test_server_that_asks_for_the_token_gets_it_once_and_refuses_it_at_any_time() -> None:
    link = DxLinkConnection(Secret("t"), now=0.0)
    sent(link)
    receive(link, "AUTH_STATE", state="UNAUTHORIZED")
    assert [message["type"] for message in sent(link)] == ["AUTH"]
    assert not link.is_ready
    refusals = {"AUTH_STATE": {"state": "UNAUTHORIZED"}, "ERROR": {"error": "UNAUTHORIZED", "message": "token"}}
    for kind, values in refusals.items():
        for refused in (link, authorized(), opened(QUOTE)):
            error = raised(StreamRefusedError, receive, refused, kind, match="refused the quote token", **values)
            assert error.code == "UNAUTHORIZED"


@for_each(
    "data",
    [
        ["Quote", ["ACME", 51.2, "B", 7]],  # concatenated
        ["Quote", [["ACME", 51.2], ["B", 7]]],  # a list per row
        ["Quote", ["ACME", 51.2], "Quote", ["B", 7]],  # several blocks
        [["Quote", ["bidPrice", "eventSymbol"]], [51.2, "ACME", 7, "B"]],  # columns beside the rows
        [{"eventType": "Quote", "eventSymbol": each, "bidPrice": bid} for each, bid in (("ACME", 51.2), ("B", 7))],
    ],
)
def test_rows_of_each_form(data: list[Any]) -> None:
    link = opened(QUOTE)
    receive(link, "FEED_CONFIG", 1, eventFields={"Quote": ["eventSymbol", "bidPrice"], "Trade": [], "Greeks": 7})
    assert receive(link, "FEED_DATA", 1, data=data) == [
        models.Quote(event_symbol="ACME", bid_price=Decimal("51.2")),
        models.Quote(event_symbol="B", bid_price=Decimal(7)),
    ]


def test_value_that_does_not_fit_is_an_error_in_strict_mode() -> None:
    data = [{"eventType": "Quote", "eventSymbol": "ACME", "bidPrice": ["?"]}]
    error = raised(ResponseDecodeError, receive, opened(QUOTE, strict=True), "FEED_DATA", 1, data=data)
    assert (error.operation, error.json_path) == ("stream.quotes", "$.Quote[0].bidPrice")


def test_rows_without_announced_columns_or_of_an_unknown_type_are_kept() -> None:
    link = opened(QUOTE)
    row = ["ACME", 0, 0, 0, "Q", 51.2, 300.0, 0, "Z", 51.3, 200.0]
    [quote] = receive(link, "FEED_DATA", 1, data=["Quote", row])
    assert (quote.event_symbol, quote.bid_price, quote.ask_exchange_code) == ("ACME", Decimal("51.2"), "Z")
    receive(link, "FEED_CONFIG", 1, eventFields={"Mood": ["eventSymbol", "level"]})
    for data in (["Mood", ["ACME", 3]], [{"eventType": "Mood", "eventSymbol": "ACME", "level": 3}]):
        [event] = receive(link, "FEED_DATA", 1, data=data)
        assert (event.type, event.fields) == ("Mood", {"eventSymbol": "ACME", "level": 3})
    [event] = receive(link, "FEED_DATA", 1, data=["Weather", [1, 2]])
    assert event.fields == {"values": [1, 2]}


def test_rows_that_cannot_be_read_are_left_out() -> None:
    bodies: list[Any] = [{"Quote": []}, ["Quote"], ["Quote", 7], [7, ["ACME"]], ["Quote", ["ACME"]], None, "x"]
    bodies += [[["Quote", [7]], ["ACME"]], ["Quote", [["ACME", 1], 7]], ["Quote", [["ACME"], None]]]
    link = opened(QUOTE, columns=["eventSymbol", "bidPrice"])
    assert [data for data in bodies if receive(link, "FEED_DATA", 1, data=data) != []] == []


def test_candle_snapshot_is_delivered_whole() -> None:
    link = opened(CANDLE, columns=["eventSymbol", "eventFlags", "index", "time", "close"])
    first = ["ACME{=m}", 4, 7659406734498201600, 1783344600000, 51.25]
    second = ["ACME{=m}", 0, 7659406476800163840, 1783344540000, 51.0]
    assert receive(link, "FEED_DATA", 1, data=["Candle", first + second]) == []
    [snapshot] = receive(link, "FEED_DATA", 1, data=["Candle", ["ACME{=m}", 10, 7659406219102126080, 0, "NaN"]])
    assert isinstance(snapshot, Snapshot)
    assert [candle.close for candle in snapshot.events] == [Decimal("51.0"), Decimal("51.25")]
    update = ["ACME{=m}", 0, 7659406734498201600, 1783344600000, 51.55]
    assert [candle.close for candle in receive(link, "FEED_DATA", 1, data=["Candle", update])] == [Decimal("51.55")]


def test_subscriptions_change_before_and_after_their_channel_is_open() -> None:
    link = opened(QUOTE)
    link.add([Subscription("Quote", "B")])
    link.remove([QUOTE, Subscription("Quote", "UNKNOWN"), Subscription("Trade", "ACME")])
    assert sent(link) == [
        {"type": "FEED_SUBSCRIPTION", "channel": 1, "remove": [{"type": "Quote", "symbol": "ACME"}]},
        {"type": "FEED_SUBSCRIPTION", "channel": 1, "add": [{"type": "Quote", "symbol": "B"}]},
    ]
    link = opened(CANDLE)
    link.remove([Subscription("Candle", "ACME{=m}", 7)])
    [message] = sent(link)
    assert message["remove"] == [{"type": "Candle", "symbol": "ACME{=m}", "fromTime": 1783344480000}]
    link = authorized(QUOTE, Subscription("Quote", "B"))
    [request] = sent(link)
    link.remove([QUOTE])
    receive(link, "CHANNEL_OPENED", request["channel"])
    assert sent(link)[1]["add"] == [{"type": "Quote", "symbol": "B"}]


def test_many_subscriptions_go_out_in_parts() -> None:
    link = opened(*(Subscription("Quote", f"SYMBOL{number}") for number in range(1000)))
    link.add(Subscription("Quote", f"OTHER{number}") for number in range(1000))
    messages = link.send(1.0)
    assert max(len(message.reveal()) for message in messages) < MAX_MESSAGE + 200
    assert sum(len(json.loads(message.reveal())["add"]) for message in messages) == 1000
    assert len(messages) > 3


def test_channel_error_or_second_setup_delays_no_subscription(caplog: pytest.LogCaptureFixture) -> None:
    error = {"kind": "ERROR", "channel": 1, "error": "BAD_ACTION", "message": "size is too big"}
    for message in (error, {"kind": "SETUP", "version": "1.0-9.9.9"}):
        link = opened(QUOTE)
        link.add([Subscription("Quote", "B")])
        receive(link, **message)
        assert link.must_send is True
        assert [each["add"] for each in sent(link)] == [[{"type": "Quote", "symbol": "B"}]]
        assert link.is_ready
    assert "Quote: BAD_ACTION: size is too big" in caplog.text


def test_channel_that_is_refused_or_closed_instead_of_opened_leaves_the_others() -> None:
    for code in ("BAD_ACTION", "UNAUTHORIZED"):
        link = authorized(QUOTE, CANDLE)
        assert len(sent(link)) == 2
        receive(link, "ERROR", 1, error=code, message="no such feed")
        assert [each.symbols for each in link.interruptions] == [{QUOTE.symbol}]
        receive(link, "CHANNEL_OPENED", 3)
        assert sent(link)[0]["channel"] == 3
        assert link.is_ready
        receive(link, "KEEPALIVE", now=29.0)
        assert sent(link, 29.0) == []
    link = authorized(QUOTE, CANDLE)
    sent(link)
    receive(link, "CHANNEL_CLOSED", 1)
    receive(link, "CHANNEL_CLOSED", 1)
    [refusal] = link.interruptions
    assert (refusal.feed, refusal.code, refusal.symbols) == (QUOTE.feed, "CLOSED", {QUOTE.symbol})
    assert sent(link) == []
    link.add([Subscription("Quote", "OTHER")])
    assert [(message["type"], message["channel"]) for message in sent(link)] == [("CHANNEL_REQUEST", 5)]


def test_channel_closed_by_the_service_is_reopened_three_times() -> None:
    link = opened(QUOTE)
    for number in (1, 3, 5):
        receive(link, "CHANNEL_CLOSED", number)
        assert [(each["type"], each["channel"]) for each in sent(link)] == [("CHANNEL_REQUEST", number + 2)]
        receive(link, "CHANNEL_OPENED", number + 2)
        setup, subscription = sent(link)
        assert (setup["type"], subscription.pop("type")) == ("FEED_SETUP", "FEED_SUBSCRIPTION")
        assert subscription == {"channel": number + 2, "reset": True, "add": [{"type": "Quote", "symbol": "ACME"}]}
    assert link.interruptions == [Interruption(QUOTE.feed, "the service closed the channel of Quote")] * 3
    raised(TransportError, receive, link, "CHANNEL_CLOSED", 7, match="closed the channel of Quote 4 times")


def test_rows_of_symbols_without_a_subscription_are_not_held_back() -> None:
    link = opened(CANDLE, columns=["eventSymbol", "eventFlags", "index"])
    held = [f"OTHER{number}{{=m}}" for number in range(50)]
    for symbol in held:
        [row] = receive(link, "FEED_DATA", 1, data=["Candle", [symbol, 4, 9]])
        assert row.event_symbol == symbol
    assert receive(link, "FEED_DATA", 1, data=["Candle", ["ACME{=m}", 4, 9]]) == []
    link.remove([CANDLE])
    assert len(receive(link, "FEED_DATA", 1, data=["Candle", ["ACME{=m}", 4, 9]])) == 1
    assert len(receive(link, "FEED_DATA", 1, data=[{"eventType": "Greeks", "eventSymbol": "A", "eventFlags": 4}])) == 1


def test_error_of_the_connection_informs_and_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    link = opened(QUOTE)
    receive(link, "ERROR", error="TIMEOUT", message="no keepalive")
    assert link.is_ready
    receive(link, "CHANNEL_CLOSED", 1)
    receive(link, "ERROR", 1, error="BAD_ACTION", message="unknown channel")
    assert "TIMEOUT: no keepalive" in caplog.text
    assert link.complaint == "TIMEOUT: no keepalive"
    assert "channel 1: BAD_ACTION: unknown channel" in caplog.text


@for_each("timeout, due", [(20, 10.0), (0.2, 0.5), *((other, 30.0) for other in (60, 600, 0, -5, "x", None, 1e300))])
def test_keepalive_follows_the_timeout_of_the_service(timeout: Any, due: float) -> None:
    link = DxLinkConnection(Secret("t"), now=0.0)
    sent(link)
    receive(link, "SETUP", version="1", keepaliveTimeout=timeout)
    sent(link)
    receive(link, "AUTH_STATE", state="AUTHORIZED")
    assert link.due == due
    assert sent(link, due - 0.1) == []
    assert sent(link, due) == [{"type": "KEEPALIVE", "channel": 0}]
    receive(link, "KEEPALIVE", now=due)
    assert link.due == 2 * due


def test_contracts_and_aggregation_periods_have_channels_of_their_own() -> None:
    every = Subscription("Quote", "ACME", contract="STREAM", aggregation=0)
    link = authorized(QUOTE, every)
    requests = sent(link)
    assert [message["parameters"]["contract"] for message in requests] == ["AUTO", "STREAM"]
    for message in requests:
        receive(link, "CHANNEL_OPENED", message["channel"])
    periods = [message["acceptAggregationPeriod"] for message in sent(link) if message["type"] == "FEED_SETUP"]
    assert periods == [0.1, 0]
    rows = json.dumps({"type": "FEED_DATA", "channel": 3, "data": [{"eventType": "Quote", "eventSymbol": "ACME"}]})
    assert [feed for feed, _ in link.steps(rows, 0.0)] == [every.feed]


def test_subscriptions_beyond_the_caps_wait_until_others_end(caplog: pytest.LogCaptureFixture) -> None:
    candles = [Subscription("Candle", f"S{number}{{=m}}", 7) for number in range(250)]
    link = authorized(*candles)
    receive(link, "CHANNEL_OPENED", sent(link)[0]["channel"])
    active, turns = set[str](), 0
    while active or not turns:
        for message in sent(link):
            active -= {each["symbol"] for each in message.get("remove", ())}
            active |= {each["symbol"] for each in message.get("add", ())}
        assert len(active) <= 100
        assert link.is_ready
        done = sorted(active)[:30]
        active -= set(done)
        link.remove(Subscription("Candle", symbol) for symbol in done)
        turns += 1
    assert turns >= 8
    assert caplog.text.count("150 subscriptions to Candle wait until others end") == 1


def test_changes_of_subscriptions_are_paced() -> None:
    link = authorized(*(Subscription("Quote", f"S{number}") for number in range(26_000)))
    receive(link, "CHANNEL_OPENED", sent(link)[0]["channel"])

    def added(now: float) -> int:
        receive(link, "KEEPALIVE", now=now)
        return sum(len(message.get("add", ())) for message in sent(link, now))

    assert (added(1.0), link.is_ready, added(20.0), added(60.9)) == (10_000, False, 0, 0)
    assert link.due <= 61.0
    assert (added(61.0), added(121.0), link.is_ready) == (10_000, 5_000, True)  # 25,000 at a time
    link.remove(Subscription("Quote", f"S{number}") for number in range(400))
    assert added(200.0) == 400


AS_ROWS = Subscription("Quote", "A", as_rows=True)


def rows_link(*others: Subscription, strict: bool = False) -> DxLinkConnection:
    """Return a connection whose channel 1 has rows of a symbol, a price and an exchange."""
    link = opened(AS_ROWS, *others, columns=["eventSymbol", "bidPrice", "bidExchangeCode"])
    link._issues = Issues("stream.quotes", strict, DecoderRegistry())  # which has reported nothing yet
    return link


def rows_frame(values: str | bytes, channel: int = 1) -> bytes:
    values = values if isinstance(values, bytes) else values.encode()
    return b'{"type":"FEED_DATA","channel":%d,"data":["Quote",[%b]]}' % (channel, values)


def values_of(steps: Iterable[tuple[Any, list[Any]]]) -> list[Any]:
    """Return the values of consecutive rows together, and other events unchanged."""
    found: list[Any] = []
    for _, events in steps:
        for event in events:
            if isinstance(event, Rows) and found and isinstance(found[-1], tuple) and found[-1][0] == event.columns:
                found[-1][1].extend(event.values)
            else:
                found.append((event.columns, [*event.values]) if isinstance(event, Rows) else event)
    return found


PLAIN = '"A",1.5,"Q","B",2,"Z"'

HELD_FRAMES: dict[str, list[str | bytes]] = {
    "in the usual form": [PLAIN, '"C","NaN",null', PLAIN],
    "with blanks": [' "A" , 1.5 , "Q" ', PLAIN],
    "with booleans": ['"A",true,"Q"', '"A",1,false'],
    "with escaped quotes": ['"A\\"",1,"\\u00e9"', PLAIN],
    "with commas in a string": ['"A,B,C,D",1,"Q"', PLAIN, '"A,",1', '"A,,",1'],
    "with brackets in a string": ['"A[",1,"Q"', PLAIN, '"]",1,"Q"'],
    "with braces in a string": ['"A{=d}",1,"Q"', PLAIN],
    "of lists": ['["A",1,"Q"],["B",1,"Q"]', PLAIN],
    "with a list": ['["A"],1,"Q"', PLAIN, '"A",[1],"Q"'],
    "with an object": ['{"A":1},2,"Q"', PLAIN],
    "with deep objects": ['{"A":' * 4000 + "1" + "}" * 4000 + ',2,"Q"', PLAIN],
    "in several blocks": ['"A",1,"Q"],"Quote",["B",1,"Z"', PLAIN],
    "of other types": ['"A",1,"Q"],"Trade",["B",1,"Z"', '"A",1,"Q"],"Mood",["B",1,"Z"'],
    "that lack a value": ['"A",1', '"B","Z"', PLAIN, '"A"'],
    "that lack a value and have one too many": ['"A",1,"Q","B",1', '"C",1,"Q",2', PLAIN],
    "without values": ["", PLAIN, " "],
    "that are not JSON": ['"A",,"Q"', '"A",1,"Q",,,', '"A",1,Q', PLAIN],
    "that end within a string": ['"A",1,"Q', 'Q",1,"Q"', '"A",1,"Q', '",1,"Q'],
    "that end within an object": ['"A",1,{"a":1', '"b":2},1,"Q"'],
    "that end within a list": ['"A",1,[1', '2],"Q",1'],
    "that end early": ['"A",1,"Q"]],"state":["x"', '"A",1,"Q"]', PLAIN],
    "with another key twice": ['"A",1,"Q"]],"data":["Quote",["B",1,"Z"'],
    "that are not UTF-8": [b'"A\xff",1,"Q"', PLAIN],
    "with numbers out of range": ['"A",1e999,"Q"', PLAIN, '"A",123456789012345678901234567890,"Q"'],
}


@for_each("strict", [False, True])
@for_each("shape, bodies", HELD_FRAMES.items())
def test_frames_that_are_held_bring_what_each_brings_alone(shape: str, bodies: Any, strict: bool, caplog: Any) -> None:
    for order in (bodies, [PLAIN, *bodies], bodies[::-1]):
        outcomes = []
        for blank in (b"", b" "):  # a frame with a blank at its end is never held
            link, found, problem = rows_link(strict=strict), list[Any](), ""
            caplog.clear()
            try:
                for body in order:
                    found += link.steps(rows_frame(body) + blank, 1.0)
                found += link.held_steps()
            except ResponseDecodeError as error:
                problem, found = str(error), []
            outcomes.append((values_of(found), problem, caplog.messages))
            assert not link.is_holding or problem
        assert outcomes[0] == outcomes[1], order


def test_rows_are_held_until_another_message_or_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    link = rows_link(Subscription("Trade", "A", as_rows=True), Subscription("Quote", "A"))
    plain, objects = rows_frame(PLAIN), rows_frame('"A",1,"Q"', channel=5)
    receive(link, "FEED_CONFIG", 5, eventFields={"Quote": ["eventSymbol", "bidPrice", "bidExchangeCode"]})
    assert [list(link.steps(plain, 1.0)) for _ in range(3)] == [[]] * 3
    (feed, [rows]), (_, [quote]) = link.steps(objects, 1.0)
    assert (feed, len(rows.values), rows.as_floats, type(quote)) == (AS_ROWS.feed, 18, True, models.Quote)
    assert list(link.steps(plain, 1.0)) == []
    closed = json.dumps({"type": "CHANNEL_CLOSED", "channel": 1})
    assert values_of(link.steps(closed, 1.0)) == [(rows.columns, rows.values[:6])]
    assert not link.is_holding
    link = rows_link()
    monkeypatch.setattr("brokerage_async.protocol.streams.dxlink.MAX_HELD", 18)
    found = [[len(rows.values) for _, [rows] in link.steps(plain, 1.0)] for _ in range(7)]
    assert found == [[], [], [18], [], [], [18], []]
    [(_, [rows])] = link.held_steps()
    assert len(rows.values) == 6


def test_overdue_snapshot_is_delivered_while_rows_are_held() -> None:
    link = rows_link(CANDLE)
    receive(link, "FEED_CONFIG", 3, eventFields={"Candle": ["eventSymbol", "index", "eventFlags"]})
    assert receive(link, "FEED_DATA", 3, 1.0, data=["Candle", ["ACME{=m}", 5, 4]]) == []
    assert list(link.steps(rows_frame(PLAIN), 1000.0)) == []
    (_, [snapshot]), (_, [rows]) = link.held_steps()
    assert (type(snapshot), type(rows)) == (Snapshot, Rows)


@for_each(
    "head, row, events",
    [
        ('["Quote",[', '"A",1.5,', 1),  # concatenated
        ('["Quote",[', '["A", 1.5],', 1),  # of lists
        ('["Quote",[', '"A",[],', 1),  # that do not fit
        ("[", '{"eventType":"Quote","eventSymbol":"A","bidPrice":1},', 1),  # full
        ("[", "{},", 1),  # without a type
        ("[", '{"eventType":"Mood"},', 1),  # unknown
        ("[", '"Quote",["A",1],', 1),  # blocks
        ("[", '"Quote",[],', 0),  # empty blocks
        ('["Quote",[', '"A",1,2,', 1.5),  # columns that do not fill a row
    ],
)
def test_large_message_of_each_shape_is_read_in_short_steps(head: str, row: str, events: float) -> None:
    count, closing = 20_001, "]" * head.count("[")
    body = f'{{"type":"FEED_DATA","channel":1,"data":{head}{(row * count)[:-1]}{closing}}}'
    found = [len(each) for _, each in opened(QUOTE, columns=["eventSymbol", "bidPrice"]).steps(body, 0.0)]
    assert abs(sum(found) - events * count) <= (events % 1 > 0)
    assert max(found, default=0) <= 2 * ROWS_PER_STEP


def test_rows_of_indexed_events_and_of_unknown_types(caplog: pytest.LogCaptureFixture) -> None:
    """An empty snapshot comes beside the rows, since another contract may have more."""
    candles = Subscription("Candle", "ACME{=m}", 7, as_rows=True)
    link = opened(candles, columns=["eventFlags", "eventSymbol", "index"])
    data: list[Any] = ["Candle", [14, "ACME{=m}", 5, 0, "B{=m}", 4, 4, "C{=m}", 3], "Mood", ["A", 1, 2]]
    rows, empty = receive(link, "FEED_DATA", 1, data=data)
    snapshot = Snapshot(type=models.Candle, symbol="ACME{=m}", events=())
    assert (rows.type, len(rows.values), empty) == ("Candle", 9, snapshot)
    assert "$.Mood: expected rows of a known type" in caplog.text
    strict = opened(QUOTE, Subscription("Trade", "ACME", as_rows=True), strict=True)
    for kind in ("Mood[]", "x" * 101, "a\nb"):
        for odd in ([kind, ["A"]], [{"eventType": kind, "eventSymbol": "A"}]):
            error = raised(ResponseDecodeError, receive, strict, "FEED_DATA", 3, data=odd)
            assert "$.data: expected rows of a known type" in str(error)
    shown = [{"eventType": "Candle", "eventSymbol": "A{=m}"}, {"eventType": "Candle", "index": 5}]
    [rows] = receive(link, "FEED_DATA", 1, data=shown)
    assert (rows.columns, rows.values) == (("eventSymbol", "index"), ["A{=m}", None, None, 5])


def test_columns_announced_again_and_again_are_bounded() -> None:
    link = opened(QUOTE)
    for number in range(200):
        receive(link, "FEED_CONFIG", 1, eventFields={f"Kind{number}": ["a"], "Quote": ["eventSymbol", f"c{number}"]})
    receive(link, "FEED_CONFIG", 1, eventFields={"Quote": ["x"] * 1000, "Kind1": ["x" * 1000]})
    [channel] = link._by_number.values()
    assert (len(channel.columns), channel.columns["Quote"], channel.columns["Kind1"]) == (
        MAX_TYPES, ("eventSymbol", "c199"), ("a",),
    )  # fmt: skip
    receive(link, "FEED_CONFIG", 1, eventFields={"Quote": [7], "Greeks": None})
    receive(link, "FEED_CONFIG", 1)
    assert channel.columns["Quote"] == ("eventSymbol", "c199")
    assert _row_plan.cache_info().maxsize == 32


def test_snapshot_that_never_ends_is_delivered_in_part(caplog: pytest.LogCaptureFixture) -> None:
    link = opened(CANDLE, columns=["eventSymbol", "eventFlags", "index"])
    for second in range(0, 120, 10):
        row = ["ACME{=m}", 0 if second else 4, 1000 - second]
        assert receive(link, "FEED_DATA", 1, now=float(second), data=["Candle", row]) == []
    [snapshot] = receive(link, "KEEPALIVE", now=120.0)
    assert (len(snapshot.events), snapshot.is_partial) == (12, True)
    assert "a snapshot of Candle did not end" in caplog.text


def test_silence_and_missing_answers_lose_the_connection() -> None:
    raised(TransportError, opened(QUOTE).send, 60.0, match="silent for 60 s")
    for link in (DxLinkConnection(Secret("t"), now=0.0), authorized(QUOTE)):
        sent(link)
        assert link.due == 10.0
        raised(TransportError, link.send, 10.0, match="did not answer in 10 s")


def test_message_that_is_not_of_the_protocol_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    filler = "x" * 1_000_000
    large = [filler, f'["{filler}"]', f'{{"type":"FEED_DATA","data":["Quote",[{PLAIN * 6000}]]}}',
             f'{{"type":"FEED_CONFIG","channel":1,"eventFields":"{filler}"}}', "[" * 1_000_000,
             f'{{"type":"FEED_DATA","channel":"1","data":["Quote",["{filler}"]]}}',
             f'{{"type":"FEED_DATA","channel":1,"data":["Quote",["{filler}"]]}}',
             f'{{"type":"FEED_DATA","channel":1,"data":[{filler}]}}']  # fmt: skip
    small = [b"\xff", "[]", '"FEED_DATA"', '{"type": "FEED_DATA", "channel": "x"}', "{", "7", '"\ud800"', "[" * 100_000,
             '{"type": "FEED_DATA", "channel": 1e999999999}', '{"channel": 9' + "0" * 5000 + "}", '{"channel": null}',
             '{"type": "WEATHER", "channel": 1, "data": {}}', '{"type": "CHANNEL_OPENED", "channel": 99}']  # fmt: skip
    link = opened(QUOTE)
    assert [body[:60] for body in large + small if link.receive(body, 0.0) != []] == []
    assert caplog.text.count("is not FEED_DATA; ignored") >= 2
    assert link.is_ready
    rows = ",".join(['{"eventType":"Quote","eventSymbol":"A"}'] * 1_000)
    assert len(link.receive(f'{{"data":[{rows}],"channel":1}}'.encode(), 0.0)) == 1_000
    for channel in (None, "0", 0.5):  # is that of the connection
        link = DxLinkConnection(Secret("t"), now=0.0)
        receive(link, "AUTH_STATE", channel, state="AUTHORIZED")
        assert link.is_authorized


def test_token_shows_in_no_error_and_no_representation(caplog: pytest.LogCaptureFixture) -> None:
    link = DxLinkConnection(Secret("hush"), now=0.0)
    link.add([QUOTE])
    receive(link, "ERROR", 1, error="BAD_ACTION", message="token hush")
    receive(link, "ERROR", error="INVALID_MESSAGE", message='{"token":"hush"}')
    receive(link, "ERROR", 1, error="hush", message="no")
    assert "hush" not in caplog.text + str(link.complaint) + str(link.interruptions)
    sent(link)
    receive(link, "SETUP")
    [message] = link.send(0.0)
    assert "hush" in message.reveal()
    assert "hush" not in repr(message) + repr(vars(link))


JSON = json_values(["eventType", "x"], words=["Quote", "ACME", "NaN"])
MESSAGES = st.fixed_dictionaries(
    {"type": st.sampled_from(["FEED_DATA", "FEED_CONFIG", "CHANNEL_OPENED", "CHANNEL_CLOSED", "KEEPALIVE", "?"])},
    optional={"channel": st.sampled_from([0, 1, 3, 2, None]), "data": JSON, "eventFields": JSON, "state": JSON},
)


@given(st.lists(MESSAGES))
def test_no_message_breaks_the_connection(messages: list[Any]) -> None:
    link = opened(QUOTE, CANDLE)
    for number, message in enumerate(messages):
        link.receive(json.dumps(message), 0.0)
        sent(link, number / 1000)
    assert link.due > 0


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("ABCD")), max_size=30), st.lists(st.booleans(), max_size=30))
def test_server_ends_up_with_the_wanted_subscriptions(changes: list[tuple[bool, str]], flushes: list[bool]) -> None:
    link, wanted, present = authorized(QUOTE), {"ACME"}, set[str]()

    def serve() -> None:
        while link.must_send:
            for message in sent(link):
                if message["type"] == "CHANNEL_REQUEST":
                    receive(link, "CHANNEL_OPENED", message["channel"])
                if message.get("reset"):
                    present.clear()
                present.difference_update(each["symbol"] for each in message.get("remove", ()))
                present.update(each["symbol"] for each in message.get("add", ()))

    for number, (adds, symbol) in enumerate(changes):
        (link.add if adds else link.remove)([Subscription("Quote", symbol)])
        (wanted.add if adds else wanted.discard)(symbol)
        if number < len(flushes) and flushes[number]:
            serve()
    serve()
    assert present == wanted


def test_error_concerns_the_subscriptions_of_the_last_ten_seconds() -> None:
    link, other = opened(QUOTE), Subscription("Quote", "OTHER")
    receive(link, "CHANNEL_OPENED", 1)  # once more
    assert sent(link) == []
    for now, added in ((9.0, [other]), (9.5, []), (10.0, []), (19.0, [])):
        receive(link, "ERROR", 1, now, error="BAD_ACTION", message="no such symbol")
        link.add(added)
        sent(link, now)
    assert [each.symbols for each in link.interruptions] == [{"ACME"}, {"ACME", "OTHER"}, {"OTHER"}, set()]
