"""Prices of instruments, walks with their tape, scripted prices and files, metrics, earnings and dividends."""

import asyncio
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import pstdev
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import Client, models
from brokerage_async.simulator import Simulator, run
from brokerage_async.simulator.api.market import MarketMetrics
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.catalogue import KNOWN_EQUITIES
from brokerage_async.simulator.market.quotes import Listing, PricePath, RandomWalk, read_prices
from tests.simulator.harness import START, Harness, market_prices
from tests.stream.world import SMALL
from tests.tables import for_each


@given(st.integers(0, 1000), st.floats(0, 1e7), st.sampled_from(["AAPL", "BRK/B", "/ESZ6", "BTC/USD", "F"]))
def test_price_stays_near_its_level(seed: int, later: float, symbol: str) -> None:
    prices = market_prices(seed)
    level = prices._catalogue.price_level(symbol)
    price = prices.underlying_price(symbol, START + later)
    assert abs(price - level) <= level * Decimal("0.2")
    assert price == prices.underlying_price(symbol, (START + later) // 60 * 60 + 30)


def test_low_prices_have_more_places() -> None:
    shown = [str(market_prices().underlying_price(symbol, START)) for symbol in ("AAPL", "/6EU6", "/6JU6")]
    assert [len(price.partition(".")[2]) for price in shown] == [2, 4, 7]


def test_figures_and_volatility_follow_prices() -> None:
    here = Harness(seed=3, equities=20, equity_options=200)
    metrics, prices = MarketMetrics(here.state), here.state.prices
    share = KNOWN_EQUITIES["AAPL"]
    before = metrics.row(share, START)
    assert abs(float(before.implied_volatility_index or 0) - prices.surface("AAPL").volatility(1, 1, 30 / 365)) < 1e-6
    prices.set_price("AAPL", Decimal(400), START)
    after, later = metrics.row(share, START), metrics.row(share, START + 86_400)
    assert 1.9 < (after.market_cap or 0) / (before.market_cap or 1) < 2.1
    assert after.liquidity_rating == before.liquidity_rating in range(1, 6)
    assert after.historical_volatility_30_day == before.historical_volatility_30_day
    assert Decimal(later.historical_volatility_30_day or 0) > 5 * Decimal(before.historical_volatility_30_day or 1)


def listing(seed: int = 0, level: str = "200") -> Listing:
    return Listing(symbol="AAPL", level=Decimal(level), start=START, random=KeyedRandom(seed))


def test_walk_of_valid_options_moves_further_in_a_longer_time_and_its_volume_grows() -> None:
    assert RandomWalk().quote(listing(), START).last == 200
    assert RandomWalk(price=Decimal(7)).quote(listing(), START).last == 7
    prices = [float(RandomWalk().quote(listing(), START + 60 * n).last) for n in range(1500)]
    minutes = pstdev(after - before for before, after in pairwise(prices))
    hours = pstdev(after - before for before, after in pairwise(prices[::60]))
    assert 0.02 < minutes < 0.12  # dollars: 0.03 % of 200 are 0.06
    assert 3 < hours / minutes < 12
    volumes = [RandomWalk().quote(listing(), START + 3600 * n).volume or 0 for n in range(24)]
    falls = [n for n, (before, after) in enumerate(pairwise(volumes)) if after < before]
    assert len(falls) == 1
    for options in ({"volatility": -0.1}, {"spread": 1.0}):
        with pytest.raises(ValueError, match="must be at least 0 and below 1"):
            RandomWalk(**options)


@given(st.integers(0, 1000), st.floats(-1e7, 1e7), st.sampled_from(["0.01", "0.5", "200", "99000"]))
def test_quote_is_a_market_that_holds_for_its_minute(seed: int, later: float, level: str) -> None:
    walk, at = RandomWalk(volatility=0.05), START + later
    quote = walk.quote(listing(seed, level), at)
    assert 0 < quote.bid < quote.last < quote.ask
    assert quote.bid_size is not None
    assert quote.bid_size >= 100
    assert quote.since <= at < walk.next_change(listing(seed, level), at) == quote.since + 60
    again = walk.quote(listing(seed, level), quote.since + 59)
    assert (again.last, again.bid, again.ask, again.ask_size) == (quote.last, quote.bid, quote.ask, quote.ask_size)


def test_tape_is_lively_for_liquid_symbols_and_quiet_for_others() -> None:
    here = Harness(pace=4.0)
    prices, changes = here.state.prices, dict[str, int]()
    for one in here.state.catalogue.equities.definitions:
        at, count = here.now, 0
        while (at := prices.next_change(one.symbol, at)) < here.now + 60:
            count += 1
        changes[one.symbol] = count
    assert changes["AAPL"] > 120
    assert sum(count <= 2 for count in changes.values()) > len(changes) / 4
    assert len(set(changes.values())) > 10


def test_candles_of_minutes_add_up_to_the_day() -> None:
    wrong = []
    for pace in (0.0, 4.0):
        here = Harness(pace=pace)
        prices = here.state.prices
        for symbol in ("AAPL", "SPY", "KO", here.state.catalogue.equities.definitions[-1].symbol):
            share = here.instrument(symbol)
            session = prices.session(symbol, here.now - 86_400)
            day = prices.bar(share, session, session.start, session.close_ext)
            minutes = range(int(session.start), int(session.close_ext), 60)
            bars = [bar for at in minutes if (bar := prices.bar(share, session, at, at + 60)) is not None]
            assert day is not None
            sums = sum(bar.volume for bar in bars), sum(bar.count for bar in bars)
            edges = bars[0].open, max(b.high for b in bars), min(b.low for b in bars), bars[-1].close
            if sums != (day.volume, day.count) or edges != (day.open, day.high, day.low, day.close):
                wrong.append((pace, symbol, sums, edges, day))
            if prices.traded(share, session.close_ext)[1] != day.total:
                wrong.append((pace, symbol, day.total))
    assert wrong == []


def test_candles_follow_the_sessions_and_leave_nights_and_holidays_out() -> None:
    start, end = datetime(2026, 6, 18, 4, tzinfo=UTC), datetime(2026, 6, 22, 20, tzinfo=UTC)  # Juneteenth, a weekend

    async def main(client: Client, simulator: Simulator) -> None:
        simulator.clock.set(end)
        volumes = []
        for regular, opens, closes, counts in ((True, 9.5, 16, range(26, 27)), (False, 4, 20, range(41, 100))):
            candles: Any = await client.stream.history(["AAPL"], "15m", start, regular_hours=regular)
            times = [candle.time.astimezone(UTC) - timedelta(hours=4) for candle in candles]
            assert all(opens <= local.hour + local.minute / 60 < closes for local in times)
            days = Counter(f"{local:%m-%d}" for local in times)
            assert days.keys() == {"06-18", "06-22"}
            assert days["06-18"] in counts
            volumes.append(sum(candle.volume or 0 for candle in candles))
        assert volumes[0] < volumes[1]

    run(main, start=start, seed=3, **SMALL)


def test_stream_over_an_hour_shows_what_candles_and_market_data_show() -> None:
    async def main(client: Client, simulator: Simulator) -> None:
        last: Any = None
        async with client.stream.quotes(["AAPL"], [models.Trade, models.Summary]) as events:
            until = asyncio.get_running_loop().time() + 3600
            async for event in events:
                last = event if isinstance(event, models.Trade) else last
                if asyncio.get_running_loop().time() > until:
                    break
        [candle] = (await client.stream.history(["AAPL"], "1d", simulator.clock.time - timedelta(hours=20)))[-1:]
        assert (candle.close, candle.volume) == (last.price, last.day_volume)

    run(main, seed=3, pace=1.0, **SMALL)


LISTING = listing()


def test_row_holds_until_the_next_one_in_seconds_or_datetimes() -> None:
    path = PricePath([(10, "1.50"), (20, 2), {"time": 30, "price": "3", "bid": "2.9", "ask_size": 40}])
    prices = [path.quote(LISTING, START + after).last for after in (0, 10, 19.9, 20, 30, 1e6)]
    assert prices == [Decimal("1.50"), Decimal("1.50"), Decimal("1.50"), 2, 3, 3]
    last = path.quote(LISTING, START + 31)
    quote = last.since - START, last.bid, last.ask, last.bid_size, last.ask_size
    assert quote == (30, Decimal("2.9"), 3, None, 40)
    assert [path.next_change(LISTING, START + after) - START for after in (0, 10, 25, 30)] == [10, 20, 30, inf]
    assert len(path) == 3
    at = datetime.fromtimestamp(START, UTC) + timedelta(hours=1)
    path = PricePath([(at, 1), (at + timedelta(minutes=1), 2)])
    assert path.quote(LISTING, START + 3660).last == 2
    assert path.next_change(LISTING, START) == START + 3600


NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)


@for_each(
    "rows, message",
    [
        ([], "at least one row"),
        ([(0, 1), (0, 2)], "got row 2 no later than the one before"),
        ([(0, 1), (NOON, 2)], "all datetimes or all seconds"),
        ([(datetime(2026, 6, 10), 1)], "time of row 1 must have a time zone"),  # noqa: DTZ001
        ([(0, 1), (float("nan"), 2)], "time of row 2 must be finite, got nan"),
        ([(0, 0)], "price of row 1 must be positive"),
        ([(0, "abc")], "price of row 1 must be a number, got 'abc'"),
        ([{"time": 0, "price": 2, "bid": 3}], "bid of row 1 must not be above the ask, got 3 and 2"),
        ([{"time": 0, "price": 2, "bid_size": -1}], "bid_size of row 1 must be at least 0, got -1"),
        ([{"time": 0, "last": 2}], "got unknown last"),
        ([{"time": 0}], "got no time or no price"),
    ],
)
def test_invalid_rows_raise(rows: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PricePath(rows)


CSV = """time,price,bid,ask_size,note
2026-06-10T12:00Z,150.10,,300,first
2026-06-10T08:00:05-04:00,150.20,150.15,,second
"""


def test_csv_and_parquet_give_the_same_prices(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV, "utf-8-sig")
    columns = {
        "time": pa.array([NOON.replace(tzinfo=None), datetime(2026, 6, 10, 12, 0, 5)]),  # noqa: DTZ001
        "price": pa.array([Decimal("150.10"), Decimal("150.20")]),
        "bid": pa.array([None, 150.15]),
        "ask_size": pa.array([300, None]),
        "note": ["first", "second"],
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    for prices in (read_prices(tmp_path / "a.csv"), read_prices(tmp_path / "a.parquet")):
        first, second = (prices.quote(LISTING, NOON.timestamp() + after) for after in (0, 5))
        assert (first.last, first.bid, first.ask_size) == (Decimal("150.10"), Decimal("150.10"), 300)
        assert (second.last, second.bid, second.ask_size) == (Decimal("150.20"), Decimal("150.15"), None)


@for_each(
    "name, content, message",
    [
        ("a.txt", CSV, r"must be in a \.csv or \.parquet file, got \.txt: a\.txt"),
        ("a.csv", "time,price\nnoon,1\n", "time must be in ISO 8601 with a zone, got 'noon'"),
        ("a.csv", "time,price\n2026-06-10T12:00,1\n", "a.csv: time of row 1 must have a time zone"),
    ],
)
def test_invalid_file_raises(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_prices(tmp_path / name)


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"brokerage-async\[arrow\]"):
        read_prices(tmp_path / "a.parquet")
