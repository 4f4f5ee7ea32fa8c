"""Columns of models: types and the writing of raw JSON."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import attrs
import pyarrow as pa

from brokerage_async import models
from brokerage_async._values import Extra
from brokerage_async.arrow import schema_of, to_arrow
from brokerage_async.arrow.columns import columns_of, has_wide_decimals, widened, write_json
from tests.tables import for_each


def test_columns_have_the_types_of_the_fields() -> None:
    schema = schema_of(models.Equity, key=True)
    assert schema.field(0) == pa.field("key", pa.string())
    assert schema.field("symbol").type == pa.string()
    assert schema.field("id").type == pa.int64()
    assert schema.field("is_etf").type == pa.bool_()
    assert schema.field("borrow_rate").type == pa.decimal128(38, 18)
    assert schema.field("halted_at").type == pa.timestamp("us", tz="UTC")
    assert schema.field("lendability").type == pa.string()
    assert schema.field("extra").type == pa.string()
    ticks = schema.field("tick_sizes").type.value_type
    assert ticks.field("threshold").type == pa.decimal128(38, 18)
    assert schema_of(models.EquityOption).field("expiration_date").type == pa.date32()
    product = schema_of(models.FutureOption).field("future_option_product").type
    assert product.field("cash_settled").type == pa.bool_()


def test_columns_of_each_choice_are_kept_apart() -> None:
    types = [
        schema_of(models.Dividend, decimals=choice).field("amount").type for choice in ("exact", "string", "float")
    ]
    assert types == [pa.decimal128(38, 18), pa.string(), pa.float64()]
    assert columns_of(models.Dividend) is columns_of(models.Dividend, "exact")


@attrs.frozen
class Node:
    name: str | None = None
    price: Decimal | None = None
    children: tuple["Node", ...] = ()
    marks: Mapping[str, Any] | None = None


def test_recursive_model_is_json_below_the_first_level() -> None:
    tree = Node("root", children=(Node("leaf", Decimal("1.50")),))
    [row] = to_arrow([tree]).to_pylist()
    assert [json.loads(child, parse_float=Decimal) for child in row["children"]] == [
        {"name": "leaf", "price": Decimal("1.50"), "children": [], "marks": None}
    ]


def test_an_empty_object_is_not_a_missing_one() -> None:
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


def test_wide_decimals_are_found_at_every_depth() -> None:
    narrow = pa.struct([("a", pa.list_(pa.struct([("b", pa.decimal128(38, 18)), ("c", pa.string())])))])
    assert not has_wide_decimals(narrow)
    assert has_wide_decimals(widened(narrow))
    assert widened(pa.string()) == pa.string()
