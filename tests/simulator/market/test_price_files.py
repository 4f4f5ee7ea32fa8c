import builtins
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.price_path import read_prices
from brokerage_async.simulator.market.quotes import Listing

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
LISTING = Listing(symbol="AAPL", level=Decimal(200), start=NOON.timestamp(), random=KeyedRandom(0))

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


@pytest.mark.parametrize(
    ("name", "content", "message"),
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
    real = builtins.__import__

    def fail(name: str, *args: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(ImportError, match=r"brokerage-async\[arrow\]"):
        read_prices(tmp_path / "a.parquet")
