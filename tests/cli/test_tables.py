"""Tables that fit a width, and values as cells."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from rich.console import Console

from brokerage_async import models
from brokerage_async.cli.tables import Layout, moment, money, plain, raw, table_of

LAYOUT = Layout(
    title="Things",
    headings=("id", "first", "second", "words"),
    right=frozenset({"id"}),
    unbroken=frozenset({"id"}),
    folded=frozenset({"words"}),
    dispensable=(("first", "second"),),
)
ROWS = [{"id": "1", "first": "a" * 10, "second": "b" * 10, "words": "long " * 20}]


def lines(width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(table_of(ROWS, LAYOUT, width))
    return capture.get().splitlines()


def test_columns_that_go_together_are_omitted_together_and_named() -> None:
    assert [column.header for column in table_of(ROWS, LAYOUT).columns] == ["id", "first", "second", "words"]
    assert [column.header for column in table_of(ROWS, LAYOUT, 60).columns] == ["id", "first", "second", "words"]
    narrow = table_of(ROWS, LAYOUT, 50)
    assert [column.header for column in narrow.columns] == ["id", "words"]
    assert narrow.caption == "No room for: first, second. --json shows all."


@pytest.mark.parametrize("width", [40, 60, 80, 110])
def test_long_cells_are_folded_into_the_room_that_is_left(width: int) -> None:
    shown = lines(width)
    assert max(map(len, shown)) <= width
    assert sum(line.count("long") for line in shown) == 20


def test_table_without_rows_has_its_headings() -> None:
    assert [column.header for column in table_of([], LAYOUT, 80).columns] == list(LAYOUT.headings)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(None, ""), (Decimal("1E+3"), "1000"), (Decimal("0.10"), "0.10"), (Decimal("1E-7"), "0.0000001")],
    ids=str,
)
def test_plain_has_no_exponent(amount: Decimal | None, expected: str) -> None:
    assert plain(amount) == expected


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (None, ""), (Decimal(1234567), "1,234,567.00"), (Decimal("-0.5"), "-0.50"), (Decimal("1E+3"), "1,000.00"),
        (Decimal("0.1234"), "0.1234"),
    ],
    ids=str,
)  # fmt: skip
def test_money_has_at_least_cents_and_loses_no_digit(amount: Decimal | None, expected: str) -> None:
    assert money(amount) == expected


def test_moment_is_in_local_time() -> None:
    at = datetime(2026, 3, 2, 15, 30, tzinfo=UTC)
    assert (moment(at), moment(None)) == (f"{at.astimezone():%Y-%m-%d %H:%M:%S}", "")


def test_raw_writes_models_in_the_form_of_the_wire() -> None:
    assert raw(None) is None
    assert raw([models.Position(symbol="AAPL", quantity=Decimal(5))]) == [{"symbol": "AAPL", "quantity": "5"}]
