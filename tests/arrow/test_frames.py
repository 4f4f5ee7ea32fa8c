"""Data frames: exact by default, typed where values are missing."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pytest

from brokerage_async import models
from brokerage_async.arrow import to_pandas, to_polars
from brokerage_async.errors import ConfigurationError
from tests.tables import for_each

NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
ROWS = [
    models.Equity(symbol="A", id=2**60 + 1, is_etf=True, borrow_rate=Decimal("0.10"), halted_at=NOON),
    models.Equity(symbol="B", extra={"new": 1}),
]
DIVIDENDS = [
    models.Dividend(occurred_date=dt.date(2026, 1, day), amount=Decimal(amount))
    for day, amount in ((1, "0.10"), (2, "0.20"), (3, "0.30"))
]


def test_pandas_decimals_are_those_of_the_models() -> None:
    frame = to_pandas(DIVIDENDS)
    assert [str(amount) for amount in frame["amount"]] == ["0.10", "0.20", "0.30"]
    assert frame["amount"].sum() == Decimal("0.60")
    assert list(frame["amount"] * frame["amount"]) == [Decimal("0.01"), Decimal("0.04"), Decimal("0.09")]


def test_pandas_keeps_types_beside_missing_values() -> None:
    frame = to_pandas(ROWS)
    assert frame["id"][0] == 2**60 + 1
    assert frame["id"].isna().tolist() == [False, True]
    assert frame["halted_at"][0] == pd.Timestamp(NOON)
    assert frame["borrow_rate"].tolist() == [Decimal("0.10"), None]
    assert frame["extra"].tolist()[1] == '{"new":1}'
    assert to_pandas([], models.Equity).dtypes.equals(frame.dtypes)


def test_pandas_floats_and_strings_by_choice() -> None:
    assert to_pandas(DIVIDENDS, decimals="float")["amount"].mean() == pytest.approx(0.2)
    assert to_pandas(DIVIDENDS, decimals="string")["amount"].tolist() == ["0.10", "0.20", "0.30"]


def test_pandas_frame_keeps_the_order_of_columns() -> None:
    frame = to_pandas(DIVIDENDS, keys=["A", "B", "C"])
    assert list(frame.columns) == ["key", "occurred_date", "amount", "extra"]
    assert list(frame.index) == [0, 1, 2]


def test_polars_is_typed_and_exact() -> None:
    frame = to_polars(ROWS)
    assert frame.schema["borrow_rate"] == pl.Decimal(38, 18)
    assert frame.schema["halted_at"] == pl.Datetime("us", "UTC")
    assert (frame["id"][0], frame["is_etf"].to_list(), frame["halted_at"][0]) == (2**60 + 1, [True, None], NOON)
    assert to_polars([], models.Equity).schema == frame.schema
    assert to_polars(DIVIDENDS)["amount"].sum() == Decimal("0.60")
    assert to_polars(DIVIDENDS, decimals="float")["amount"].mean() == pytest.approx(0.2)


@for_each(
    "row, field",
    [
        (models.Equity(borrow_rate=Decimal("1e-30")), "borrow_rate"),
        (models.Equity(tick_sizes=(models.TickSize(value=Decimal("1e-30")),)), "tick_sizes"),
    ],
)
def test_polars_refuses_a_number_that_it_cannot_hold(row: Any, field: str) -> None:
    with pytest.raises(ConfigurationError, match=rf'{field} must fit Decimal\(38, 18\) for Polars.*decimals="string"'):
        to_polars([row])
    assert to_polars([row], decimals="string").height == 1
    assert to_pandas([row]).shape[0] == 1
