"""Tables that fit a width, and values as cells."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.table import Table

from brokerage_async import models
from brokerage_async.cli.tables import moment, money, plain, raw, table_of

HEADINGS = ("id", "first", "second", "words")
LAYOUT: Any = {"numbers": ("id",), "folded": ("words",), "dispensable": (("first", "second"),)}
ROWS = [{"id": "12,345.67", "first": "a" * 10, "second": "b" * 10, "words": "long " * 20}]


def lines(width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(table_of(ROWS, "Things", width=width, **LAYOUT))
    return capture.get().splitlines()


def headings(table: Table) -> list[object]:
    return [column.header for column in table.columns]


def test_table_of_columns_that_go_together_are_omitted_together_and_named() -> None:
    for width in (None, 70):
        assert headings(table_of(ROWS, "Things", width=width, **LAYOUT)) == [*HEADINGS]
    narrow = table_of(ROWS, "Things", width=50, **LAYOUT)
    assert headings(narrow) == ["id", "words"]
    assert narrow.caption == "No room for: first, second. --json shows all."


def test_table_of_long_cells_are_folded_into_the_room_that_is_left() -> None:
    for width in (40, 60, 80, 110):
        shown = lines(width)
        assert max(map(len, shown)) <= width
        assert sum(line.count("long") for line in shown) == 20


def test_table_of_narrow_terminal_keeps_numbers_on_one_line_or_marks_them() -> None:
    assert "12,345.67" in "".join(lines(20))
    assert "12,345…" in "".join(lines(12))


def test_table_of_numbers_without_room_are_omitted_not_cut_the_last_first() -> None:
    prices = [{"symbol": "AAPL", "bid": "200.01", "ask": "200.05"}, {"symbol": "SPY", "size": "1,000"}]
    for width, shown in (
        (80, ["symbol", "bid", "ask", "size"]),
        (30, ["symbol", "bid", "ask"]),
        (20, ["symbol", "bid"]),
    ):
        table = table_of(prices, "Prices", width=width, numbers=("bid", "ask", "size"), whole=("symbol",))
        assert headings(table) == shown


def test_table_of_no_rows_has_its_headings() -> None:
    assert headings(table_of([], "Things", headings=HEADINGS, width=80, **LAYOUT)) == [*HEADINGS]


def test_plain_has_no_exponent() -> None:
    table = {None: "", Decimal("1E+3"): "1000", Decimal("0.10"): "0.10", Decimal("1E-7"): "0.0000001"}
    assert {amount: plain(amount) for amount in table} == table


def test_money_has_at_least_cents_and_loses_no_digit() -> None:
    table = {
        None: "", Decimal(1234567): "1,234,567.00", Decimal("-0.5"): "-0.50", Decimal("1E+3"): "1,000.00",
        Decimal("0.1234"): "0.1234",
    }  # fmt: skip
    assert {amount: money(amount) for amount in table} == table
    assert (money(Decimal(1), "Debit"), money(None, "Debit")) == ("1.00 Debit", "")


def test_moment_is_in_local_time() -> None:
    at = datetime(2026, 3, 2, 15, 30, tzinfo=UTC)
    assert (moment(at), moment(None)) == (f"{at.astimezone():%Y-%m-%d %H:%M:%S}", "")


def test_raw_writes_models_in_the_form_of_the_wire() -> None:
    assert raw(None) is None
    assert raw([models.Position(symbol="AAPL", quantity=Decimal(5))]) == [{"symbol": "AAPL", "quantity": "5"}]
