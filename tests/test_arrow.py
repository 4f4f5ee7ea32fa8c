import datetime as dt
import json
import sys
from decimal import Decimal

import attrs
import pytest

from brokerage_async import models
from brokerage_async.bulk.fetch import BulkResult
from brokerage_async.http.pager import OffsetPager
from brokerage_async.operation import Effect, Operation, Shape
from brokerage_async.protocol.decoding.codec import Decoded

pa = pytest.importorskip("pyarrow")
frames = pytest.importorskip("brokerage_async.arrow")

MOMENT = dt.datetime(2026, 3, 4, 9, 30, 0, 123456, tzinfo=dt.timezone(-dt.timedelta(hours=5)))


def test_columns_are_typed_by_the_model():
    schema = frames.schema_of(models.Equity)
    assert schema.field("symbol").type == pa.string()
    assert schema.field("id").type == pa.int64()
    assert schema.field("is_etf").type == pa.bool_()
    assert schema.field("borrow_rate").type == pa.decimal128(38, 18)
    assert schema.field("halted_at").type == pa.timestamp("us", tz="UTC")
    assert schema.field("lendability").type == pa.string()
    assert schema.field("extra").type == pa.string()
    ticks = schema.field("tick_sizes").type.value_type
    assert ticks.field("threshold").type == pa.decimal128(38, 18)
    assert frames.schema_of(models.EquityOption).field("expiration_date").type == pa.date32()
    product = frames.schema_of(models.FutureOption).field("future_option_product").type
    assert product.field("cash_settled").type == pa.bool_()


@pytest.mark.parametrize(
    "model", [models.Equity, models.EquityOption, models.FutureOption, models.Order, models.ComplexOrder,
              models.Transaction, models.MarginRequirements, models.Dividend, models.Watchlist]
)  # fmt: skip
def test_every_model_has_a_table(model):
    table = frames.table_of([model()], model)
    assert table.schema == frames.schema_of(model)
    assert table.column_names == [field.name for field in attrs.fields(model)]
    assert all(value is None for value in table.to_pylist()[0].values())


def test_values_come_out_as_they_went_in():
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
    row = frames.table_of([equity], models.Equity).to_pylist()[0]
    assert row["symbol"] == "BRK/B"
    assert row["borrow_rate"] == Decimal("0.1")
    assert row["halted_at"] == MOMENT
    assert row["lendability"] == "Something New"
    assert [tick["value"] for tick in row["tick_sizes"]] == [Decimal("0.01"), Decimal("0.05")]
    assert row["tick_sizes"][1]["threshold"] is None
    assert json.loads(row["extra"]) == {"new-field": [1, {"deep": None}], "é": "ü"}
    assert row["description"] is None


def test_a_number_that_does_not_fit_widens_its_column_and_loses_no_digit():
    small, large = Decimal("0." + "1" * 25), Decimal("9" * 25)
    items = [models.Dividend(amount=small), models.Dividend(amount=large), models.Dividend()]
    table = frames.table_of(items, models.Dividend)
    assert table.schema.field("amount").type == pa.decimal256(76, 38)
    assert table.column("amount").to_pylist() == [small, large, None]

    nested = models.Equity(tick_sizes=(models.TickSize(value=small),))
    assert frames.table_of([nested], models.Equity).to_pylist()[0]["tick_sizes"][0]["value"] == small

    both = frames.joined([frames.table_of([models.Dividend(amount=Decimal(1))], models.Dividend), table])
    assert both.column("amount").to_pylist() == [1, small, large, None]


def test_a_model_inside_of_itself_becomes_text():
    @attrs.frozen
    class Leaf:
        text: str | None = None

    table = frames.table_of([models.MarginRequirements()], models.MarginRequirements)
    assert "groups" in table.column_names
    assert frames._json_text(Leaf("x")) == '{"text": "x"}'


def test_found_values_stand_beside_their_key():
    found = {"AAPL": models.Equity(symbol="AAPL"), "brk/b": models.Equity(symbol="BRK/B")}
    table = BulkResult(found=found, model=models.Equity).to_arrow()
    assert table.column_names[:1] == ["key"]
    assert table.column("key").to_pylist() == ["AAPL", "brk/b"]
    assert table.column("symbol").to_pylist() == ["AAPL", "BRK/B"]


def test_found_lists_are_a_row_for_each_item():
    found = {
        "A": [models.Dividend(amount=Decimal(1)), models.Dividend(amount=Decimal(2))],
        "B": [],
        "C": [models.Dividend()],
    }
    table = BulkResult(found=found, model=models.Dividend).to_arrow()
    assert table.column("key").to_pylist() == ["A", "A", "C"]
    assert table.column("amount").to_pylist() == [1, 2, None]


def test_nothing_found_has_the_same_columns():
    assert BulkResult(found={}, model=models.Dividend).to_arrow().schema == frames.schema_of(models.Dividend, key=True)
    assert BulkResult(found={}).to_arrow().column_names == ["key"]
    assert BulkResult(found={"A": models.Dividend()}).to_arrow().num_rows == 1


async def test_a_pager_becomes_a_table_page_by_page():
    operation = Operation(
        name="a.b", method="GET", path="/", effect=Effect.READ, shape=Shape.PAGE, result=models.Transaction
    )

    async def fetch(operation, *, path=None, query=None, body=None):
        page = query["page-offset"]
        rows = [models.Transaction(id=f"{page}-{n}", value=Decimal("1.5")) for n in range(4 if page < 2 else 1)]
        return Decoded(rows, None, None)

    pager = OffsetPager(fetch, operation, None, {"per-page": 4})
    table = await pager.to_arrow()
    assert table.num_rows == 9
    assert table.schema == frames.schema_of(models.Transaction)
    assert (await pager.to_arrow(max_items=5)).column("id").to_pylist() == ["0-0", "0-1", "0-2", "0-3", "1-0"]


def test_without_pyarrow_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "brokerage_async.arrow")
    with pytest.raises(ImportError, match=r"pip install .brokerage-async\[frames\]"):
        BulkResult(found={}).to_arrow()
