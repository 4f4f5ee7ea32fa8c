"""Arrow tables: every value unchanged, every digit kept."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import attrs
import pyarrow as pa
import pytest

from brokerage_async import models
from brokerage_async.arrow import joined, schema_of, to_arrow
from brokerage_async.errors import ConfigurationError
from tests.tables import for_each

MOMENT = dt.datetime(2026, 3, 4, 9, 30, 0, 123456, tzinfo=dt.timezone(-dt.timedelta(hours=5)))
EVERY_MODEL = [
    model
    for model in vars(models).values()
    if isinstance(model, type) and attrs.has(model) and model is not models.Page and attrs.fields_dict(model)
]


def responses() -> list[type[Any]]:
    """Every model without required fields."""
    return [model for model in EVERY_MODEL if all(field.default is not attrs.NOTHING for field in attrs.fields(model))]


@for_each("model", responses())
@for_each("decimals", ["exact", "string", "float"])
def test_every_model_has_the_columns_of_its_fields(model: type[Any], decimals: Any) -> None:
    table = to_arrow([model()], decimals=decimals)
    assert table.schema == schema_of(model, decimals=decimals) == to_arrow([], model, decimals=decimals).schema
    assert table.column_names == [field.name for field in attrs.fields(model)]
    assert {name for name, (value,) in table.to_pydict().items() if value not in (None, "")} <= {"legs", "orders"}


def test_models_are_many() -> None:
    assert len(responses()) > 30


def test_values_are_unchanged() -> None:
    equity = models.Equity(
        symbol="BRK/B",
        id=7,
        is_etf=False,
        borrow_rate=Decimal("0.10"),
        halted_at=MOMENT,
        lendability=models.Lendability("Something New"),
        tick_sizes=(
            models.TickSize(value=Decimal("0.01"), threshold=Decimal(1), extra={"unit": "dollars"}),
            models.TickSize(value=Decimal("0.05")),
        ),
        extra={"new-field": [1, {"deep": None}], "é": "ü"},
    )
    [row] = to_arrow([equity]).to_pylist()
    assert (row["symbol"], row["id"], row["is_etf"]) == ("BRK/B", 7, False)
    assert row["borrow_rate"] == Decimal("0.1")
    assert row["halted_at"] == MOMENT
    assert row["lendability"] == "Something New"
    assert [tick["value"] for tick in row["tick_sizes"]] == [Decimal("0.01"), Decimal("0.05")]
    assert row["tick_sizes"][1]["threshold"] is None
    assert [tick["extra"] for tick in row["tick_sizes"]] == ['{"unit":"dollars"}', None]
    assert json.loads(row["extra"]) == {"new-field": [1, {"deep": None}], "é": "ü"}
    assert row["description"] is None


@for_each(
    "decimals, value, nested",
    [("exact", Decimal("0.1"), Decimal("2.5")), ("string", "0.10", "2.50"), ("float", 0.1, 2.5)],
)
def test_decimals_are_written_as_chosen_at_every_depth(decimals: Any, value: Any, nested: Any) -> None:
    equity = models.Equity(borrow_rate=Decimal("0.10"), tick_sizes=(models.TickSize(value=Decimal("2.50")),))
    [row] = to_arrow([equity], decimals=decimals).to_pylist()
    assert (row["borrow_rate"], row["tick_sizes"][0]["value"]) == (value, nested)
    assert type(row["borrow_rate"]) is type(value)


def test_long_decimal_widens_its_column() -> None:
    small, large = Decimal("0." + "1" * 25), Decimal("9" * 25)
    items = [models.Dividend(amount=small), models.Dividend(amount=large), models.Dividend()]
    table = to_arrow(items)
    assert table.schema.field("amount").type == pa.decimal256(76, 38)
    assert table.column("amount").to_pylist() == [small, large, None]

    nested = models.Equity(tick_sizes=(models.TickSize(value=small),))
    assert to_arrow([nested]).to_pylist()[0]["tick_sizes"][0]["value"] == small

    both = joined([to_arrow([models.Dividend(amount=Decimal(1))]), table])
    assert both.column("amount").to_pylist() == [1, small, large, None]


@for_each("digits", ["1E+60", "1E-60", "9" * 39])
def test_decimal_of_any_length_is_a_string_or_an_error(digits: str) -> None:
    items = [models.Dividend(amount=Decimal(1)), models.Dividend(amount=Decimal(digits))]
    with pytest.raises(
        ConfigurationError, match=rf'Dividend\.amount must fit decimal256.*{digits[:4]}.*"string"'.replace("+", r"\+")
    ):
        to_arrow(items)
    last = to_arrow(items, decimals="string").column("amount")[1].as_py()
    assert Decimal(last) == Decimal(digits)


def test_integer_beyond_64_bits_is_an_error_that_names_the_field() -> None:
    with pytest.raises(ConfigurationError, match=r"Equity\.id must fit int64, got 100000000000000000000: JSON lines"):
        to_arrow([models.Equity(id=10**20)])


def test_lone_surrogates_cost_no_row() -> None:
    equity = models.Equity(
        symbol="a\ud800b", extra={"x": "\udfff"}, tick_sizes=(models.TickSize(extra={"y": "\udc80"}),)
    )
    [row] = to_arrow([equity], keys=["a\ud800b"]).to_pylist()
    assert (row["key"], row["symbol"], row["extra"]) == ("a\ufffdb", "a\ufffdb", '{"x":"\ufffd"}')
    assert row["tick_sizes"][0]["extra"] == '{"y":"\ufffd"}'
