"""Values of market events by streamer symbol."""

import itertools
from typing import Any

import pytest

from brokerage_async.protocol.streams.events import INDEXED, MARKET_EVENTS
from brokerage_async.protocol.streams.feed_data import default_columns
from brokerage_async.simulator.streams.market_rows import MAX_CANDLES, MarketRows
from tests.simulator.harness import Harness
from tests.tables import for_each

MINUTE = 60_000


@pytest.fixture
def rows(harness: Harness) -> MarketRows:
    return MarketRows(harness.state.catalogue, harness.state.prices)


def option_of(harness: Harness) -> str:
    """Return the streamer symbol of a listed option."""
    option = harness.state.catalogue.equity_options.definitions[0].symbol
    root, day, kind, strike = option[:6].strip(), option[6:12], option[12], int(option[13:]) / 1000
    return f".{root}{day}{kind}{strike:g}"


@for_each("kind", sorted(set(MARKET_EVENTS) - {"Series", "Candle"}))
def test_row_has_every_column_that_a_client_asks_for(harness: Harness, rows: MarketRows, kind: str) -> None:
    symbol = option_of(harness) if kind in ("Greeks", "TheoPrice") else "AAPL"
    row = rows.row(kind, symbol, harness.now)
    assert set(default_columns(kind)) <= set(row)
    assert (row["eventType"], row["eventSymbol"]) == (kind, symbol)
    assert ("index" in row) == (MARKET_EVENTS[kind] in INDEXED)


def test_only_options_have_greeks(harness: Harness, rows: MarketRows) -> None:
    symbols = ("AAPL", "/ESU26:XCME", "BTC/USD:CXTALP", "SPX")
    found = [(kind, symbol) for kind in ("Greeks", "TheoPrice") for symbol in symbols if rows.row(kind, symbol, 0.0)]
    assert found == []


def test_quote_lies_around_the_price_and_options_move_with_it(harness: Harness, rows: MarketRows) -> None:
    harness.sim.set_price("AAPL", "123.40")
    quote, trade = rows.row("Quote", "AAPL", harness.now), rows.row("Trade", "AAPL", harness.now)
    assert quote["bidPrice"] < trade["price"] == 123.4 < quote["askPrice"]
    symbol = option_of(harness)
    option = rows.instrument(symbol)
    assert option is not None
    assert option.underlying == harness.state.catalogue.equity_options.definitions[0].symbol[:6].strip()
    assert rows.row("Greeks", symbol, harness.now) is not None


def test_underlying_of_each_form_of_symbol(rows: MarketRows) -> None:
    underlyings = {"AAPL": "AAPL", "/ESU26:XCME": "/ESU6", "BTC/USD:CXTALP": "BTC/USD"}
    underlyings |= {"AAPL{=5m}": "AAPL", "AAPL{=d,tho=true}": "AAPL"}
    assert {symbol: rows.instrument(symbol).underlying for symbol in underlyings} == underlyings
    assert rows.instrument("NOSUCH") is rows.instrument(".NOSUCH260619C1") is None


@for_each(
    "kind, symbol",
    [
        *(("Quote", "NOSUCH"), ("Series", "AAPL"), ("Mood", "AAPL")),
        *(("Candle", "AAPL"), ("Candle", "NOSUCH{=m}"), ("Candle", "AAPL{=3y}")),
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


@for_each("asked, sent", [("AAPL{=1m}", "AAPL{=m}"), ("AAPL{=1d,tho=true}", "AAPL{=d,tho=true}"), ("AAPL{=15m}",) * 2])
def test_candles_bear_their_symbol_in_normal_form(rows: MarketRows, harness: Harness, asked: str, sent: str) -> None:
    assert {row["eventSymbol"] for row in candles(rows, harness, 60, asked)} == {sent}
