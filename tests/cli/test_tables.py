"""Output: tables that fit a width, orders and outcomes, and nothing that a terminal would obey."""

import io
import itertools
import json
import logging
import sys
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import AsyncMock

import attrs
import pytest
import typer
from rich.console import Console
from rich.table import Table

from brokerage_async import models
from brokerage_async.cli import console, screen, tables
from brokerage_async.cli.tables import PlainFormatter, moment, money, plain, printable, printable_json, raw, table_of
from brokerage_async.errors import NotFoundError, ServerError
from brokerage_async.order_entry import ChangeOutcome, Outcome
from brokerage_async.order_entry.results import OrderChange, Placement
from brokerage_async.tickets import buy_to_open, limit, market, notional, stop_limit
from tests.tables import for_each, lacks

from .conftest import printed

AT = datetime(2026, 3, 2, 15, 30, tzinfo=UTC)


def leg(quantity: Any = Decimal(10), remaining: Any = Decimal(4)) -> models.OrderLeg:
    return models.OrderLeg(action="Buy to Open", symbol="AAPL", quantity=quantity, remaining_quantity=remaining)


def filled_leg(action: str, *fills: tuple[str, str]) -> models.OrderLeg:
    quantity = sum(Decimal(each) for each, _ in fills) or Decimal(1)
    made = [models.Fill(quantity=Decimal(each), fill_price=Decimal(price)) for each, price in fills]
    return models.OrderLeg(action=action, symbol="X", quantity=quantity, fills=made)


def test_filled_is_that_of_the_first_leg_that_knows() -> None:
    unknown: list[Any] = [(leg(quantity=None),), (), None]
    legs: list[Any] = [(leg(),), (leg(remaining=None), leg(Decimal(2), Decimal(2))), *unknown]
    assert [tables.filled(models.Order(legs=each)) for each in legs] == ["6/10", "0/2", "", "", ""]


def test_price_of_is_the_net_price_of_the_fills_or_the_limit() -> None:
    buy, sell = "Buy to Open", "Sell to Open"
    table: list[tuple[tuple[models.OrderLeg, ...], str]] = [
        ((), "1.50"),
        ((filled_leg(buy, ("10", "2.00")),), "2.00"),
        ((filled_leg("Sell to Close", ("5", "2.00"), ("5", "2.01")),), "2.005"),
        ((filled_leg(buy, ("1", "1"), ("2", "2")),), "1.6667"),
        ((filled_leg(buy, ("1", "5.00")), filled_leg(sell, ("1", "3.15"))), "1.85 Debit"),
        ((filled_leg(sell, ("2", "5.00")), filled_leg(buy, ("4", "1.20"))), "2.60 Credit"),
        ((filled_leg(buy, ("1", "1.00")), filled_leg(sell, ("1", "1.00"))), "0.00"),
        ((filled_leg("Buy", ("0.5", "4")), filled_leg("Sell", ("1.5", "1"))), "1 Debit"),
        ((filled_leg(buy, ("1", "5.00")), filled_leg(sell)), "1.50 Credit"),
    ]
    order = models.Order(price=Decimal("1.50"), price_effect=models.PriceEffect.CREDIT)
    assert [(legs, tables.price_of(attrs.evolve(order, legs=legs))) for legs, _ in table] == table
    assert tables.price_of(models.Order(legs=(leg(),))) == ""


def test_ticket_and_messages_are_one_line_each() -> None:
    share = buy_to_open("AAPL", 1)
    table = {
        "1 AAPL; Market, Day": market(share),
        "1 AAPL; Limit at 1.50 Debit, Day": limit(share, price="1.50"),
        "1 AAPL; Stop Limit at 3 Debit when it trades at 2, until 2026-03-02": (
            stop_limit(share, trigger=2, price=3, until=AT.date())
        ),
        "AAPL; Notional Market for 50 Debit, Day": notional(buy_to_open("AAPL"), value=50),
    }
    lines = [tables.ticket_line("A1", order, order.legs) for order in table.values()]
    assert lines == [f"A1: Buy to Open {expected}" for expected in table]
    found = (models.PreflightMessage(code="c", message="no"), models.PreflightMessage(code="d"))
    assert tables.messages("warning", found) == ["warning: no (c)", "warning: d (d)"]
    assert tables.messages("error", None) == []


def column(table: Table, heading: str) -> list[object]:
    return next(list(each.cells) for each in table.columns if each.header == heading)


def placed(**fields: Any) -> Placement:
    return Placement(outcome=Outcome.PLACED, account_number="A1", external_identifier="x", **fields)


FILLS = (models.Fill(quantity=Decimal(4), fill_price=Decimal("10.05")), models.Fill(quantity=Decimal(6)))


def order_of(status: str, *fills: models.Fill) -> models.Order:
    return models.Order(id="7", status=models.OrderStatus(status), legs=(models.OrderLeg(symbol="AAPL", fills=fills),))


def test_json_of_placements_and_changes_is_whole() -> None:
    found = tables.placement_json(placed(order=models.Order(id="7"), body=b'{"a":1}', opened_at=AT))
    assert (found["outcome"], found["order"], found["body"]) == ("placed", {"id": "7"}, {"a": 1})
    assert found["opened-at"] == AT.isoformat()
    placement = placed(order_id="9", complex_order=models.ComplexOrder(id="9"))
    found = tables.placement_json(placement)
    assert (found["order"], found["complex-order"]) == (None, {"id": "9"})
    assert column(tables.placement_table([placement]), "order") == ["9"]
    lost = OrderChange(outcome=ChangeOutcome.UNKNOWN, order=None, error=ServerError("no"))
    assert tables.change_json(lost) == {"outcome": "unknown", "order": None, "fills": [], "error": "no"}
    filled = OrderChange(outcome=ChangeOutcome.FILLED, order=order_of("Filled", *FILLS))
    assert tables.change_json(filled)["fills"] == [raw(fill) for fill in FILLS]


@for_each(
    "outcome, order, expected",
    [
        ("applied", order_of("Cancelled"), ["applied"]),
        ("applied", order_of("Cancelled", *FILLS), ["applied", "filled: 4 at 10.05, 6"]),
        ("filled", order_of("Filled", *FILLS), ["filled: order 7 was filled first", "filled: 4 at 10.05, 6"]),
        ("refused", order_of("Filled", *FILLS), ["refused: no", "filled: 4 at 10.05, 6"]),
        ("refused", order_of("Routed"), ["refused: no", "order 7 is Routed: it still works"]),
        ("unknown", None, ["unknown: no"]),
    ],
)
def test_change_lines_say_what_became_of_the_order(
    outcome: str, order: models.Order | None, expected: list[str]
) -> None:
    error = ServerError("no") if outcome in ("refused", "unknown") else None
    change = OrderChange(outcome=ChangeOutcome(outcome), order=order, order_id="7", error=error)
    assert tables.change_lines(change) == expected


def test_order_table_of_any_width_is_drawn_and_names_the_columns_it_omits() -> None:
    order = models.Order(
        id="400869569", status=models.OrderStatus.CANCEL_REQUESTED, external_identifier=str(uuid.UUID(int=0)),
        received_at=AT, order_type=models.OrderType.LIMIT, price=Decimal("1.00"), legs=(leg(),),
    )  # fmt: skip

    everything = headings(tables.order_table([order], None))
    assert len(everything) == 8
    assert headings(tables.order_table([order], 200)) == everything
    assert headings(tables.order_table([order], 80)) == ["id", "status", "what", "type", "price", "filled"]
    assert "external identifier, received (UTC). --json" in str(tables.order_table([order], 80).caption)
    assert headings(tables.order_table([order], 1)) == ["id", "status", "what", "price"]
    orders = [models.Order(stop_trigger=Decimal("180.5")), models.Order(price=Decimal(1), stop_trigger=Decimal(2))]
    assert column(tables.order_table(orders), "price") == ["180.5", "1"]
    for width in (1, 5, 20, 80):
        assert printed(tables.order_table([models.Order(id="7"), models.Order()], width), width)


def test_preview_table_shows_known_figures_only() -> None:
    effect = models.BuyingPowerEffect(
        change_in_buying_power=Decimal("1234.5"), change_in_buying_power_effect=models.PriceEffect.DEBIT
    )
    found = printed(tables.preview_table(models.PlacedOrderResponse(buying_power_effect=effect)))
    assert lacks(found, "1,234.5", "Debit") == []
    assert "fees" not in found


HEADINGS = ("id", "first", "second", "words")
LAYOUT: Any = {"numbers": ("id",), "folded": ("words",), "dispensable": (("first", "second"),)}
ROWS = [{"id": "12,345.67", "first": "a" * 10, "second": "b" * 10, "words": "long " * 20}]


def lines(width: int) -> list[str]:
    return printed(table_of(ROWS, "Things", width=width, **LAYOUT), width).splitlines()


def headings(table: Table) -> list[object]:
    return [column.header for column in table.columns]


def test_table_of_columns_are_omitted_together_or_the_last_first_and_named() -> None:
    for width in (None, 70):
        assert headings(table_of(ROWS, "Things", width=width, **LAYOUT)) == [*HEADINGS]
    assert headings(table_of([], "Things", headings=HEADINGS, width=80, **LAYOUT)) == [*HEADINGS]
    narrow = table_of(ROWS, "Things", width=50, **LAYOUT)
    assert headings(narrow) == ["id", "words"]
    assert narrow.caption == "No room for: first, second. --json shows all."
    prices = [{"symbol": "AAPL", "bid": "200.01", "ask": "200.05"}, {"symbol": "SPY", "size": "1,000"}]
    for width, shown in ((80, 4), (30, 3), (20, 2)):
        table = table_of(prices, "Prices", width=width, numbers=("bid", "ask", "size"), whole=("symbol",))
        assert headings(table) == ["symbol", "bid", "ask", "size"][:shown]


def test_table_of_long_cells_are_folded_and_numbers_stay_on_one_line_or_are_marked() -> None:
    for width in (40, 60, 80, 110):
        shown = lines(width)
        assert max(map(len, shown)) <= width
        assert sum(line.count("long") for line in shown) == 20
    assert "12,345.67" in "".join(lines(20))
    assert "12,345…" in "".join(lines(12))


def test_values_of_cells_lose_no_digit() -> None:
    table = {None: "", Decimal("1E+3"): "1000", Decimal("0.10"): "0.10", Decimal("1E-7"): "0.0000001"}
    assert {amount: plain(amount) for amount in table} == table
    assert (moment(AT), moment(None)) == (f"{AT.astimezone():%Y-%m-%d %H:%M:%S}", "")
    assert raw(None) is None
    assert raw([models.Position(symbol="AAPL", quantity=Decimal(5))]) == [{"symbol": "AAPL", "quantity": "5"}]
    table = {
        None: "", Decimal(1234567): "1,234,567.00", Decimal("-0.5"): "-0.50", Decimal("1E+3"): "1,000.00",
        Decimal("0.1234"): "0.1234",
    }  # fmt: skip
    assert {amount: money(amount) for amount in table} == table
    assert (money(Decimal(1), "Debit"), money(None, "Debit")) == ("1.00 Debit", "")


def test_run_errors_are_one_message_and_exit_code_1_and_others_pass(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = NotFoundError("no such order [bold]", operation="orders.cancel")
    denied = PermissionError(13, "Permission denied", "/orders.journal")
    for error, said in (
        (unknown, "NotFoundError: orders.cancel: no such order [bold]\n"),
        (denied, "PermissionError: [Errno 13] Permission denied: '/orders.journal'\n"),
    ):
        with pytest.raises(typer.Exit) as caught:
            console.run(AsyncMock(side_effect=error)())
        assert (caught.value.exit_code, capsys.readouterr().err) == (1, said)
    for other in (BrokenPipeError, ZeroDivisionError):  # a reader who has had enough, and a bug
        with pytest.raises(other):
            console.run(AsyncMock(side_effect=other)())
        assert capsys.readouterr().err == ""
    console.complain(NotFoundError("word " * 100))
    assert capsys.readouterr().err.count("\n") == 1


def test_show_is_as_wide_as_columns_says_or_cuts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("heading")
    table.add_row("word " * 60)
    monkeypatch.delenv("COLUMNS", raising=False)
    console.show(table)
    assert ("word " * 60).strip() in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(screen, "out", Console())
    assert console.width() == 40
    console.show(table)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


def test_echo_json_fits_any_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, expected in (("utf-8", '"\u2603\U0001f600"\n'), ("latin-1", '"\\u2603\\ud83d\\ude00"\n')):
        stdout = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr("sys.stdout", stdout)
        console.echo_json("\u2603\U0001f600")
        stdout.seek(0)
        text = stdout.read()
        assert text == expected
        assert json.loads(text) == "\u2603\U0001f600"


def test_plain_console_prints_strings_and_tables_without_control_sequences() -> None:
    style_codes = ("\x1b[3m", "\x1b[1m", "\x1b[2;3m", "\x1b[2m", "\x1b[0m")  # the table's own styles
    for hostile in ("\x1b[2J", "\x9b31m", "\u202eab", "\x1b]8;;x\x07"):
        table = Table(hostile, title=hostile, caption=hostile)
        table.add_row(hostile)
        for thing, terminal in itertools.product((hostile, table), (False, True)):
            output = printed(thing, 200, terminal=terminal)
            assert printable(hostile) in output
            for code in style_codes:
                output = output.replace(code, "")
            assert printable(output) == output


def test_plain_console_takes_nothing_for_markup() -> None:
    table = Table("[b]heading[/b]", title="[red]title[/red]")
    table.add_row("[link=http://example.com]AAPL[/link] :smile:")
    output = printed(table, 200, terminal=True) + printed("[bold]x[/bold]", terminal=True)
    for literal in ("[b]heading[/b]", "[red]title[/red]", "[link=http://example.com]AAPL[/link] :smile:", "[bold]x"):
        assert literal in output


HOSTILE = {
    "\x1b[2J": "\\x1b[2J",
    "\x1b]8;;http://example.com\x1b\\AAPL\x1b]8;;\x1b\\": "\\x1b]8;;http://example.com\\x1b\\AAPL\\x1b]8;;\\x1b\\",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "\x9b31m": "\\x9b31m",
    "a\rb\x08\x7f\x0b\x0c": "a\\rb\\x08\\x7f\\x0b\\x0c",
    "\x00": "\\x00",
    "\u202e0001\u202c \u2066x\u2069": "\\u202e0001\\u202c \\u2066x\\u2069",
    "a\u200bb\u2028c\u2029\ufeff": "a\\u200bb\\u2028c\\u2029\\ufeff",
    "\U000e0041": "\\U000e0041",
    "\ud800": "\\ud800",
}
HARMLESS = ["AAPL  260612C00110000", "naïve €5 ☃ 日本 😀", "a\nb\tc", "\u00a0", "[red]x[/red]", ":smile:"]


def test_printable_writes_out_what_a_terminal_would_obey_and_nothing_else() -> None:
    expected = HOSTILE | {harmless: harmless for harmless in HARMLESS}
    assert {value: printable(value) for value in expected} == expected
    assert {value: printable(f"☃ {value}")[2:] for value in expected} == expected
    shown = {*printable("".join(map(chr, range(sys.maxunicode + 1))))}
    assert [hex(ord(each)) for each in shown if not (each.isprintable() or each.isspace())] == []
    assert [hex(ord(each)) for each in shown if each == "\x1b" or "\x7f" <= each <= "\x9f"] == []


def test_printable_json_is_the_same_json_and_log_records_are_printable() -> None:
    for value in (*HOSTILE, *HARMLESS):
        written = printable_json(json.dumps({"key": [value]}, ensure_ascii=False, indent=2))
        assert json.loads(written) == {"key": [value]}
        assert printable(written) == written
    record = logging.LogRecord("x", logging.WARNING, "", 1, "status %s", ("\x1b[31m",), None)
    assert PlainFormatter("%(name)s %(message)s").format(record) == "x status \\x1b[31m"
