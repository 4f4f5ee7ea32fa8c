"""Watch commands: a table of the items that changed last, or a line per change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

import attrs
from rich import box
from rich.cells import cell_len
from rich.live import Live
from rich.table import Table

from ..models import AccountBalance, MarketSession, Order, Position, QuoteAlert, converter
from ..watch import Change, Watcher
from .accounts import position_row
from .console import complain, echo_json, out, say
from .order_tables import legs_of, price_of
from .service import connect
from .tables import money

__all__ = ["Following", "watch_alerts", "watch_balances", "watch_market", "watch_orders", "watch_positions"]

ROWS = 30  # the table shows the items that changed last


@attrs.frozen(kw_only=True)
class Following:
    """Options that the watch commands share."""

    as_json: bool = False
    initial: bool = True
    count: int | None = None
    simulated: bool = False
    push: bool = False


async def watch_orders(following: Following, customer: str, accounts: list[str], interval: float) -> None:
    """Follow today's orders of accounts."""
    async with connect(simulated=following.simulated) as service:
        watcher = service.client.watch.orders(
            customer,
            accounts or [service.account(None)],
            interval=interval,
            initial=following.initial,
            push=following.push,
            on_error=complain,
        )
        await follow(watcher, Board("Orders", order_row, dispensable=("at", "change")), following)


async def watch_alerts(following: Following, interval: float) -> None:
    """Follow the quote alerts of the user."""
    async with connect(simulated=following.simulated) as service:
        watcher = service.client.watch.quote_alerts(
            interval=interval, initial=following.initial, push=following.push, on_error=complain
        )
        await follow(watcher, Board("Quote alerts", alert_row), following)


async def watch_positions(following: Following, accounts: list[str], interval: float, *, marks: bool) -> None:
    """Follow the positions of accounts."""
    async with connect(simulated=following.simulated) as service:
        watcher = service.client.watch.positions(
            accounts or [service.account(None)],
            include_marks=marks,
            interval=interval,
            initial=following.initial,
            push=following.push,
            on_error=complain,
        )
        await follow(watcher, Board("Positions", partial(position_cells, marks=marks)), following)


async def watch_balances(following: Following, accounts: list[str], interval: float) -> None:
    """Follow the balances of accounts."""
    async with connect(simulated=following.simulated) as service:
        watcher = service.client.watch.balances(
            accounts or [service.account(None)],
            interval=interval,
            initial=following.initial,
            push=following.push,
            on_error=complain,
        )
        await follow(watcher, Board("Balances", balance_cells, dispensable=("change", "at", "currency")), following)


async def watch_market(following: Following, collection: str, *, extended: bool) -> None:
    """Follow the sessions of a market."""
    async with connect(simulated=following.simulated) as service:
        watcher = service.client.watch.market(
            collection, extended=extended, initial=following.initial, on_error=complain
        )
        await follow(watcher, Board(f"Sessions of {collection}", session_row), following)


async def follow(watcher: Watcher[Any], board: Board, following: Following) -> None:
    """Show changes, on the board or as lines, up to the requested number."""
    async with contextlib.aclosing(watcher) as changes:
        with contextlib.nullcontext(print_line) if following.as_json else board.shown() as show:
            seen = 0
            async for change in changes:
                show(change)
                seen += 1
                if seen == following.count:
                    return


def print_line(change: Change[Any]) -> None:
    """Print a change as one line of JSON."""
    record = {
        "kind": change.kind,
        "key": change.key,
        "at": change.at.isoformat(),
        "fields": change.fields,
        "before": converter.unstructure(change.before),
        "after": converter.unstructure(change.after),
    }
    echo_json(record, indent=None)


@attrs.define
class Board:
    """Table of the items that changed last, with their changes.

    Attributes:
        title: title of the table.
        cells: makes the cells of an item by heading.
        dispensable: headings that are omitted without room for them, in this order.
    """

    title: str
    cells: Callable[[Any], Mapping[str, object]]
    dispensable: tuple[str, ...] = ("change", "at")
    changes: dict[Any, Change[Any]] = attrs.Factory(dict)

    @contextlib.contextmanager
    def shown(self) -> Iterator[Callable[[Change[Any]], None]]:
        """Show the table while inside; yields the function that adds a change. Without a terminal, print lines."""
        if not out.is_terminal:
            yield lambda change: say("  ".join(filter(None, self.row(change).values())).replace("\n", ", "))
            return
        with Live(self.table(), console=out, auto_refresh=False, vertical_overflow="crop") as live:

            def show(change: Change[Any]) -> None:
                self.changes.pop(change.key, None)
                self.changes[change.key] = change
                live.update(self.table(), refresh=True)

            yield show

    def table(self) -> Table:
        """Build the table, in as many columns as the terminal has room for."""
        latest = list(self.changes.values())[-ROWS:]
        rows = [self.row(change) for change in latest]
        table = Table(title=self.title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
        headings, left_out = fitting(rows, self.dispensable, out.width)
        for heading in headings:
            table.add_column(heading, no_wrap=heading in UNBROKEN, overflow="fold")
        for change, row in zip(latest, rows, strict=True):
            table.add_row(*(row[heading] for heading in headings), style="dim" if change.after is None else None)
        if left_out:
            table.caption = f"No room for: {', '.join(left_out)}. --json shows all."
        return table

    def row(self, change: Change[Any]) -> dict[str, str]:
        """Return the cells of a change by heading: when (in local time), of which item, and its changed fields."""
        cells = {heading: shown(value) for heading, value in self.cells(change.item).items()}
        fields = f"{change.kind} {', '.join(change.fields)}".rstrip()
        return {"at": change.at.astimezone().strftime("%H:%M:%S"), **cells, "change": fields}


PADDING = 3  # columns between two cells
UNBROKEN = ("at", "order", "status", "price", "symbol")
"""Columns whose cells stand on one line."""


def fitting(rows: list[dict[str, str]], dispensable: tuple[str, ...], width: int) -> tuple[list[str], list[str]]:
    """Return the headings that fit, and those that are omitted."""
    headings = rows[0] if rows else {}
    lines = {heading: [heading, *(line for row in rows for line in row[heading].splitlines())] for heading in headings}
    room = {heading: PADDING + max(map(cell_len, lines[heading])) for heading in headings}
    left_out = []
    for heading in dispensable:
        if sum(room.values()) > width and heading in room:
            del room[heading]
            left_out.append(heading)
    return list(room), left_out


def shown(value: object) -> str:
    """Return a value as a cell: date-times in local time, nothing for None."""
    if isinstance(value, datetime):
        return value.astimezone().strftime("%m-%d %H:%M")
    return "" if value is None else str(value)


def order_row(order: Order) -> dict[str, object]:
    """Return the cells of an order."""
    return {"order": order.id, "status": order.status, "what": legs_of(order, "\n"), "price": price_of(order)}


def position_cells(position: Position, *, marks: bool) -> dict[str, object]:
    """Return the cells of a position."""
    row = position_row(position)
    headings = ("symbol", "quantity", "opened at", *(("mark", "value", "gain") if marks else ()))
    return {"account": position.account_number, **{heading: row[heading] for heading in headings}}


def balance_cells(balance: AccountBalance) -> dict[str, object]:
    """Return the cells of a balance; BP is the buying power."""
    return {
        "account": balance.account_number,
        "currency": balance.currency,
        "net liq": money(balance.net_liquidating_value),
        "cash": money(balance.cash_balance),
        "derivative BP": money(balance.derivative_buying_power),
        "equity BP": money(balance.equity_buying_power),
    }


def alert_row(alert: QuoteAlert) -> dict[str, object]:
    """Return the cells of a quote alert."""
    condition = f"{alert.field} {alert.operator} {alert.threshold}"
    return {"alert": alert.alert_external_id, "symbol": alert.symbol, "condition": condition}


def session_row(session: MarketSession) -> dict[str, object]:
    """Return the cells of a market session."""
    return {"day": session.session_date, "opens": session.open_at, "closes": session.close_at}
