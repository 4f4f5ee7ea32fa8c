from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.models import InstrumentType
from brokerage_async.simulator.keyed_random import Chance
from brokerage_async.simulator.market.catalogue import Catalogue, Sizes
from brokerage_async.simulator.market.instrument import Instrument
from brokerage_async.simulator.market.market import Market

START = 1_781_100_000.0


def market(seed: int = 0) -> Market:
    chance = Chance(seed)
    return Market(Catalogue(Sizes(equities=50), chance, START), chance)


def found(place: Market, kind: InstrumentType, symbol: str) -> Instrument:
    instrument = place._catalogue.instrument(kind, symbol)
    assert instrument is not None
    return instrument


@given(st.integers(0, 1000), st.floats(0, 1e7), st.sampled_from(["AAPL", "BRK/B", "/ESZ6", "BTC/USD", "F"]))
def test_prices_stay_near_their_level(seed: int, later: float, symbol: str) -> None:
    place = market(seed)
    level = place._catalogue.base_price(symbol)
    price = place.underlying_price(symbol, START + later)
    assert abs(price - level) <= level * Decimal("0.003")
    assert price == place.underlying_price(symbol, (START + later) // 60 * 60 + 30)


def test_a_set_price_stays() -> None:
    place, heard = market(), []
    place.on_price(lambda symbol, now: heard.append((symbol, now)))
    place.set_price("AAPL", Decimal("12.34"), START)
    assert place.underlying_price("AAPL", START + 1e6) == Decimal("12.34")
    assert heard == [("AAPL", START)]


@pytest.mark.parametrize("price", ["0", "-1", "1e9", "NaN", "Infinity"])
def test_a_price_is_a_positive_number(price: str) -> None:
    with pytest.raises(ValueError, match="positive"):
        market().set_price("AAPL", Decimal(price), START)


def test_options_are_worth_at_least_what_is_inside() -> None:
    place = market()
    place.set_price("AAPL", Decimal(200), START)
    deep = found(place, InstrumentType.EQUITY_OPTION, "AAPL  260717C00100000")
    assert place.price(deep, START) >= 100
    near = found(place, InstrumentType.EQUITY_OPTION, "AAPL  260717P00200000")
    later = found(place, InstrumentType.EQUITY_OPTION, "AAPL  261016P00200000")
    assert 0 < place.price(near, START) < place.price(later, START)


def test_quotes() -> None:
    place = market()
    place.set_price("AAPL", Decimal("200.00"), START)
    bid, last, ask = (place.quote("AAPL", field, START) for field in ("Bid", "Last", "Ask"))
    assert (bid, last, ask) == (Decimal("199.96"), Decimal("200.00"), Decimal("200.04"))
    assert place.quote("AAPL", "IV", START) is None


def test_hours_depend_on_the_instrument() -> None:
    place = market()
    share, future = found(place, InstrumentType.EQUITY, "AAPL"), found(place, InstrumentType.FUTURE, "/ESZ6")
    coin = found(place, InstrumentType.CRYPTOCURRENCY, "BTC/USD")
    night = START + 10 * 3600
    assert [place.is_open(one, night, extended=False) for one in (share, future, coin)] == [False, True, True]
    assert place.opening(share, night, extended=False) > night
    assert place.opening(coin, night, extended=False) == night
    assert place.closing(coin, night, extended=False) > night
