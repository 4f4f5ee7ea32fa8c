"""Tables and frames as users ask for them: arguments, empty lists, missing packages, values."""

import datetime as dt
import json
import sys
from decimal import Decimal
from typing import Any

import attrs
import pyarrow as pa
import pytest

from brokerage_async import models
from brokerage_async.arrow import joined, schema_of, to_arrow, to_pandas, to_polars
from brokerage_async.bulk.fetch import BulkResult
from brokerage_async.errors import ConfigurationError
from brokerage_async.http.pager import OffsetPager
from brokerage_async.operation import BoundCall, Effect, Operation, Shape
from brokerage_async.protocol.decoding.codec import Decoded
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.tables import for_each

CONVERSIONS = {"arrow": to_arrow, "pandas": to_pandas, "polars": to_polars}
OPERATION: Operation[Any] = Operation(
    name="a.b", method="GET", path="/", effect=Effect.READ, shape=Shape.PAGE, result=models.Transaction
)


@pytest.fixture(params=CONVERSIONS)
def extra(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def columns(table: Any) -> list[str]:
    return list(table.column_names if isinstance(table, pa.Table) else table.columns)


def values(table: Any, name: str) -> list[Any]:
    return list(table.column(name).to_pylist() if isinstance(table, pa.Table) else table[name])


class Pages:
    def __init__(self, *, pages: int = 3) -> None:
        self.asked = 0
        self.pages = pages

    async def __call__(self, call: Any) -> Any:
        self.asked += 1
        page = call.query["page-offset"]
        count = 4 if page < self.pages - 1 else self.pages and 1
        rows = [models.Transaction(id=f"{page}-{n}", value=Decimal("1.50")) for n in range(count)]
        return Decoded(rows, None, None)

    def pager(self) -> OffsetPager[models.Transaction]:
        return OffsetPager(self, BoundCall(OPERATION, query={"per-page": 4}))


def test_rows_become_a_table_of_their_class(extra: str) -> None:
    rows = (models.Dividend(amount=Decimal("0.25")), models.Dividend())
    table = CONVERSIONS[extra](rows)
    assert columns(table) == ["occurred_date", "amount", "extra"]
    assert values(table, "amount") == [Decimal("0.25"), None]
    assert columns(CONVERSIONS[extra](iter(rows), keys=["A", "B"])) == ["key", "occurred_date", "amount", "extra"]


def test_empty_list_has_the_schema_of_its_class(extra: str) -> None:
    order = models.Order(id="1", price=Decimal("1.5"))
    empty, full = CONVERSIONS[extra]([], models.Order), CONVERSIONS[extra]([order], models.Order)
    assert len(empty) == 0
    assert columns(empty) == columns(full)
    if extra != "arrow":
        assert list(empty.dtypes) == list(full.dtypes)
    else:
        assert empty.schema == full.schema


@for_each(
    "rows, options, message",
    [
        ([], {}, "model must be given if rows may be empty"),
        ([models.Order(), models.Equity()], {}, "rows must all be of class Order, got Equity"),
        ([models.Order()], {"model": models.Equity}, "rows must all be of class Equity, got Order"),
        ([{"id": 1}], {}, "model must be a class of models, got <class 'dict'>"),
        ([], {"model": models.Order()}, "model must be a class of models, got Order"),
        ([models.Order()], {"decimals": "number"}, "decimals must be 'exact', 'string' or 'float', got 'number'"),
    ],
)
def test_invalid_argument_is_refused(extra: str, rows: Any, options: Any, message: str) -> None:
    raised(ConfigurationError, CONVERSIONS[extra], rows, match=message, **options)


async def test_missing_package_names_the_extra_without_a_request(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, pages = "pyarrow" if extra == "arrow" else extra, Pages()
    monkeypatch.setitem(sys.modules, package, None)
    missing = rf'{package} is missing: pip install "brokerage-async\[{extra}\]"'
    raised(ConfigurationError, CONVERSIONS[extra], [models.Dividend()], match=missing)
    raised(ConfigurationError, getattr(BulkResult(found={}, model=models.Dividend), f"to_{extra}"), match=missing)
    await raised_by(getattr(pages.pager(), f"to_{extra}")(), ConfigurationError, missing)
    assert pages.asked == 0


@for_each("decimals", ["exact", "string", "float"])
async def test_pager_gives_all_items_or_the_first_ones(extra: str, decimals: Any) -> None:
    one_and_a_half = {"exact": Decimal("1.5"), "string": "1.50", "float": 1.5}[decimals]
    table = await getattr(Pages().pager(), f"to_{extra}")(decimals=decimals)
    assert values(table, "value") == [one_and_a_half] * 9
    first = await getattr(Pages().pager(), f"to_{extra}")(max_items=5, decimals=decimals)
    assert values(first, "id") == ["0-0", "0-1", "0-2", "0-3", "1-0"]
    empty = await getattr(Pages(pages=0).pager(), f"to_{extra}")(decimals=decimals)
    assert (len(empty), columns(empty)) == (0, columns(table))


async def test_arrow_table_of_a_pager_widens_across_pages() -> None:
    long = Decimal("1e-30")

    async def fetch(call: Any) -> Any:
        page = call.query["page-offset"]
        return Decoded([models.Transaction(id=str(page), value=long if page else Decimal(1))], None, None)

    table = await OffsetPager(fetch, BoundCall(OPERATION, query={"per-page": 1})).to_arrow(max_items=2)
    assert table.column("value").to_pylist() == [1, long]


def test_bulk_values_stand_beside_their_key_and_lists_give_a_row_per_item(extra: str) -> None:
    found = {"AAPL": models.Equity(symbol="AAPL"), "brk/b": models.Equity(symbol="BRK/B")}
    table = getattr(BulkResult(found=found, model=models.Equity), f"to_{extra}")()
    assert columns(table)[0] == "key"
    assert (values(table, "key"), values(table, "symbol")) == (["AAPL", "brk/b"], ["AAPL", "BRK/B"])
    one, two = models.Dividend(amount=Decimal(1)), models.Dividend(amount=Decimal(2))
    lists = {"A": [one, two], "B": [], "C": [models.Dividend()]}
    table = getattr(BulkResult(found=lists, model=models.Dividend), f"to_{extra}")(decimals="string")
    assert values(table, "key") == ["A", "A", "C"]
    assert [value if isinstance(value, str) else None for value in values(table, "amount")] == ["1", "2", None]


def test_bulk_result_without_values_keeps_the_columns(extra: str) -> None:
    table = getattr(BulkResult(found={}, model=models.Dividend), f"to_{extra}")()
    assert columns(table) == ["key", "occurred_date", "amount", "extra"]
    raised(ConfigurationError, getattr(BulkResult(found={}), f"to_{extra}"), match="model must be given")
    assert len(getattr(BulkResult(found={"A": models.Dividend()}), f"to_{extra}")()) == 1


# Every value unchanged, every digit kept.

MOMENT = dt.datetime(2026, 3, 4, 9, 30, 0, 123456, tzinfo=dt.timezone(-dt.timedelta(hours=5)))
RESPONSES = [
    model
    for model in vars(models).values()
    if isinstance(model, type) and attrs.has(model) and model is not models.Page and attrs.fields_dict(model)
    if all(field.default is not attrs.NOTHING for field in attrs.fields(model))
]


@for_each("model", RESPONSES)
@for_each("decimals", ["exact", "string", "float"])
def test_every_model_has_the_columns_of_its_fields(model: type[Any], decimals: Any) -> None:
    assert len(RESPONSES) > 30
    table = to_arrow([model()], decimals=decimals)
    assert table.schema == schema_of(model, decimals=decimals) == to_arrow([], model, decimals=decimals).schema
    assert table.column_names == [field.name for field in attrs.fields(model)]
    assert {name for name, (value,) in table.to_pydict().items() if value not in (None, "")} <= {"legs", "orders"}


def test_values_are_unchanged() -> None:
    plain: dict[str, Any] = {"symbol": "BRK/B", "id": 7, "is_etf": False, "borrow_rate": Decimal("0.10")}
    extra = {"new-field": [1, {"deep": None}], "é": "ü"}
    ticks = (
        models.TickSize(value=Decimal("0.01"), threshold=Decimal(1), extra={"unit": "dollars"}),
        models.TickSize(value=Decimal("0.05")),
    )
    lendability = models.Lendability("Something New")
    equity = models.Equity(halted_at=MOMENT, lendability=lendability, tick_sizes=ticks, extra=extra, **plain)
    [row] = to_arrow([equity]).to_pylist()
    wanted = {**plain, "halted_at": MOMENT, "lendability": "Something New", "description": None}
    assert {name: row[name] for name in wanted} == wanted
    assert [(tick["value"], tick["threshold"], tick["extra"]) for tick in row["tick_sizes"]] == [
        (Decimal("0.01"), 1, '{"unit":"dollars"}'),
        (Decimal("0.05"), None, None),
    ]
    assert json.loads(row["extra"]) == extra


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
    odd = models.Equity(symbol="a\ud800b", extra={"x": "\udfff"}, tick_sizes=(models.TickSize(extra={"y": "\udc80"}),))
    [row] = to_arrow([odd], keys=["a\ud800b"]).to_pylist()
    assert (row["key"], row["symbol"], row["extra"]) == ("a\ufffdb", "a\ufffdb", '{"x":"\ufffd"}')
    assert row["tick_sizes"][0]["extra"] == '{"y":"\ufffd"}'
