"""`brokerage-async watch`: a table or lines of JSON, against a simulator in the same process or beside it."""

from __future__ import annotations

import asyncio
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from brokerage_async import Client
from brokerage_async.cli import screen
from brokerage_async.cli import watch as command
from brokerage_async.cli.console import complain
from brokerage_async.models import Fill, NewOrder, NewOrderLeg, NewQuoteAlert, Order, OrderLeg, Position
from brokerage_async.simulator import Simulator
from brokerage_async.watch.diff import Change

from .commands import SMALL, ConnectTo, invoke

LEG = NewOrderLeg(instrument_type="Equity", symbol="AAPL", action="Buy to Open", quantity=Decimal(5))
ORDER = NewOrder(order_type="Market", time_in_force="Day", legs=(LEG,))


@pytest.fixture
def service(connect_to: ConnectTo) -> Simulator:
    """Connect commands to a simulator with a waiting order and an alert."""
    simulator = Simulator(**SMALL)

    async def prepare(client: Client) -> None:
        await client.orders.submit(simulator.account_numbers[0], ORDER)
        await client.quote_alerts.create(NewQuoteAlert(field="Last", operator=">", symbol="AAPL", threshold=9999))

    connect_to(simulator.client, prepare)
    return simulator


def run(*arguments: str) -> str:
    return invoke("watch", *arguments).stdout


def test_watch_orders_json_is_a_line_for_each_change(service: Simulator) -> None:
    output = run("orders", "--account", service.account_numbers[0], "--json", "--count", "2", "--interval", "1")
    first, second = map(json.loads, output.splitlines())
    assert first["kind"] == "added"
    assert first["before"] is None
    assert first["after"]["legs"][0]["symbol"] == "AAPL"
    assert second["kind"] == "changed"
    assert second["key"] == first["key"]
    assert datetime.fromisoformat(second["at"]) >= datetime.fromisoformat(first["at"])
    assert "status" in second["fields"]
    assert second["before"] == first["after"]


def test_watch_orders_without_a_terminal_prints_lines(service: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERAGE_ACCOUNT", service.account_numbers[0])
    (line,) = run("orders", "--count", "1").splitlines()
    for shown in ("Buy to Open 5 AAPL", "added"):
        assert shown in line


def test_watch_orders_on_a_terminal_is_a_table(service: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "out", Console(force_terminal=True, width=100))
    output = run("orders", "--account", service.account_numbers[0], "--count", "1")
    for shown in ("Orders", "Buy to Open 5 AAPL", "added"):
        assert shown in output


def test_watch_positions_json_is_a_line_for_each_change(service: Simulator) -> None:
    account = service.account_numbers[1]
    (line,) = run("positions", "--account", account, "--json", "--count", "1").splitlines()
    change = json.loads(line)
    assert (change["kind"], change["key"][0]) == ("added", account)
    assert change["after"]["quantity"]
    assert "mark" not in change["after"]


def test_watch_several_accounts_are_tables_that_fit(service: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = [part for number in service.account_numbers[1:] for part in ("--account", number)]
    for width in (80, 110):
        monkeypatch.setattr(screen, "out", Console(force_terminal=True, width=width))
        output = run("positions", *accounts, "--marks", "--count", "1")
        for shown in ("Positions", service.account_numbers[1], "gain"):
            assert shown in output
        output = run("balances", *accounts, "--count", "2")
        for shown in ("Balances", *service.account_numbers[1:], "net liq", "equity BP"):
            assert shown in output
        assert max(map(cell_len, Text.from_ansi(output).plain.splitlines())) <= width


def test_watch_balances_denied_account_is_named_and_the_other_watched(service: Simulator) -> None:
    accounts = ["--account", service.foreign_account_number, "--account", service.account_numbers[0]]
    result = invoke("watch", "balances", *accounts, "--interval", "1", "--count", "2")
    assert "PermissionDeniedError: balances.list" in result.stderr
    assert service.account_numbers[0] in result.stdout


def test_watch_alerts_shows_their_conditions(service: Simulator) -> None:
    assert "Last > 9999" in run("alerts", "--count", "1")
    (line,) = run("alerts", "--count", "1", "--json").splitlines()
    assert json.loads(line)["kind"] == "created"


def test_watch_market_begins_with_the_present_state(service: Simulator) -> None:
    for collection in ("Equity", "CME"):
        assert run("market", collection, "--count", "1").split()[-1] in ("opened", "closed")
        (line,) = run("market", collection, "--json", "--count", "1").splitlines()
        assert json.loads(line)["kind"] in ("opened", "closed")


def test_watch_orders_failure_ends_it_with_a_message(service: Simulator) -> None:
    service.faults.add("GET", "/orders/live", "status(403)")
    assert "PermissionDeniedError" in invoke("watch", "orders", "--account", "X", code=1).stderr


def test_a_poll_that_will_be_repeated_is_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    complain(ConnectionResetError("gone"))
    assert capsys.readouterr().err.strip() == "ConnectionResetError: gone"


def test_help() -> None:
    output = run("--help")
    for name in ("orders", "positions", "balances", "alerts", "market"):
        assert name in output


async def test_board_keeps_the_items_that_changed_last(service: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "out", Console(force_terminal=True, width=100))
    async with service.client() as client:
        for _ in range(40):
            await client.orders.submit(service.account_numbers[0], ORDER)
        board = command.Board("Orders", lambda order: {"order": order.id})
        with board.shown() as show:
            async with client.watch.orders("me", service.account_numbers, interval=3600) as changes:
                for _ in range(40):
                    show(await asyncio.wait_for(anext(changes), 5))
        assert board.table(100).row_count == command.ROWS


SPREAD = Order(
    id="400869569", status="Cancel Requested", price=Decimal("1.85"), price_effect="Debit",
    legs=tuple(
        OrderLeg(action=action, quantity=Decimal(1), symbol=f"AAPL  260612C{strike}000",
                 fills=(Fill(quantity=Decimal(1), fill_price=Decimal(price)),))
        for action, strike, price in (("Buy to Open", "00110", "5.00"), ("Sell to Open", "00115", "3.20"))
    ),
)  # fmt: skip
SHARE = Order(
    id="400869570",
    status="Live",
    price=Decimal("150.25"),
    legs=(OrderLeg(action="Buy to Open", quantity=Decimal(10), symbol="AAPL"),),
)


def change(order: Order) -> Change[Order]:
    before = attrs.evolve(order, status="Received", updated_at=None, cancellable=True, editable=True)
    return Change(kind="changed", key=order.id, before=before, after=order, at=datetime(2026, 6, 1, tzinfo=UTC))


def drawn(width: int, board: command.Board, *changes: Change[Any]) -> str:
    terminal = screen.PlainConsole(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(screen, "out", terminal)
        with board.shown() as show:
            for change in changes:
                show(change)
        terminal.file.seek(0)  # type: ignore[attr-defined]
        terminal.file.truncate()  # type: ignore[attr-defined]
        terminal.print(board.table(width))
    return terminal.file.getvalue()  # type: ignore[attr-defined]


def drawn_orders(width: int, *orders: Order) -> str:
    return drawn(width, command.Board("Orders", command.order_cells), *map(change, orders))


def test_board_orders_are_readable_at_any_usual_width() -> None:
    order = ("400869569", "400869570", "Cancel Requested", "1.80 Debit", "150.25", "Buy to Open 10 AAPL")
    for width in (80, 110, 200):
        output = drawn_orders(width, SPREAD, SHARE)
        assert max(map(len, output.splitlines())) <= width
        assert [whole for whole in (*order, "260612C00110000", "260612C00115000") if whole not in output] == []
        assert [part for part in ("…", "3.20") if part in output] == []


def test_board_positions_with_marks_keep_numbers_whole() -> None:
    position = Position(
        account_number="5WT45811", symbol="AAPL  260612C00110000", quantity=Decimal(12), multiplier=Decimal(100),
        mark_price=Decimal("1234.55"), average_open_price=Decimal("1034.25"),
    )  # fmt: skip
    change = Change(kind="changed", key="x", before=position, after=position, at=datetime(2026, 6, 1, tzinfo=UTC))
    output = drawn(80, command.position_board(marks=True), change)
    for whole in ("AAPL  260612C00110000", "1,481,460.00", "240,360.00", "1234.55"):
        assert whole in output
    assert "No room for: change, at, opened at" in output


def test_board_columns_without_room_are_named() -> None:
    assert "No room for: change" in drawn_orders(80, SPREAD)
    assert "No room for" not in drawn_orders(200, SPREAD)
    assert "changed cancellable, editable, status" in drawn_orders(200, SPREAD)
