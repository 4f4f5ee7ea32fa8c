"""``brokerage-async watch``: a table of the items that changed last, or a line for each change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .accounts import NUMBERS, position_row
from .command import Accounts, Customer, Lines, add, connect, values_of
from .console import complain, follow
from .lazy import models
from .tables import legs_of, moment, money, price_of, raw

if TYPE_CHECKING:
    from ..watch import Change

Interval = Annotated[float, typer.Option(min=0.0, help="seconds between polls")]
Push = Annotated[bool, typer.Option("--push", help="poll at once after an event of the account stream")]


@dataclass(frozen=True)
class Watching(Lines):
    """Options of every command of the group."""

    only_new: Annotated[bool, typer.Option("--only-new", help="leave out the items that are there at the start")] = (
        False
    )

    @property
    def how(self) -> dict[str, Any]:
        return {"initial": not self.only_new, "on_error": complain}


async def orders(
    account: Accounts = None,
    customer: Customer = "me",
    interval: Interval = 2.0,
    push: Push = False,
    *,
    watching: Watching,
) -> None:
    """Follow today's orders of accounts."""
    async with connect(simulated=watching.simulated) as service:
        accounts = account or [service.account(None)]
        watcher = service.client.watch.orders(customer, accounts, interval=interval, push=push, **watching.how)
        await show(watcher, "Orders", order_cells, watching, dispensable=("at", "change"))


async def positions(
    account: Accounts = None,
    marks: Annotated[bool, typer.Option("--marks", help="include marks: then nearly every poll is a change")] = False,
    interval: Interval = 5.0,
    push: Push = False,
    *,
    watching: Watching,
) -> None:
    """Follow the positions of accounts."""
    headings = ("symbol", "quantity", "opened at", *(("mark", "value", "gain") if marks else ()))

    def cells(position: models.Position) -> dict[str, object]:
        row = position_row(position)
        return {"account": position.account_number, **{heading: row[heading] for heading in headings}}

    async with connect(simulated=watching.simulated) as service:
        accounts, watch = account or [service.account(None)], service.client.watch
        watcher = watch.positions(accounts, include_marks=marks, interval=interval, push=push, **watching.how)
        await show(watcher, "Positions", cells, watching, dispensable=("change", "at", "opened at", "account"))


async def balances(
    account: Accounts = None, interval: Interval = 5.0, push: Push = False, *, watching: Watching
) -> None:
    """Follow the balances of accounts."""
    async with connect(simulated=watching.simulated) as service:
        accounts = account or [service.account(None)]
        watcher = service.client.watch.balances(accounts, interval=interval, push=push, **watching.how)
        await show(watcher, "Balances", balance_cells, watching, dispensable=("change", "at", "currency"))


async def alerts(interval: Interval = 5.0, push: Push = False, *, watching: Watching) -> None:
    """Follow the quote alerts of the user."""
    async with connect(simulated=watching.simulated) as service:
        watcher = service.client.watch.quote_alerts(interval=interval, push=push, **watching.how)

        def cells(alert: models.QuoteAlert) -> dict[str, object]:
            condition = f"{alert.field} {alert.operator} {alert.threshold}"
            return {"alert": alert.alert_external_id, "symbol": alert.symbol, "condition": condition}

        await show(watcher, "Quote alerts", cells, watching)


async def market(
    collection: Annotated[
        str, typer.Argument(help="Equity, CME or CFE", autocompletion=values_of("InstrumentCollection"))
    ] = "Equity",
    extended: Annotated[bool, typer.Option(help="also the hours around the regular session")] = False,
    *,
    watching: Watching,
) -> None:
    """Follow the sessions of a market as they open and close."""
    async with connect(simulated=watching.simulated) as service:
        watcher = service.client.watch.market(collection, extended=extended, **watching.how)

        def cells(session: models.MarketSession) -> dict[str, object]:
            return {"day": session.session_date, "opens": session.open_at, "closes": session.close_at}

        await show(watcher, f"Sessions of {collection}", cells, watching)


group: typer.Typer = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Follow changes until Ctrl-C.")
for _command in (orders, positions, balances, alerts, market):
    add(group, _command)


async def show(
    watcher: Any,
    title: str,
    cells: Callable[[Any], Mapping[str, object]],
    lines: Lines,
    *,
    dispensable: tuple[str, ...] = ("change", "at"),
) -> None:
    """Show the changes of a watcher: of each item when (in local time), its cells, and its changed fields."""

    def row(change: Change[Any]) -> tuple[object, dict[str, str], str | None]:
        shown = {heading: written(value) for heading, value in cells(change.item).items()}
        what = f"{change.kind} {', '.join(change.fields)}".rstrip()
        shown = {"at": moment(change.at, "%H:%M:%S"), **shown, "change": what}
        return change.key, shown, "dim" if change.after is None else None

    def record(change: Change[Any]) -> dict[str, Any]:
        before, after = raw(change.before), raw(change.after)
        at = change.at.isoformat()
        return {"kind": change.kind, "key": change.key, "at": at, "fields": change.fields, "before": before,
                "after": after}  # fmt: skip

    async with aclosing(watcher) as changes:
        await follow(
            title, changes, row, record, as_json=lines.as_json, count=lines.count,
            numbers=NUMBERS, whole=("at", "order", "status", "price", "symbol"), dispensable=dispensable,
        )  # fmt: skip


def written(value: object) -> str:
    """Return a value as a cell: date-times in local time, nothing for None."""
    if isinstance(value, datetime):
        return moment(value, "%m-%d %H:%M")
    return "" if value is None else str(value)


def order_cells(order: models.Order) -> dict[str, object]:
    return {"order": order.id, "status": order.status, "what": legs_of(order, "\n"), "price": price_of(order)}


def balance_cells(balance: models.AccountBalance) -> dict[str, object]:
    """Return the cells of a balance. BP is the buying power."""
    return {
        "account": balance.account_number,
        "currency": balance.currency,
        "net liq": money(balance.net_liquidating_value),
        "cash": money(balance.cash_balance),
        "derivative BP": money(balance.derivative_buying_power),
        "equity BP": money(balance.equity_buying_power),
    }
