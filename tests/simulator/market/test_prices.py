"""Prices of instruments, and the metrics, earnings and dividends that go with them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.simulator.api.market import CompanyEvents, MarketMetrics
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.calendar import local_date
from brokerage_async.simulator.market.equities import known_equities
from brokerage_async.simulator.market.instrument import Instrument
from brokerage_async.simulator.market.prices import Prices
from brokerage_async.simulator.market.quotes import PricePath
from tests.simulator.factories import START, market_prices
from tests.simulator.harness import Harness, kind_of
from tests.tables import for_each


def found(prices: Prices, symbol: str) -> Instrument:
    instrument = prices._catalogue.instrument(kind_of(symbol), symbol)
    assert instrument is not None
    return instrument


@given(st.integers(0, 1000), st.floats(0, 1e7), st.sampled_from(["AAPL", "BRK/B", "/ESZ6", "BTC/USD", "F"]))
def test_price_stays_near_its_level(seed: int, later: float, symbol: str) -> None:
    prices = market_prices(seed)
    level = prices._catalogue.base_price(symbol)
    price = prices.underlying_price(symbol, START + later)
    assert abs(price - level) <= level * Decimal("0.2")
    assert price == prices.underlying_price(symbol, (START + later) // 60 * 60 + 30)


def test_set_price_is_held_from_now_on_until_its_release() -> None:
    prices, heard = market_prices(), []
    prices.on_price(lambda symbol, now: heard.append((symbol, now)))

    def shown(*later: float) -> list[Decimal]:
        return [prices.underlying_price("AAPL", START + each) for each in later]

    past, end = shown(-86400, -60, -1), shown(60)
    prices.set_price("AAPL", Decimal(300), START)
    assert shown(1e6) == [300]
    prices.set_price("AAPL", Decimal(310), START + 10)
    prices.release("AAPL", START + 60)
    assert shown(-86400, -60, -1, 0, 9, 10, 59, 60) == [*past, 300, 300, 310, 310, *end]
    assert heard == [("AAPL", START + after) for after in (0, 10, 60)]


@for_each("price", ["0", "-1", "1e9", "NaN", "Infinity"])
def test_invalid_price_raises(price: str) -> None:
    with pytest.raises(ValueError, match="positive"):
        market_prices().set_price("AAPL", Decimal(price), START)


def test_option_is_priced_from_its_underlying() -> None:
    prices = market_prices()
    prices.set_price("AAPL", Decimal(200), START)
    assert prices.price(found(prices, "AAPL  260717C00100000"), START) >= 99
    near, later = (prices.price(found(prices, f"AAPL  {day}P00200000"), START) for day in ("260717", "261016"))
    assert 0 < near < later
    option = found(prices, "./6JU6 6JU6 260918P0.005")
    assert 0 < prices.price(option, START) < Decimal("0.001")
    row = {"time": 0, "price": "200", "bid_size": 70, "ask_size": 5}
    prices = market_prices()
    prices.set_source("AAPL", PricePath([row, {**row, "time": 60, "price": "230"}]), START)
    call = found(prices, "AAPL  260717C00200000")
    before, after = prices.market(call, START), prices.market(call, START + 60)
    assert before.bid <= before.last <= before.ask < after.bid
    assert after.bid >= 29
    assert (before.bid_size, before.ask_size) == (3, 1)
    worthless = found(prices, "AAPL  260717C00900000")
    assert prices.market(worthless, START).bid == 0
    assert prices.trade_price(worthless, START, buys=False) > 0


def test_quotes_surround_the_price_and_a_held_one_has_no_spread() -> None:
    prices = market_prices()
    prices.set_price("AAPL", Decimal("200.00"), START)
    bid, last, ask = (prices.quote("AAPL", field, START) for field in ("Bid", "Last", "Ask"))
    assert (bid, last, ask) == (Decimal("199.98"), Decimal("200.00"), Decimal("200.02"))
    assert prices.quote("AAPL", "IV", START) is None
    prices = market_prices()
    shares = found(prices, "AAPL")
    quote = prices.market(shares, START)
    assert quote.bid < quote.last < quote.ask
    assert prices.trade_price(shares, START, buys=True) == quote.ask
    assert prices.trade_price(shares, START, buys=False) == quote.bid
    prices.set_price("AAPL", Decimal(200), START)
    assert {prices.trade_price(shares, START, buys=buys) for buys in (True, False)} == {200}
    future = found(prices, "/ESU6")
    quote = prices.market(future, START)
    assert quote.ask - quote.last >= Decimal("0.25")


def test_source_replaces_the_walk_and_tells_its_next_change() -> None:
    prices, heard = market_prices(), []
    prices.on_price(lambda symbol, now: heard.append((symbol, now)))
    path = PricePath([(0, "10"), (90, "11")])
    prices.set_price("AAPL", Decimal(500), START)
    prices.set_source("AAPL", path, START + 1)
    assert prices.underlying_price("AAPL", START + 89) == 10
    prices.set_price("AAPL", Decimal(500), START + 2)
    assert prices.held == {"AAPL": Decimal(500)}
    assert prices.underlying_price("AAPL", START + 95) == 500
    prices.release("AAPL", START + 3)
    prices.release("AAPL", START + 4)  # without effect
    assert prices.underlying_price("AAPL", START + 95) == 11
    assert heard == [("AAPL", START + after) for after in (0, 1, 2, 3)]
    assert prices.underlying_price("MSFT", START) == prices._catalogue.base_price("MSFT")
    prices = market_prices()
    prices.set_source("AAPL", PricePath([(0, "10"), (90.5, "11")]), START)
    assert prices.next_change("AAPL", START + 3) == START + 90.5
    assert prices.next_change("AAPL", START + 91) == START + 91 + 86400
    assert prices.next_change("MSFT", START + 20.5) == START // 60 * 60 + 60
    prices.set_price("AAPL", Decimal(500), START)
    assert prices.next_change("AAPL", START + 0.5) == START // 60 * 60 + 60


def test_stamp_changes_with_every_price() -> None:
    prices = market_prices()
    assert prices.stamp(60.0) == prices.stamp(119.0) != prices.stamp(120.0)
    prices.set_source("AAPL", PricePath([(0, "10"), (0.5, "11")]), START)
    assert prices.stamp(60.0) != prices.stamp(60.5)


@for_each("symbol, places", [("AAPL", 2), ("/6EU6", 4), ("/6JU6", 7)])
def test_low_prices_have_more_places(symbol: str, places: int) -> None:
    assert -market_prices().underlying_price(symbol, START).as_tuple().exponent == places  # type: ignore[operator]


AAPL = known_equities()["AAPL"]


def test_figures_and_volatility_follow_prices() -> None:
    here = Harness(seed=3, equities=20, equity_options=200)
    metrics, prices = MarketMetrics(here.state), here.state.prices
    before = metrics.row(AAPL, START)
    assert abs(float(before.implied_volatility_index or 0) - prices.surface("AAPL").volatility(1, 1, 30 / 365)) < 1e-6
    prices.set_price("AAPL", Decimal(400), START)
    after, later = metrics.row(AAPL, START), metrics.row(AAPL, START + 86_400)
    assert isinstance(before.market_cap, int)
    assert isinstance(after.market_cap, int)
    assert 1.9 < after.market_cap / before.market_cap < 2.1
    assert after.liquidity_rating == before.liquidity_rating in range(1, 6)
    assert after.historical_volatility_30_day == before.historical_volatility_30_day
    assert Decimal(later.historical_volatility_30_day or 0) > 5 * Decimal(before.historical_volatility_30_day or 1)


def test_events_are_past_ordered_and_announced() -> None:
    events, equities = CompanyEvents(KeyedRandom(1)), known_equities()
    for equity in equities.values():
        for days in (events.earnings(equity, START), events.dividends(equity, START)):
            assert days == sorted(days)
            assert all(day <= local_date(START) for day, _ in days)
            assert len(days) in (0, *range(20, 24))
        assert all(amount > 0 for _, amount in events.dividends(equity, START))
    expected = events.next_report(AAPL, START)
    assert expected[0] > local_date(START)
    assert expected in events.earnings(AAPL, START + 200 * 86_400)
    for symbol in ("SPY", "SPX"):
        assert events.earnings(equities[symbol], START) == []
        assert events.next_report(equities[symbol], START) is None
    assert events.dividends(equities["SPX"], START) == []
