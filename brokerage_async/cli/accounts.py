"""``brokerage-async accounts | positions | balances``: the accounts of a customer, and what one account holds."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated

import typer

from .command import Customer, Output, Target, connect
from .console import echo_json, show_items
from .lazy import models
from .tables import moment, money, plain, raw

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

NUMBERS = ("quantity", "opened at", "mark", "value", "gain", "today")  # headings of the numbers of a position


async def accounts(customer: Customer = "me", *, output: Output) -> None:
    """List the accounts of a customer."""

    def row(owned: models.CustomerAccount) -> dict[str, str]:
        account = owned.account or models.Account()
        cells = (
            account.account_number, account.nickname, account.account_type_name, account.margin_or_cash,
            owned.authority_level, account.opened_at and account.opened_at.date(), account.is_closed and "closed",
        )  # fmt: skip
        return {heading: str(cell or "") for heading, cell in zip(headings, cells, strict=True)}

    async with connect(simulated=output.simulated) as service:
        found = await service.client.accounts.list(customer)
    headings = ("account", "nickname", "type", "margin or cash", "authority", "opened", "closed")
    dispensable = ("opened", "margin or cash")
    show_items(found, row, "Accounts", as_json=output.as_json, headings=headings, dispensable=dispensable)


async def positions(
    closed: Annotated[bool, typer.Option("--closed", help="also positions that were closed today")] = False,
    *,
    target: Target,
) -> None:
    """Show the positions of an account with their value and gain."""
    async with connect(simulated=target.simulated) as service:
        account = service.account(target.account)
        found = await service.client.positions.list(
            account, include_marks=True, include_closed_positions=closed or None
        )
    show_items(
        found, position_row, f"Positions of {account}", as_json=target.as_json, empty=f"{account} has no positions.",
        numbers=NUMBERS, whole=("symbol",), dispensable=("type", "today", "opened at"),
    )  # fmt: skip


async def balances(target: Target) -> None:
    """Show cash, buying power and requirements of an account."""
    async with connect(simulated=target.simulated) as service:
        account = service.account(target.account)
        found = await service.client.balances.list(account)
    if target.as_json:
        echo_json(raw(found))
        return
    for balance in found:
        currency = balance.currency or "USD"
        rows = [{"figure": name, currency: amount} for name, amount in figures(balance)]
        show_items(rows, dict, f"Balance of {account}", numbers=(currency,))


def position_row(position: models.Position) -> dict[str, str]:
    """Return the cells of a position. Short quantities and values, and losses, are negative."""
    short = position.quantity_direction == "Short"
    quantity = -position.quantity if short and position.quantity is not None else position.quantity
    mark, multiplier, paid = position.mark_price, position.multiplier or 1, position.average_open_price
    value = None if quantity is None or mark is None else quantity * mark * multiplier
    gain = None if value is None or quantity is None or paid is None else value - quantity * paid * multiplier
    today = position.realized_today
    if today is not None and position.realized_today_effect == "Debit":
        today = -today
    computed = {"value": value, "gain": gain, "today": today}
    return {
        "symbol": position.symbol,
        "type": str(position.instrument_type or ""),
        "quantity": plain(quantity),
        "opened at": plain(paid),
        "mark": plain(mark),
        **{name: "" if amount is None else money(round(amount, 2)) for name, amount in computed.items()},
    }


def figures(balance: models.AccountBalance) -> Iterator[tuple[str, str]]:
    """Yield names and amounts. An amount with an effect beside it is followed by that."""
    for name in (*FIGURES, *OCCASIONAL):
        amount: Decimal | None = getattr(balance, name)
        if amount is not None and (amount or name in FIGURES):
            yield name.replace("_", " "), money(amount, getattr(balance, f"{name}_effect", None))
    yield "updated at", moment(balance.updated_at)
