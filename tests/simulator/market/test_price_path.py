"""Scripted prices, from a program or a file."""

import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.price_path import PricePath, read_prices
from brokerage_async.simulator.market.quotes import Listing, check_price, next_minute
from tests.simulator.factories import START
from tests.tables import for_each

LISTING = Listing(symbol="AAPL", level=Decimal(200), start=START, random=KeyedRandom(0))


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


def check(path: Path) -> None:
    prices = read_prices(path)
    first, second = (prices.quote(LISTING, NOON.timestamp() + after) for after in (0, 5))
    assert (first.last, first.bid, first.ask_size) == (Decimal("150.10"), Decimal("150.10"), 300)
    assert (second.last, second.bid, second.ask_size) == (Decimal("150.20"), Decimal("150.15"), None)


def test_csv_and_parquet_give_the_same_prices(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV, "utf-8-sig")
    check(tmp_path / "a.csv")
    columns = {
        "time": pa.array([NOON.replace(tzinfo=None), datetime(2026, 6, 10, 12, 0, 5)]),  # noqa: DTZ001
        "price": pa.array([Decimal("150.10"), Decimal("150.20")]),
        "bid": pa.array([None, 150.15]),
        "ask_size": pa.array([300, None]),
        "note": ["first", "second"],
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    check(tmp_path / "a.parquet")


@for_each(
    "name, content, message",
    [
        ("a.txt", CSV, r"must be in a \.csv or \.parquet file, got \.txt: a\.txt"),
        ("a.csv", "time,price\n", "a.csv: a price path must have at least one row"),
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


def test_next_minute_is_always_later() -> None:
    assert [next_minute(now) for now in (0.0, 59.9, 60.0)] == [60.0, 60.0, 120.0]


def test_check_price_raises() -> None:
    assert check_price("price", Decimal("0.01")) == Decimal("0.01")
    for price in ("0", "-1", "1e9", "NaN"):
        with pytest.raises(ValueError, match="bid must be positive and below 1000000000"):
            check_price("bid", Decimal(price))
