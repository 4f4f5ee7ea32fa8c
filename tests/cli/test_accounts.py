"""`brokerage-async accounts | positions | balances` against a simulator in the same process."""

from decimal import Decimal

import pytest

from brokerage_async import Client, tickets
from brokerage_async.cli.accounts import figures, position_row
from brokerage_async.models import AccountBalance, Position, PriceEffect, QuantityDirection
from brokerage_async.simulator import Simulator

from .commands import SMALL, ConnectTo, cells, invoke, lacks, parsed


@pytest.fixture
def service(connect_to: ConnectTo, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """Connect commands to a simulator with a position in its first account."""
    simulator = Simulator(**SMALL)

    async def sell(client: Client) -> None:
        await client.orders.submit(simulator.account_numbers[0], tickets.market(tickets.sell_to_open("AAPL", 5)))
        simulator.clock.advance(5)

    connect_to(simulator.client, sell)
    monkeypatch.setenv("BROKERAGE_ACCOUNT", simulator.account_numbers[0])
    return simulator


def test_accounts_lists_every_account(service: Simulator) -> None:
    output = invoke("accounts").stdout
    assert lacks(output, *service.account_numbers, "owner") == []
    assert [row["account"]["account-number"] for row in parsed("accounts")] == list(service.account_numbers)


def test_positions_short_one_is_negative(service: Simulator) -> None:
    (line,) = (line for line in invoke("positions", width=110).stdout.splitlines() if "AAPL" in line)
    assert cells(line)[:3] == ["AAPL", "Equity", "-5"]
    assert cells(line)[5].startswith("-")
    (row,) = parsed("positions")
    assert (row["symbol"], row["quantity-direction"]) == ("AAPL", "Short")
    assert row["mark-price"]


def test_positions_empty_account_says_so(service: Simulator) -> None:
    account = service.account_numbers[2]
    assert invoke("positions", "--account", account).stdout == f"{account} has no positions.\n"


def test_positions_narrow_terminal_omits_columns(service: Simulator) -> None:
    assert "No room for: " in invoke("positions", width=50).stdout


def test_balances_shows_figures_that_matter(service: Simulator) -> None:
    output = invoke("balances").stdout
    assert lacks(output, "net liquidating value", "short equity value", "maintenance excess", "USD") == []
    assert "long derivative value" not in output
    (row,) = parsed("balances")
    assert row["account-number"] == service.account_numbers[0]


def test_position_row_value_and_gain_follow_the_direction() -> None:
    rows = {}
    for direction in (QuantityDirection.LONG, QuantityDirection.SHORT, None):
        position = Position(
            symbol="X", quantity=Decimal(2), quantity_direction=direction, mark_price=Decimal("1.5"),
            average_open_price=Decimal(1), multiplier=Decimal(100),
        )  # fmt: skip
        row = position_row(position)
        rows[direction] = (row["quantity"], row["value"], row["gain"])
    long, short = ("2", "300.00", "100.00"), ("-2", "-300.00", "-100.00")
    assert rows == {QuantityDirection.LONG: long, QuantityDirection.SHORT: short, None: long}


def test_position_row_realized_loss_is_negative_and_nothing_is_empty() -> None:
    assert set(position_row(Position()).values()) == {""}
    assert position_row(Position(realized_today=Decimal(3)))["today"] == "3.00"
    loss = Position(realized_today=Decimal(3), realized_today_effect=PriceEffect.DEBIT)
    assert position_row(loss)["today"] == "-3.00"


def test_figures_show_zero_only_where_it_matters_and_effects_beside_amounts() -> None:
    balance = AccountBalance(
        cash_balance=Decimal(0), pending_cash=Decimal("1.5"), pending_cash_effect=PriceEffect.DEBIT,
        long_equity_value=Decimal(0),
    )  # fmt: skip
    assert dict(figures(balance)) == {"cash balance": "0.00", "pending cash": "1.50 Debit", "updated at": ""}
