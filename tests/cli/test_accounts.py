"""`brokerage-async accounts | positions | balances` against a simulator in the same process."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from brokerage_async import tickets
from brokerage_async.cli import accounts as command
from brokerage_async.cli.accounts import balance_table, figures, position_row, realized
from brokerage_async.cli.app import app
from brokerage_async.cli.service import Service
from brokerage_async.models import AccountBalance, Position, PriceEffect, QuantityDirection
from brokerage_async.simulator import Simulator

SMALL: Any = {"equities": 50, "equity_options": 10, "chain_rows": 10}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """Let commands connect to a simulator with a position in its first account."""
    simulator = Simulator(**SMALL)

    @contextlib.asynccontextmanager
    async def connect(*, simulated: bool) -> AsyncIterator[Service]:
        assert not simulated
        async with simulator.client() as client:
            ticket = tickets.market(tickets.sell_to_open("AAPL", 5))
            await client.orders.submit(simulator.account_numbers[0], ticket)
            simulator.clock.advance(5)
            yield Service(client)

    monkeypatch.setattr(command, "connect", connect)
    monkeypatch.setenv("BROKERAGE_ACCOUNT", simulator.account_numbers[0])
    return simulator


def run(*arguments: str, width: int = 80) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": str(width)})


def printed(*arguments: str, width: int = 80) -> str:
    result = run(*arguments, width=width)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "--json" in arguments or max(map(len, result.stdout.splitlines())) <= width
    return result.stdout


def test_accounts(service: Simulator) -> None:
    output = printed("accounts")
    assert all(number in output for number in service.account_numbers)
    assert "owner" in output
    rows = json.loads(printed("accounts", "--json"))
    assert [row["account"]["account-number"] for row in rows] == list(service.account_numbers)


def test_positions(service: Simulator) -> None:
    output = printed("positions", width=110)
    (line,) = (line for line in output.splitlines() if "AAPL" in line)
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    assert cells[:3] == ["AAPL", "Equity", "-5"]
    assert cells[5].startswith("-")
    (row,) = json.loads(printed("positions", "--json"))
    assert (row["symbol"], row["quantity-direction"]) == ("AAPL", "Short")
    assert row["mark-price"]


def test_positions_of_an_empty_account(service: Simulator) -> None:
    assert (
        printed("positions", "--account", service.account_numbers[2])
        == f"{service.account_numbers[2]} has no positions.\n"
    )


def test_balances(service: Simulator) -> None:
    output = printed("balances")
    for shown in ("net liquidating value", "short equity value", "maintenance excess", "USD"):
        assert shown in output
    assert "long derivative value" not in output
    (row,) = json.loads(printed("balances", "--json"))
    assert row["account-number"] == service.account_numbers[0]


def test_positions_fit_a_narrow_terminal(service: Simulator) -> None:
    assert "No room for: " in printed("positions", width=50)


@pytest.mark.parametrize("name", ["accounts", "positions", "balances"])
def test_nothing_is_simulated_unasked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERAGE_BASE_URL", raising=False)
    result = run(name)
    assert result.exit_code == 1
    assert "BROKERAGE_BASE_URL: is required" in result.stderr
    assert result.stdout == ""


def test_simulated_results_say_so_on_stderr() -> None:
    result = run("balances", "--simulator", "--json")
    assert "SIMULATED" in result.stderr
    assert json.loads(result.stdout)


def test_real_service_needs_an_account(service: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERAGE_ACCOUNT")
    result = run("positions")
    assert result.exit_code == 1
    assert "pass --account, or set BROKERAGE_ACCOUNT" in result.stderr


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        (QuantityDirection.LONG, ("2", "300.00", "100.00")),
        (QuantityDirection.SHORT, ("-2", "-300.00", "-100.00")),
        (None, ("2", "300.00", "100.00")),
    ],
)
def test_position_row_value_and_gain_follow_the_direction(
    direction: QuantityDirection | None, expected: tuple[str, ...]
) -> None:
    position = Position(
        symbol="X", quantity=Decimal(2), quantity_direction=direction, mark_price=Decimal("1.5"),
        average_open_price=Decimal(1), multiplier=Decimal(100),
    )  # fmt: skip
    row = position_row(position)
    assert (row["quantity"], row["value"], row["gain"]) == expected


def test_position_row_without_figures_is_empty() -> None:
    assert set(position_row(Position()).values()) == {""}


def test_realized_loss_is_negative() -> None:
    loss = Position(realized_today=Decimal(3), realized_today_effect=PriceEffect.DEBIT)
    assert (realized(loss), realized(Position(realized_today=Decimal(3))), realized(Position())) == (-3, 3, None)


def test_figures_show_zero_only_where_it_matters_and_effects_beside_amounts() -> None:
    balance = AccountBalance(
        cash_balance=Decimal(0), pending_cash=Decimal("1.5"), pending_cash_effect=PriceEffect.DEBIT,
        long_equity_value=Decimal(0),
    )  # fmt: skip
    assert dict(figures(balance)) == {"cash balance": "0.00", "pending cash": "1.50 Debit", "updated at": ""}
    assert [column.header for column in balance_table(balance, "A1").columns] == ["figure", "USD"]
