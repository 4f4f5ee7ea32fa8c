"""Account commands: the accounts of a customer, and the positions and balances of one account."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import attrs
from rich.table import Table

from ..models import AccountBalance, CustomerAccount, Position, QuantityDirection
from .console import columns, echo_json, say, show
from .service import connect
from .tables import Layout, Row, moment, money, plain, raw, table_of

__all__ = [
    "Reading",
    "balance_table",
    "list_accounts",
    "position_row",
    "show_balances",
    "show_positions",
    "signed_quantity",
]

ACCOUNTS = Layout(
    title="Accounts",
    headings=("account", "nickname", "type", "margin or cash", "authority", "opened", "closed"),
    dispensable=("opened", "margin or cash"),
)
POSITIONS = Layout(
    title="Positions",
    headings=("symbol", "type", "quantity", "opened at", "mark", "value", "gain", "today"),
    right=frozenset({"quantity", "opened at", "mark", "value", "gain", "today"}),
    unbroken=frozenset({"symbol"}),
    dispensable=("type", "today", "opened at"),
)
FIGURES = (
    "net_liquidating_value", "cash_balance", "available_trading_funds", "equity_buying_power",
    "derivative_buying_power", "day_trading_buying_power", "cash_available_to_withdraw", "margin_equity",
    "maintenance_requirement", "maintenance_excess",
)  # fmt: skip
"""Figures of a balance that are always shown, as far as the service has them."""
OCCASIONAL = (
    "pending_cash", "long_equity_value", "short_equity_value", "long_derivative_value", "short_derivative_value",
    "long_futures_value", "short_futures_value", "long_futures_derivative_value", "short_futures_derivative_value",
    "long_cryptocurrency_value", "futures_margin_requirement", "maintenance_call_value", "reg_t_call_value",
    "day_trading_call_value", "day_equity_call_value",
)  # fmt: skip
"""Figures that are shown unless they are 0."""


@attrs.frozen(kw_only=True)
class Reading:
    """Options that the commands share."""

    account: str | None = None
    as_json: bool = False
    simulated: bool = False


async def list_accounts(reading: Reading, customer: str) -> None:
    """Show the accounts of a customer."""
    async with connect(simulated=reading.simulated) as service:
        found = await service.client.accounts.list(customer)
    if reading.as_json:
        echo_json(raw(found))
    else:
        show(table_of(map(account_row, found), ACCOUNTS, columns()))


async def show_positions(reading: Reading, *, closed: bool) -> None:
    """Show the positions of an account with their marks."""
    async with connect(simulated=reading.simulated) as service:
        account = service.account(reading.account)
        found = await service.client.positions.list(
            account, include_marks=True, include_closed_positions=True if closed else None
        )
    if reading.as_json:
        echo_json(raw(found))
    elif found:
        layout = attrs.evolve(POSITIONS, title=f"Positions of {account}")
        show(table_of(map(position_row, found), layout, columns()))
    else:
        say(f"{account} has no positions.")


async def show_balances(reading: Reading) -> None:
    """Show the balances of an account, one table for each currency."""
    async with connect(simulated=reading.simulated) as service:
        account = service.account(reading.account)
        found = await service.client.balances.list(account)
    if reading.as_json:
        echo_json(raw(found))
        return
    for balance in found:
        show(balance_table(balance, account))


def account_row(owned: CustomerAccount) -> Row:
    """Return the cells of an account."""
    account = owned.account
    return {
        "account": (account and account.account_number) or "",
        "nickname": (account and account.nickname) or "",
        "type": (account and account.account_type_name) or "",
        "margin or cash": (account and account.margin_or_cash) or "",
        "authority": str(owned.authority_level or ""),
        "opened": f"{account.opened_at:%Y-%m-%d}" if account and account.opened_at else "",
        "closed": "closed" if account and account.is_closed else "",
    }


def position_row(position: Position) -> Row:
    """Return the cells of a position; short quantities and values are negative."""
    quantity = signed_quantity(position)
    mark, multiplier = position.mark_price, position.multiplier or Decimal(1)
    value = None if quantity is None or mark is None else quantity * mark * multiplier
    paid = position.average_open_price
    gain = None if value is None or quantity is None or paid is None else value - quantity * paid * multiplier
    return {
        "symbol": position.symbol or "",
        "type": str(position.instrument_type or ""),
        "quantity": plain(quantity),
        "opened at": plain(paid),
        "mark": plain(mark),
        "value": cents(value),
        "gain": cents(gain),
        "today": cents(realized(position)),
    }


def signed_quantity(position: Position) -> Decimal | None:
    """Return the quantity of a position, negative for a short one."""
    is_short = position.quantity_direction is QuantityDirection.SHORT
    return -position.quantity if is_short and position.quantity is not None else position.quantity


def realized(position: Position) -> Decimal | None:
    """Return the gain realized today, negative for a loss."""
    gain = position.realized_today
    return -gain if gain is not None and position.realized_today_effect == "Debit" else gain


def cents(amount: Decimal | None) -> str:
    """Return a computed amount, rounded to cents."""
    return "" if amount is None else money(round(amount, 2))


def balance_table(balance: AccountBalance, account: str) -> Table:
    """Build a table of the figures of a balance."""
    currency = balance.currency or "USD"
    layout = Layout(title=f"Balance of {account}", headings=("figure", currency), right=frozenset({currency}))
    return table_of(({"figure": name, currency: amount} for name, amount in figures(balance)), layout)


def figures(balance: AccountBalance) -> Iterator[tuple[str, str]]:
    """Yield names and amounts; an amount with an effect beside it is followed by that."""
    for name in (*FIGURES, *OCCASIONAL):
        amount: Decimal | None = getattr(balance, name)
        if amount is not None and (amount or name in FIGURES):
            effect = getattr(balance, f"{name}_effect", None)
            yield name.replace("_", " "), f"{money(amount)} {effect or ''}".strip()
    yield "updated at", moment(balance.updated_at)
