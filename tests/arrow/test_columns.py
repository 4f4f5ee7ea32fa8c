"""Columns, frames, Parquet files, and segments that become some."""

import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerage_async import models
from brokerage_async._values import Extra
from brokerage_async.arrow import schema_of, to_arrow, to_pandas, to_polars, write_parquet
from brokerage_async.arrow.columns import columns_of, write_json
from brokerage_async.arrow.segments import Segment, rewrite
from brokerage_async.errors import ConfigurationError
from brokerage_async.storage import files
from tests.tables import for_each


def test_columns_have_the_types_of_the_fields() -> None:
    schema = schema_of(models.Equity, key=True)
    assert schema.field(0) == pa.field("key", pa.string())
    types = dict.fromkeys(("symbol", "lendability", "extra"), pa.string()) | {"id": pa.int64(), "is_etf": pa.bool_()}
    types |= {"borrow_rate": pa.decimal128(38, 18), "halted_at": pa.timestamp("us", tz="UTC")}
    assert {name: schema.field(name).type for name in types} == types
    ticks = schema.field("tick_sizes").type.value_type
    assert ticks.field("threshold").type == pa.decimal128(38, 18)
    assert schema_of(models.EquityOption).field("expiration_date").type == pa.date32()
    product = schema_of(models.FutureOption).field("future_option_product").type
    assert product.field("cash_settled").type == pa.bool_()
    amounts = [schema_of(models.Dividend, decimals=kind).field("amount").type for kind in ("exact", "string", "float")]
    assert amounts == [pa.decimal128(38, 18), pa.string(), pa.float64()]
    assert columns_of(models.Dividend) is columns_of(models.Dividend, "exact")


@attrs.frozen
class Node:
    name: str | None = None
    price: Decimal | None = None
    children: tuple["Node", ...] = ()
    marks: Mapping[str, Any] | None = None


def test_recursive_model_is_json_below_the_first_level_and_an_empty_object_is_not_a_missing_one() -> None:
    tree = Node("root", children=(Node("leaf", Decimal("1.50")),))
    [row] = to_arrow([tree]).to_pylist()
    assert [json.loads(child, parse_float=Decimal) for child in row["children"]] == [
        {"name": "leaf", "price": Decimal("1.50"), "children": [], "marks": None}
    ]
    assert to_arrow([Node(marks={}), Node()]).column("marks").to_pylist() == ["{}", None]


@for_each(
    "value, written",
    [
        (Extra({"a": Decimal("1.10"), "b": "1.10"}), '{"a":1.10,"b":"1.10"}'),
        ({"long": 10**30, "tiny": Decimal("1E-400")}, '{"long":1000000000000000000000000000000,"tiny":1E-400}'),
        ({"ü": ["\ud800"]}, '{"ü":["\ufffd"]}'),
    ],
)
def test_raw_json_keeps_every_digit_and_type(value: Any, written: str) -> None:
    assert write_json(value) == written


NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
ROWS = [
    models.Equity(symbol="A", id=2**60 + 1, is_etf=True, borrow_rate=Decimal("0.10"), halted_at=NOON),
    models.Equity(symbol="B", extra={"new": 1}),
]
DIVIDENDS = [
    models.Dividend(occurred_date=dt.date(2026, 1, day), amount=Decimal(amount))
    for day, amount in ((1, "0.10"), (2, "0.20"), (3, "0.30"))
]


def test_pandas_keeps_types_beside_missing_values_and_decimals_exact() -> None:
    frame = to_pandas(ROWS)
    assert list(frame.index) == [0, 1]
    assert frame["id"][0] == 2**60 + 1
    assert frame["id"].isna().tolist() == [False, True]
    assert frame["halted_at"][0] == pd.Timestamp(NOON)
    assert frame["borrow_rate"].tolist() == [Decimal("0.10"), None]
    assert frame["extra"].tolist()[1] == '{"new":1}'
    amounts = to_pandas(DIVIDENDS)["amount"]
    assert [str(amount) for amount in amounts] == ["0.10", "0.20", "0.30"]
    assert amounts.sum() == Decimal("0.60")
    assert list(amounts * amounts) == [Decimal("0.01"), Decimal("0.04"), Decimal("0.09")]


def test_polars_is_typed_and_exact() -> None:
    frame = to_polars(ROWS)
    assert frame.schema["borrow_rate"] == pl.Decimal(38, 18)
    assert frame.schema["halted_at"] == pl.Datetime("us", "UTC")
    assert (frame["id"][0], frame["is_etf"].to_list(), frame["halted_at"][0]) == (2**60 + 1, [True, None], NOON)
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


def amounts(*values: str) -> pa.Table:
    return to_arrow([models.Dividend(amount=Decimal(value)) for value in values], models.Dividend)


def written(path: Path, *tables: pa.Table, model: type[Any] = models.Dividend, **options: Any) -> pa.Table:
    write_parquet(path, schema_of(model), reversed(tables), iter(tables), **options)
    return pq.read_table(path)


def test_file_has_a_row_group_for_each_table(tmp_path: Path) -> None:
    assert written(tmp_path / "a", amounts("1", "2"), amounts("3"))["amount"].to_pylist() == [1, 2, 3]
    file = pq.ParquetFile(tmp_path / "a")
    assert (file.num_row_groups, file.metadata.num_rows) == (2, 3)
    assert written(tmp_path / "b").schema.names == schema_of(models.Dividend).names


@for_each(
    "values, type_",
    [
        (["1.50", "20"], pa.decimal128(38, 1)), (["-0.0001"], pa.decimal128(38, 4)),
        (["0"], pa.decimal128(38, 0)), ([], pa.decimal128(38, 0)), (["1.5", "1E-30"], pa.decimal128(38, 30)),
        (["12345678901234567890123456789012345678", "1"], pa.decimal128(38, 0)),
        (["123456789012345678901234567890", "1E-9"], pa.decimal256(76, 9)),
        (["1E-38"], pa.decimal256(76, 38)),
    ],
)  # fmt: skip
def test_decimals_have_the_scale_that_their_column_needs(tmp_path: Path, values: list[str], type_: pa.DataType) -> None:
    table = written(tmp_path / "a", *map(amounts, values))
    assert table.schema.field("amount").type == type_
    assert table["amount"].to_pylist() == [Decimal(value) for value in values]


def test_nested_decimals_and_encoded_strings(tmp_path: Path) -> None:
    ticks = (models.TickSize(value=Decimal("0.0001"), threshold=Decimal(1)), models.TickSize(value=Decimal("0.01")))
    rows = [models.Equity(symbol="A", borrow_rate=Decimal("3.25"), tick_sizes=ticks), models.Equity(symbol="B")]
    table = written(tmp_path / "a", to_arrow(rows, models.Equity), model=models.Equity, encode=True)
    nested = table.schema.field("tick_sizes").type.value_type
    assert (nested.field("value").type, nested.field("threshold").type) == (pa.decimal128(38, 4), pa.decimal128(38, 0))
    assert table["tick_sizes"].to_pylist()[0][0]["value"] == Decimal("0.0001")
    assert pa.types.is_dictionary(table.schema.field("symbol").type)
    assert table["symbol"].to_pylist() == ["A", "B"]


def test_rewrite_removes_the_segment_once_its_file_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.RecordBatch.from_pylist([{"a": 1}])
    segment, synced = Segment(tmp_path / "day=2026-06-10" / "Quote-000001.arrows", batch.schema), list[Path]()
    segment.write(batch, [])
    segment.close()

    def sync(path: Path) -> None:
        assert segment.path.exists()
        synced.append(path)

    monkeypatch.setattr(files, "_sync", sync)
    rewrite(segment.path)
    folder = segment.path.parent
    assert synced == [folder / ".Quote-000001.parquet", folder]
    assert [path.name for path in folder.iterdir()] == ["Quote-000001.parquet"]
    assert pq.read_table(folder, partitioning=None).to_pylist() == [{"a": 1}]
