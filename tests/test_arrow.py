import datetime as dt
import json
import sys
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import models
from brokerage_async.bulk.fetch import BulkResult
from brokerage_async.http.pager import OffsetPager
from brokerage_async.operation import BoundCall, Effect, Operation, Shape
from brokerage_async.protocol.decoding.codec import Decoded

pa = pytest.importorskip("pyarrow")
arrow = pytest.importorskip("brokerage_async.arrow")

MOMENT = dt.datetime(2026, 3, 4, 9, 30, 0, 123456, tzinfo=dt.timezone(-dt.timedelta(hours=5)))


def test_schema_of_columns_have_the_types_of_the_model() -> None:
    schema = arrow.schema_of(models.Equity)
    assert schema.field("symbol").type == pa.string()
    assert schema.field("id").type == pa.int64()
    assert schema.field("is_etf").type == pa.bool_()
    assert schema.field("borrow_rate").type == pa.decimal128(38, 18)
    assert schema.field("halted_at").type == pa.timestamp("us", tz="UTC")
    assert schema.field("lendability").type == pa.string()
    assert schema.field("extra").type == pa.string()
    ticks = schema.field("tick_sizes").type.value_type
    assert ticks.field("threshold").type == pa.decimal128(38, 18)
    assert arrow.schema_of(models.EquityOption).field("expiration_date").type == pa.date32()
    product = arrow.schema_of(models.FutureOption).field("future_option_product").type
    assert product.field("cash_settled").type == pa.bool_()


@pytest.mark.parametrize(
    "model", [models.Equity, models.EquityOption, models.FutureOption, models.Order, models.ComplexOrder,
              models.Transaction, models.MarginRequirements, models.Dividend, models.Watchlist]
)  # fmt: skip
def test_table_of_every_model_has_all_columns(model: Any) -> None:
    table = arrow.table_of([model()], model)
    assert table.schema == arrow.schema_of(model)
    assert table.column_names == [field.name for field in attrs.fields(model)]
    assert all(value is None for value in table.to_pylist()[0].values())


def test_table_of_values_are_unchanged() -> None:
    equity = models.Equity(
        symbol="BRK/B",
        id=7,
        is_etf=False,
        borrow_rate=Decimal("0.10"),
        halted_at=MOMENT,
        lendability=models.Lendability("Something New"),
        tick_sizes=(
            models.TickSize(value=Decimal("0.01"), threshold=Decimal(1)),
            models.TickSize(value=Decimal("0.05")),
        ),
        extra={"new-field": [1, {"deep": None}], "é": "ü"},
    )
    row = arrow.table_of([equity], models.Equity).to_pylist()[0]
    assert row["symbol"] == "BRK/B"
    assert row["borrow_rate"] == Decimal("0.1")
    assert row["halted_at"] == MOMENT
    assert row["lendability"] == "Something New"
    assert [tick["value"] for tick in row["tick_sizes"]] == [Decimal("0.01"), Decimal("0.05")]
    assert row["tick_sizes"][1]["threshold"] is None
    assert json.loads(row["extra"]) == {"new-field": [1, {"deep": None}], "é": "ü"}
    assert row["description"] is None


def test_table_of_long_decimal_widens_its_column() -> None:
    small, large = Decimal("0." + "1" * 25), Decimal("9" * 25)
    items = [models.Dividend(amount=small), models.Dividend(amount=large), models.Dividend()]
    table = arrow.table_of(items, models.Dividend)
    assert table.schema.field("amount").type == pa.decimal256(76, 38)
    assert table.column("amount").to_pylist() == [small, large, None]

    nested = models.Equity(tick_sizes=(models.TickSize(value=small),))
    assert arrow.table_of([nested], models.Equity).to_pylist()[0]["tick_sizes"][0]["value"] == small

    both = arrow.joined([arrow.table_of([models.Dividend(amount=Decimal(1))], models.Dividend), table])
    assert both.column("amount").to_pylist() == [1, small, large, None]


def test_table_of_recursive_model_has_a_json_column() -> None:
    @attrs.frozen
    class Leaf:
        text: str | None = None

    table = arrow.table_of([models.MarginRequirements()], models.MarginRequirements)
    assert "groups" in table.column_names
    assert arrow._to_json(Leaf("x")) == '{"text": "x"}'


def test_to_arrow_values_stand_beside_their_key() -> None:
    found = {"AAPL": models.Equity(symbol="AAPL"), "brk/b": models.Equity(symbol="BRK/B")}
    table = BulkResult(found=found, model=models.Equity).to_arrow()
    assert table.column_names[:1] == ["key"]
    assert table.column("key").to_pylist() == ["AAPL", "brk/b"]
    assert table.column("symbol").to_pylist() == ["AAPL", "BRK/B"]


def test_to_arrow_list_values_give_a_row_per_item() -> None:
    found = {
        "A": [models.Dividend(amount=Decimal(1)), models.Dividend(amount=Decimal(2))],
        "B": [],
        "C": [models.Dividend()],
    }
    table = BulkResult(found=found, model=models.Dividend).to_arrow()
    assert table.column("key").to_pylist() == ["A", "A", "C"]
    assert table.column("amount").to_pylist() == [1, 2, None]


def test_to_arrow_nothing_found_keeps_the_columns() -> None:
    assert BulkResult(found={}, model=models.Dividend).to_arrow().schema == arrow.schema_of(models.Dividend, key=True)
    assert BulkResult(found={}).to_arrow().column_names == ["key"]
    assert BulkResult(found={"A": models.Dividend()}).to_arrow().num_rows == 1


async def test_to_arrow_of_a_pager_converts_page_by_page() -> None:
    operation = Operation(
        name="a.b", method="GET", path="/", effect=Effect.READ, shape=Shape.PAGE, result=models.Transaction
    )

    async def fetch(call: Any) -> Any:
        page = call.query["page-offset"]
        rows = [models.Transaction(id=f"{page}-{n}", value=Decimal("1.5")) for n in range(4 if page < 2 else 1)]
        return Decoded(rows, None, None)

    pager = OffsetPager(fetch, BoundCall(operation, query={"per-page": 4}))
    table = await pager.to_arrow()
    assert table.num_rows == 9
    assert table.schema == arrow.schema_of(models.Transaction)
    assert (await pager.to_arrow(max_items=5)).column("id").to_pylist() == ["0-0", "0-1", "0-2", "0-3", "1-0"]


def test_to_arrow_without_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "brokerage_async.arrow")
    with pytest.raises(ImportError, match=r"pip install .brokerage-async\[arrow\]"):
        BulkResult(found={}).to_arrow()
