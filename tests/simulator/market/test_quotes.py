from decimal import Decimal

import pytest

from brokerage_async.simulator.market.quotes import check_price, next_minute
from tests.tables import for_each


def test_next_minute_is_always_later() -> None:
    assert [next_minute(now) for now in (0.0, 59.9, 60.0)] == [60.0, 60.0, 120.0]


@for_each("price", ["0", "-1", "1e9", "NaN"])
def test_check_price_raises(price: str) -> None:
    assert check_price("price", Decimal("0.01")) == Decimal("0.01")
    with pytest.raises(ValueError, match="bid must be positive and below 1000000000"):
        check_price("bid", Decimal(price))
