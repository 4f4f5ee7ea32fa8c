"""Tables and frames as users ask for them: arguments, empty lists, missing packages."""

import sys
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from brokerage_async import arrow, models
from brokerage_async.bulk.fetch import BulkResult
from brokerage_async.errors import ConfigurationError
from brokerage_async.http.pager import OffsetPager
from brokerage_async.operation import BoundCall, Effect, Operation, Shape
from brokerage_async.protocol.decoding.codec import Decoded
from tests.tables import for_each

CONVERSIONS = {"arrow": arrow.to_arrow, "pandas": arrow.to_pandas, "polars": arrow.to_polars}
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
    """Three pages of transactions."""

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
    with pytest.raises(ConfigurationError, match=message):
        CONVERSIONS[extra](rows, **options)


def test_missing_package_names_the_extra(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = "pyarrow" if extra == "arrow" else extra
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=rf'{package} is missing: pip install "brokerage-async\[{extra}\]"'):
        CONVERSIONS[extra]([models.Dividend()])
    with pytest.raises(ConfigurationError, match=extra):
        getattr(BulkResult(found={}, model=models.Dividend), f"to_{extra}")()


async def test_pager_without_the_package_requests_nothing(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow" if extra == "arrow" else extra, None)
    pages = Pages()
    with pytest.raises(ConfigurationError, match=rf"brokerage-async\[{extra}\]"):
        await getattr(pages.pager(), f"to_{extra}")()
    assert pages.asked == 0


@for_each("decimals", ["exact", "string", "float"])
async def test_pager_gives_all_items_or_the_first_ones(extra: str, decimals: Any) -> None:
    one_and_a_half = {"exact": Decimal("1.5"), "string": "1.50", "float": 1.5}[decimals]
    table = await getattr(Pages().pager(), f"to_{extra}")(decimals=decimals)
    assert values(table, "value") == [one_and_a_half] * 9
    first = await getattr(Pages().pager(), f"to_{extra}")(max_items=5, decimals=decimals)
    assert values(first, "id") == ["0-0", "0-1", "0-2", "0-3", "1-0"]


async def test_pager_without_items_has_the_schema(extra: str) -> None:
    table = await getattr(Pages(pages=0).pager(), f"to_{extra}")()
    assert len(table) == 0
    assert columns(table) == columns(CONVERSIONS[extra]([], models.Transaction))


async def test_arrow_table_of_a_pager_widens_across_pages() -> None:
    long = Decimal("1e-30")

    async def fetch(call: Any) -> Any:
        page = call.query["page-offset"]
        return Decoded([models.Transaction(id=str(page), value=long if page else Decimal(1))], None, None)

    table = await OffsetPager(fetch, BoundCall(OPERATION, query={"per-page": 1})).to_arrow(max_items=2)
    assert table.column("value").to_pylist() == [1, long]


def test_bulk_values_stand_beside_their_key(extra: str) -> None:
    found = {"AAPL": models.Equity(symbol="AAPL"), "brk/b": models.Equity(symbol="BRK/B")}
    table = getattr(BulkResult(found=found, model=models.Equity), f"to_{extra}")()
    assert columns(table)[0] == "key"
    assert (values(table, "key"), values(table, "symbol")) == (["AAPL", "brk/b"], ["AAPL", "BRK/B"])


def test_bulk_lists_give_a_row_per_item(extra: str) -> None:
    found = {
        "A": [models.Dividend(amount=Decimal(1)), models.Dividend(amount=Decimal(2))],
        "B": [],
        "C": [models.Dividend()],
    }
    table = getattr(BulkResult(found=found, model=models.Dividend), f"to_{extra}")(decimals="string")
    assert values(table, "key") == ["A", "A", "C"]
    assert [value if isinstance(value, str) else None for value in values(table, "amount")] == ["1", "2", None]


def test_bulk_result_without_values_keeps_the_columns(extra: str) -> None:
    table = getattr(BulkResult(found={}, model=models.Dividend), f"to_{extra}")()
    assert columns(table) == ["key", "occurred_date", "amount", "extra"]
    with pytest.raises(ConfigurationError, match="model must be given"):
        getattr(BulkResult(found={}), f"to_{extra}")()
    assert len(getattr(BulkResult(found={"A": models.Dividend()}), f"to_{extra}")()) == 1
