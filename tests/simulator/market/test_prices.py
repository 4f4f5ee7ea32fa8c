from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.models import InstrumentType
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.catalogue import Catalogue, Sizes
from brokerage_async.simulator.market.instrument import Instrument
from brokerage_async.simulator.market.prices import Prices

START = 1_781_100_000.0


def make_prices(seed: int = 0) -> Prices:
    random = KeyedRandom(seed)
    return Prices(Catalogue(Sizes(equities=50), random, START), random)


def found(prices: Prices, kind: InstrumentType, symbol: str) -> Instrument:
    instrument = prices._catalogue.instrument(kind, symbol)
    assert instrument is not None
    return instrument


@given(st.integers(0, 1000), st.floats(0, 1e7), st.sampled_from(["AAPL", "BRK/B", "/ESZ6", "BTC/USD", "F"]))
def test_price_stays_near_its_level(seed: int, later: float, symbol: str) -> None:
    prices = make_prices(seed)
    level = prices._catalogue.base_price(symbol)
    price = prices.underlying_price(symbol, START + later)
    assert abs(price - level) <= level * Decimal("0.003")
    assert price == prices.underlying_price(symbol, (START + later) // 60 * 60 + 30)


def test_set_price_is_held() -> None:
    prices, heard = make_prices(), []
    prices.on_price(lambda symbol, now: heard.append((symbol, now)))
    prices.set_price("AAPL", Decimal("12.34"), START)
    assert prices.underlying_price("AAPL", START + 1e6) == Decimal("12.34")
    assert heard == [("AAPL", START)]


@pytest.mark.parametrize("price", ["0", "-1", "1e9", "NaN", "Infinity"])
def test_invalid_price_raises(price: str) -> None:
    with pytest.raises(ValueError, match="positive"):
        make_prices().set_price("AAPL", Decimal(price), START)


def test_option_is_worth_at_least_its_intrinsic_value() -> None:
    prices = make_prices()
    prices.set_price("AAPL", Decimal(200), START)
    deep = found(prices, InstrumentType.EQUITY_OPTION, "AAPL  260717C00100000")
    assert prices.price(deep, START) >= 100
    near = found(prices, InstrumentType.EQUITY_OPTION, "AAPL  260717P00200000")
    later = found(prices, InstrumentType.EQUITY_OPTION, "AAPL  261016P00200000")
    assert 0 < prices.price(near, START) < prices.price(later, START)


def test_quote_fields() -> None:
    prices = make_prices()
    prices.set_price("AAPL", Decimal("200.00"), START)
    bid, last, ask = (prices.quote("AAPL", field, START) for field in ("Bid", "Last", "Ask"))
    assert (bid, last, ask) == (Decimal("199.96"), Decimal("200.00"), Decimal("200.04"))
    assert prices.quote("AAPL", "IV", START) is None


def test_set_price_does_not_change_the_past() -> None:
    prices = make_prices()
    before = prices.underlying_price("AAPL", START - 60)
    prices.set_price("AAPL", Decimal(300), START)
    prices.set_price("AAPL", Decimal(310), START + 10)
    past = [prices.underlying_price("AAPL", START + later) for later in (-60, -1, 0, 9, 10)]
    assert past[0] == before
    assert past[1] < 210
    assert past[2:] == [300, 300, 310]


@pytest.mark.parametrize(("symbol", "places"), [("AAPL", 2), ("/6EU6", 4), ("/6JU6", 7)])
def test_low_prices_have_more_places(symbol: str, places: int) -> None:
    assert -make_prices().underlying_price(symbol, START).as_tuple().exponent == places  # type: ignore[operator]


def test_option_on_a_low_price_costs_less_than_a_cent() -> None:
    prices = make_prices()
    option = found(prices, InstrumentType.FUTURE_OPTION, "./6JU6 6JU6 260918P0.005")
    assert prices.price(option, START) == Decimal("0.0000001")
