"""`brokerage-async watch`: a table or lines of JSON, against a simulator in the same process or beside it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest
import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from brokerage_async.cli import watch as command
from brokerage_async.cli.commands import watch as signatures
from brokerage_async.cli.console import PlainConsole, complain
from brokerage_async.cli.service import Service
from brokerage_async.models import Fill, NewOrder, NewOrderLeg, NewQuoteAlert, Order, OrderLeg
from brokerage_async.simulator import Simulator
from brokerage_async.watch.diff import Change

SMALL: Any = {"equities": 50, "equity_options": 10, "chain_rows": 10}
LEG = NewOrderLeg(instrument_type="Equity", symbol="AAPL", action="Buy to Open", quantity=Decimal(5))
app = typer.Typer()
signatures.register(app)
ORDER = NewOrder(order_type="Market", time_in_force="Day", legs=(LEG,))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """Let commands connect to a simulator with a waiting order and an alert."""
    simulator = Simulator(**SMALL)

    @contextlib.asynccontextmanager
    async def connect(*, simulated: bool) -> AsyncIterator[Service]:
        assert not simulated
        async with simulator.client() as client:
            await client.orders.submit(simulator.account_numbers[0], ORDER)
            await client.quote_alerts.create(NewQuoteAlert(field="Last", operator=">", symbol="AAPL", threshold=9999))
            yield Service(client)

    monkeypatch.setattr(command, "connect", connect)
    return simulator


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["watch", *arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_orders_as_lines_of_json(service: Simulator) -> None:
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


def test_without_a_terminal_a_change_is_a_line(service: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERAGE_ACCOUNT", service.account_numbers[0])
    (line,) = run("orders", "--count", "1").splitlines()
    for shown in ("Buy to Open 5 AAPL", "added"):
        assert shown in line


def test_orders_as_a_table(service: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "out", Console(force_terminal=True, width=100))
    output = run("orders", "--account", service.account_numbers[0], "--count", "1")
    for shown in ("Orders", "Buy to Open 5 AAPL", "added"):
        assert shown in output


def test_positions_as_lines_of_json(service: Simulator) -> None:
    account = service.account_numbers[1]
    (line,) = run("positions", "--account", account, "--json", "--count", "1").splitlines()
    change = json.loads(line)
    assert (change["kind"], change["key"][0]) == ("added", account)
    assert change["after"]["quantity"]
    assert "mark" not in change["after"]


def test_positions_and_balances_of_several_accounts_as_tables(
    service: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = [part for number in service.account_numbers[1:] for part in ("--account", number)]
    for width in (80, 110):
        monkeypatch.setattr(command, "out", Console(force_terminal=True, width=width))
        output = run("positions", *accounts, "--marks", "--count", "1")
        for shown in ("Positions", service.account_numbers[1], "gain"):
            assert shown in output
        output = run("balances", *accounts, "--count", "2")
        for shown in ("Balances", *service.account_numbers[1:], "net liq", "equity BP"):
            assert shown in output
        assert max(map(cell_len, Text.from_ansi(output).plain.splitlines())) <= width


def test_denied_account_is_named_on_stderr_and_the_other_is_watched(service: Simulator) -> None:
    accounts = ["--account", service.foreign_account_number, "--account", service.account_numbers[0]]
    result = CliRunner().invoke(app, ["watch", "balances", *accounts, "--interval", "1", "--count", "2"])
    assert result.exit_code == 0, result.output
    assert "PermissionDeniedError: balances.list" in result.stderr
    assert service.account_numbers[0] in result.stdout


def test_alerts(service: Simulator) -> None:
    assert "Last > 9999" in run("alerts", "--count", "1")
    (line,) = run("alerts", "--count", "1", "--json").splitlines()
    assert json.loads(line)["kind"] == "created"


@pytest.mark.parametrize("collection", ["Equity", "CME"])
def test_market_begins_with_how_things_stand(service: Simulator, collection: str) -> None:
    assert run("market", collection, "--count", "1").split()[-1] in ("opened", "closed")
    (line,) = run("market", collection, "--json", "--count", "1").splitlines()
    assert json.loads(line)["kind"] in ("opened", "closed")


def test_failures_are_told_on_stderr(service: Simulator) -> None:
    service.faults.add("GET", "/orders/live", "status(403)")
    result = CliRunner().invoke(app, ["watch", "orders", "--account", "X"])
    assert result.exit_code == 1
    assert "PermissionDeniedError" in result.stderr


def test_a_poll_that_will_be_repeated_is_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    complain(ConnectionResetError("gone"))
    assert capsys.readouterr().err.strip() == "ConnectionResetError: gone"


def test_help() -> None:
    output = run("--help")
    for name in ("orders", "positions", "balances", "alerts", "market"):
        assert name in output


async def test_the_table_keeps_the_items_that_changed_last(service: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "out", Console(force_terminal=True, width=100))
    async with service.client() as client:
        for _ in range(40):
            await client.orders.submit(service.account_numbers[0], ORDER)
        board = command.Board("Orders", lambda order: {"order": order.id})
        with board.shown() as show:
            async with client.watch.orders("me", service.account_numbers, interval=3600) as changes:
                for _ in range(40):
                    show(await asyncio.wait_for(anext(changes), 5))
        assert board.table().row_count == command.ROWS


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


def drawn(width: int, *orders: Order) -> str:
    terminal = PlainConsole(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(command, "out", terminal)
        board = command.Board("Orders", command.order_row)
        with board.shown() as show:
            for order in orders:
                show(change(order))
        terminal.file.seek(0)  # type: ignore[attr-defined]
        terminal.file.truncate()  # type: ignore[attr-defined]
        terminal.print(board.table())
    return terminal.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [80, 110, 200])
def test_orders_are_readable_at_any_usual_width(width: int) -> None:
    output = drawn(width, SPREAD, SHARE)
    assert "…" not in output
    assert max(map(len, output.splitlines())) <= width
    for whole in ("400869569", "400869570", "Cancel Requested", "1.80 Debit", "150.25", "Buy to Open 10 AAPL"):
        assert whole in output
    assert "260612C00110000" in output
    assert "260612C00115000" in output
    assert "3.20" not in output


def test_columns_without_room_are_named() -> None:
    assert "No room for: change" in drawn(80, SPREAD)
    assert "No room for" not in drawn(200, SPREAD)
    assert "changed cancellable, editable, status" in drawn(200, SPREAD)
