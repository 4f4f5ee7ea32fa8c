"""Market metrics, earnings and dividends."""

from decimal import Decimal

from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.calendar import local_date
from brokerage_async.simulator.market.catalogue import Catalogue, Sizes
from brokerage_async.simulator.market.equities import known_equities
from brokerage_async.simulator.market.metrics import CompanyEvents, Metrics
from brokerage_async.simulator.market.prices import Prices
from tests.simulator.factories import START as NOW

AAPL = known_equities()["AAPL"]


def build() -> tuple[Metrics, Prices]:
    random = KeyedRandom(3)
    catalogue = Catalogue(Sizes(equities=20, equity_options=200), random, NOW)
    prices = Prices(catalogue, random)
    return Metrics(catalogue, prices, CompanyEvents(random), random), prices


def test_figures_and_volatility_follow_prices() -> None:
    metrics, prices = build()
    before = metrics.row(AAPL, NOW)
    prices.set_price("AAPL", Decimal(400), NOW)
    after = metrics.row(AAPL, NOW)
    assert isinstance(before.market_cap, int)
    assert isinstance(after.market_cap, int)
    assert 1.9 < after.market_cap / before.market_cap < 2.1
    assert after.liquidity_rating == before.liquidity_rating in range(1, 6)
    metrics, prices = build()
    calm = metrics.row(AAPL, NOW)
    assert abs(float(calm.implied_volatility_index or 0) - prices.surface("AAPL").volatility(1, 1, 30 / 365)) < 1e-6
    prices.set_price("AAPL", Decimal(400), NOW)
    assert metrics.row(AAPL, NOW).historical_volatility_30_day == calm.historical_volatility_30_day
    later = metrics.row(AAPL, NOW + 86_400)
    assert Decimal(later.historical_volatility_30_day or 0) > 5 * Decimal(calm.historical_volatility_30_day or 1)


def test_events_are_past_ordered_and_announced() -> None:
    events, equities = CompanyEvents(KeyedRandom(1)), known_equities()
    for equity in equities.values():
        for days in (events.earnings(equity, NOW), events.dividends(equity, NOW)):
            assert days == sorted(days)
            assert all(day <= local_date(NOW) for day, _ in days)
            assert len(days) in (0, *range(20, 24))
        assert all(amount > 0 for _, amount in events.dividends(equity, NOW))
    expected = events.next_report(AAPL, NOW)
    assert expected[0] > local_date(NOW)
    assert expected in events.earnings(AAPL, NOW + 200 * 86_400)
    for symbol in ("SPY", "SPX"):
        assert events.earnings(equities[symbol], NOW) == []
        assert events.next_report(equities[symbol], NOW) is None
    assert events.dividends(equities["SPX"], NOW) == []
