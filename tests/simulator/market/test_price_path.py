from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import inf
from typing import Any

import pytest

from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.price_path import PricePath
from brokerage_async.simulator.market.quotes import Listing
from tests.tables import for_each

START = 1_781_100_000.0
LISTING = Listing(symbol="AAPL", level=Decimal(200), start=START, random=KeyedRandom(0))


def test_row_holds_until_the_next_one_in_seconds_or_datetimes() -> None:
    path = PricePath([(10, "1.50"), (20, 2), {"time": 30, "price": "3", "bid": "2.9", "ask_size": 40}])
    prices = [path.quote(LISTING, START + after).last for after in (0, 10, 19.9, 20, 30, 1e6)]
    assert prices == [Decimal("1.50"), Decimal("1.50"), Decimal("1.50"), 2, 3, 3]
    last = path.quote(LISTING, START + 31)
    assert (last.since, last.bid, last.ask, last.bid_size, last.ask_size) == (
        START + 30, Decimal("2.9"), 3, None, 40,
    )  # fmt: skip
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
