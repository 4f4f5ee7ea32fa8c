from decimal import Decimal
from itertools import pairwise
from statistics import pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.quotes import Listing
from brokerage_async.simulator.market.random_walk import RandomWalk
from tests.tables import for_each

START = 1_781_100_000.0


def listing(seed: int = 0, level: str = "200") -> Listing:
    return Listing(symbol="AAPL", level=Decimal(level), start=START, random=KeyedRandom(seed))


def test_walk_moves_further_in_a_longer_time_and_its_volume_grows() -> None:
    assert RandomWalk().quote(listing(), START).last == 200
    assert RandomWalk(price=Decimal(7)).quote(listing(), START).last == 7
    prices = [float(RandomWalk().quote(listing(), START + 60 * n).last) for n in range(3000)]
    minutes = pstdev(after - before for before, after in pairwise(prices))
    hours = pstdev(after - before for before, after in pairwise(prices[::60]))
    assert 0.02 < minutes < 0.12  # dollars: 0.03 % of 200 are 0.06
    assert 3 < hours / minutes < 12
    volumes = [RandomWalk().quote(listing(), START + 3600 * n).volume or 0 for n in range(24)]
    falls = [n for n, (before, after) in enumerate(pairwise(volumes)) if after < before]
    assert len(falls) == 1


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


@for_each("options", [{"volatility": -0.1}, {"spread": 1.0}])
def test_invalid_option_raises(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be at least 0 and below 1"):
        RandomWalk(**options)
