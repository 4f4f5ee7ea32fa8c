"""Market-data stream of the simulator: handshake, channels, both formats, and the errors of a strict server."""

import itertools
import json
from typing import Any

import pytest

from brokerage_async.protocol.streams.events import INDEXED, MARKET_EVENTS
from brokerage_async.protocol.streams.feed_data import default_columns
from brokerage_async.simulator.streams.dxlink_session import MAX_CANDLES, MarketRows
from brokerage_async.simulator.streams.server import MARKET_PATH
from tests.simulator.harness import Harness, Peer
from tests.tables import for_each

FIELDS = ["eventType", "eventSymbol", "bidPrice", "askPrice", "mood"]


class MarketPeer(Peer):
    def __init__(self, **settings: Any) -> None:
        super().__init__(Harness(**settings), MARKET_PATH)

    def send(self, kind: str, channel: Any = 0, **values: Any) -> list[dict[str, Any]]:
        self.received.clear()
        self.session.receive(json.dumps({"type": kind, "channel": channel, **values}), self.harness.now)
        return list(self.received)

    def authorize(self) -> dict[str, Any]:
        token = self.harness.state.quote_tokens.issue(self.harness.state.owner, self.harness.now)
        [answer] = self.send("AUTH", token=token)
        return answer

    def open(self, contract: str = "AUTO", **setup: Any) -> None:
        """Set a channel up, by default for compact rows of quotes."""
        self.send("SETUP", version="0.1-tests")
        assert self.authorize()["state"] == "AUTHORIZED"
        self.send("CHANNEL_REQUEST", 1, service="FEED", parameters={"contract": contract})
        usual = {"acceptDataFormat": "COMPACT", "acceptEventFields": {"Quote": FIELDS}}
        [config] = self.send("FEED_SETUP", 1, **(setup or usual))
        assert "eventFields" not in config

    def subscribe(self, kind: str, symbol: str = "AAPL", **more: Any) -> list[dict[str, Any]]:
        return self.send("FEED_SUBSCRIPTION", 1, add=[{"type": kind, "symbol": symbol, **more}])


FULL = {"acceptDataFormat": "FULL"}


@pytest.fixture
def peer() -> MarketPeer:
    return MarketPeer()


def test_setup_comes_before_channels(peer: MarketPeer) -> None:
    setup, state = peer.send("SETUP", version="0.1-tests", keepaliveTimeout=60, acceptKeepaliveTimeout=60)
    assert (setup["type"], state["state"]) == ("SETUP", "UNAUTHORIZED")
    [refused] = peer.send("AUTH", token="wrong")
    assert refused["state"] == "UNAUTHORIZED"
    late = MarketPeer()
    assert late.send("CHANNEL_REQUEST", 1)[0]["error"] == "BAD_ACTION"
    assert late.send("SETUP", version="7")[0]["error"] == "UNSUPPORTED_PROTOCOL"
    late.send("SETUP", version="0.1")
    assert late.send("CHANNEL_REQUEST", 1)[0]["error"] == "UNAUTHORIZED"


def test_compact_rows_have_the_columns_that_were_asked_for(peer: MarketPeer) -> None:
    peer.open()
    add = [{"type": "Quote", "symbol": symbol} for symbol in ("AAPL", "SPY")]
    config, data = peer.send("FEED_SUBSCRIPTION", 1, add=add)
    assert config["eventFields"] == {"Quote": FIELDS}
    kind, values = data["data"]
    assert (kind, values[1], values[6], values[4], len(values)) == ("Quote", "AAPL", "SPY", "NaN", 10)
    [data] = peer.send("FEED_SUBSCRIPTION", 1, add=add[:1])
    assert len(data["data"][1]) == 5
    peer.send("FEED_SUBSCRIPTION", 1, remove=add[1:])
    peer.received.clear()
    peer.harness.sim.set_price("SPY", 7)
    assert peer.received == []
    peer.harness.sim.set_price("AAPL", 7)
    assert [message["data"][1][1] for message in peer.received] == ["AAPL"]
    peer.open()
    assert peer.send("CHANNEL_CANCEL", 1) == [{"type": "CHANNEL_CLOSED", "channel": 1}]
    assert peer.send("KEEPALIVE") == [{"type": "KEEPALIVE", "channel": 0}]
    peer.session.check(peer.harness.now + 60)
    assert (peer.received[-1]["error"], peer.closed) == ("TIMEOUT", True)


def test_client_that_asks_for_no_columns_is_told_which_it_gets_or_gets_objects(peer: MarketPeer) -> None:
    peer.open(acceptDataFormat="COMPACT")
    config, data = peer.subscribe("Trade")
    columns = config["eventFields"]["Trade"]
    assert dict(zip(columns, data["data"][1], strict=True))["eventSymbol"] == "AAPL"
    peer = MarketPeer()
    peer.open(**FULL)
    *_, data = peer.subscribe("Trade")
    [row] = data["data"]
    assert (row["eventType"], row["eventSymbol"]) == ("Trade", "AAPL")


def test_invalid_entries_and_wishes_are_ignored_and_invalid_frames_are_errors(peer: MarketPeer) -> None:
    peer.open(acceptEventFields={"Quote": [{}]}, acceptAggregationPeriod=10**400)
    assert peer.subscribe("Quote")[1]["data"][0]["eventSymbol"] == "AAPL"
    peer.harness.sim.set_price("AAPL", 7)
    starts = [[{"type": "Candle", "symbol": "AAPL{=m}", "fromTime": start}] for start in ("x", 10**400)]
    entries: Any
    for entries in ("AAPL", [7], [{"type": "Quote"}], [{"symbol": "AAPL"}], {"type": "Quote"}, *starts):
        assert peer.send("FEED_SUBSCRIPTION", 1, add=entries, remove=entries) == []
    answers = [peer.subscribe("Candle", f"AAPL{{={count}mo}}") for count in (10**400, 999_999)]
    assert [each["type"] for answer in answers for each in answer] == ["FEED_CONFIG", "FEED_DATA"]
    for frame in (b"\xff", "[" * 100_000):
        peer.session.receive(frame, peer.harness.now)
        assert peer.received.pop()["error"] == "INVALID_MESSAGE"


def test_candles_with_a_start_are_empty_under_another_contract() -> None:
    for without, flags in (((), [14]), (("candle_history_contract",), [4, 0, 0, 0, 10])):
        peer = MarketPeer(without=without)
        peer.open(**FULL)
        *_, data = peer.subscribe("Candle", "AAPL{=m}", fromTime=round(peer.harness.now * 1000) - 180_000)
        assert [row["eventFlags"] for row in data["data"]] == flags, without
        assert data["data"][-1]["close"] == "NaN", without


def test_errors_of_a_strict_server() -> None:
    errors = {
        ("CHANNEL_REQUEST", 2): "BAD_ACTION",
        ("CHANNEL_REQUEST", 1): "BAD_ACTION",
        ("FEED_SETUP", 9): "BAD_ACTION",
        ("FEED_SETUP", "x"): "INVALID_MESSAGE",
        ("WEATHER", 1): "INVALID_MESSAGE",
    }
    found = {}
    for sent in errors:
        peer = MarketPeer()
        peer.open()
        [answer] = peer.send(*sent)
        found[sent] = (answer["type"], answer["error"])
    assert found == {sent: ("ERROR", error) for sent, error in errors.items()}


def test_each_behaviour_of_the_protocol_has_its_switch() -> None:
    def keepalive(peer: MarketPeer) -> int:
        peer.send("SETUP", version="0.1", keepaliveTimeout=20)
        peer.received.clear()
        peer.harness.brokerage.advance(peer.harness.now + 35)
        return len(peer.received)

    def refused(peer: MarketPeer) -> bool:
        peer.send("SETUP", version="0.1")
        peer.send("AUTH", token="wrong")
        return peer.closed

    def merged(peer: MarketPeer, contract: str = "AUTO") -> tuple[float, int]:
        peer.open(contract, acceptAggregationPeriod=3)
        config = peer.subscribe("Quote")[0]
        peer.received.clear()
        for price in (101, 102, 103):
            peer.harness.sim.set_price("AAPL", price)
        peer.harness.brokerage.advance(peer.harness.now + 3)
        return config["aggregationPeriod"], len(peer.received)

    def fields(peer: MarketPeer) -> int:
        peer.open(**FULL, acceptEventFields={"Quote": ["bidPrice"]})
        return len(peer.subscribe("Quote")[-1]["data"][0])

    def unknown(peer: MarketPeer) -> list[str]:
        peer.open()
        book = {"symbol": "AAPL", "sources": ["ntv"]}
        asked = [peer.send("CHANNEL_REQUEST", 3, service="DOM", parameters=book)]
        asked += [peer.send("CHANNEL_REQUEST", 5, service="FEED", parameters={"contract": "NEVER"})]
        asked += [peer.subscribe("Mood")]
        return [answers[0].get("error", "none") for answers in asked]

    cases: list[tuple[str, Any, Any, Any]] = [
        ("dxlink_keepalive", keepalive, 3, 0),
        ("dxlink_order_of_setup", lambda peer: peer.authorize()["type"], "ERROR", "AUTH_STATE"),
        ("dxlink_refused_token_closes", refused, True, False),
        ("dxlink_aggregation", merged, (3, 2), (0.1, 3)),
        ("dxlink_full_fields", fields, 3, 13),
        ("dxlink_unknown_is_an_error", unknown, ["BAD_ACTION", "INVALID_MESSAGE", "BAD_ACTION"], ["none"] * 3),
    ]
    found = [(name, probe(MarketPeer()), probe(MarketPeer(without=[name]))) for name, probe, *_ in cases]
    assert found == [(name, on, off) for name, _, on, off in cases]
    assert merged(MarketPeer(), "STREAM") == (3, 3)


def test_subscriptions_beyond_the_caps_are_refused() -> None:
    candles = [{"type": "Candle", "symbol": f"S{number}{{=m}}"} for number in range(101)]
    quotes = [{"type": "Quote", "symbol": f"S{number}"} for number in range(10_000)]
    for without in ((), ("dxlink_subscriptions_cap",)):
        peer = MarketPeer(without=without)
        peer.open()
        answers = [*peer.send("FEED_SUBSCRIPTION", 1, add=candles), *peer.send("FEED_SUBSCRIPTION", 1, add=quotes)]
        errors = [answer["message"] for answer in answers if "error" in answer]
        expected = ["subscription size of Candle is too big: at most 100", "too many changes: at most 10000 a minute"]
        assert errors == ([] if without else expected)


def test_underlyings_have_the_volume_of_their_options_and_indices_events(peer: MarketPeer) -> None:
    peer.open()
    add = [{"type": "Underlying", "symbol": "AAPL"}, {"type": "Quote", "symbol": "SPX"}]
    data = dict(message["data"] for message in peer.send("FEED_SUBSCRIPTION", 1, add=add) if "data" in message)
    assert 1800 in data["Underlying"]
    assert (data["Quote"][1], data["Quote"][3] > 0) == ("SPX", True)


MINUTE = 60_000


@pytest.fixture
def rows(harness: Harness) -> MarketRows:
    return MarketRows(harness.state.catalogue, harness.state.prices)


OPTION = ".AAPL260717C200"


@for_each("kind", sorted(set(MARKET_EVENTS) - {"Series", "Candle"}))
def test_row_has_every_column_that_a_client_asks_for(harness: Harness, rows: MarketRows, kind: str) -> None:
    symbol = OPTION if kind in ("Greeks", "TheoPrice") else "AAPL"
    row = rows.row(kind, symbol, harness.now)
    assert set(default_columns(kind)) <= set(row or ()), "MarketRows.row makes the values of each event"
    assert (row["eventType"], row["eventSymbol"]) == (kind, symbol)
    assert ("index" in row) == (MARKET_EVENTS[kind] in INDEXED)


def test_quote_lies_around_the_price_and_options_move_with_it(harness: Harness, rows: MarketRows) -> None:
    before = rows.row("Greeks", OPTION, harness.now)
    harness.sim.set_price("AAPL", "223.40")
    quote, trade = rows.row("Quote", "AAPL", harness.now), rows.row("Trade", "AAPL", harness.now)
    assert quote["bidPrice"] < trade["price"] == 223.4 < quote["askPrice"]
    assert rows.instrument(OPTION) == harness.instrument("AAPL  260717C00200000")
    assert rows.row("Greeks", OPTION, harness.now)["price"] > before["price"]


@for_each(
    "kind, symbol",
    [
        *(("Quote", "NOSUCH"), ("Series", "AAPL"), ("Mood", "AAPL")),
        *(("Candle", "AAPL"), ("Candle", "NOSUCH{=m}"), ("Candle", "AAPL{=3y}")),
        *itertools.product(("Greeks", "TheoPrice"), ("AAPL", "/ESU26:XCME", "BTC/USD:CXTALP", "SPX")),
    ],
)
def test_nothing_is_sent_for_what_does_not_exist(harness: Harness, rows: MarketRows, kind: str, symbol: str) -> None:
    assert rows.row(kind, symbol, harness.now) is None
    assert list(rows.rows(kind, symbol, None, harness.now)) == []


def candles(rows: MarketRows, harness: Harness, minutes: int, symbol: str = "AAPL{=m}") -> list[dict[str, Any]]:
    start = round(harness.now * 1000) - minutes * MINUTE
    return list(rows.rows("Candle", symbol, start, harness.now))


def test_candles_are_a_snapshot_newest_first_with_a_marker_at_its_end(harness: Harness, rows: MarketRows) -> None:
    found = candles(rows, harness, 5)
    assert [row["eventFlags"] for row in found] == [4, 0, 0, 0, 0, 0, 10]
    times = [row["time"] for row in found]
    assert times == sorted(times, reverse=True)
    assert {later - earlier for later, earlier in itertools.pairwise(times)} == {MINUTE}
    assert len({row["index"] for row in found}) == len(found)
    assert (found[-1]["open"], found[-1]["VWAP"]) == ("NaN", "NaN")
    for row in found[:-1]:
        assert row["low"] <= min(row["open"], row["close"]) <= max(row["open"], row["close"]) <= row["high"]
    found = candles(rows, harness, 7 * MAX_CANDLES)
    assert (len(found), found[-1]["eventFlags"]) == (MAX_CANDLES + 1, 16)
    present = rows.row("Candle", "AAPL{=m}", harness.now)
    assert (present["index"], present["eventFlags"]) == (candles(rows, harness, 3)[0]["index"], 0)
    normal = {"AAPL{=1m}": "AAPL{=m}", "AAPL{=1d,tho=true}": "AAPL{=d,tho=true}", "AAPL{=15m}": "AAPL{=15m}"}
    for asked, sent in normal.items():
        assert {row["eventSymbol"] for row in candles(rows, harness, 60, asked)} == {sent}
