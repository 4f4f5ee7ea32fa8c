"""``brokerage-async watch orders | alerts | market``: a table of what changes, or a line per change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, Any

import attrs
import typer
from rich import box
from rich.live import Live
from rich.table import Table

from ..client import Client
from ..models import MarketSession, Order, QuoteAlert, converter
from ..watch import Change, Watcher
from .console import complain, connect, echo_json, out, run, say

__all__ = ["register"]

ROWS = 30  # the table shows the items that changed last

AsJson = Annotated[bool, typer.Option("--json", help="print a line of JSON for each change")]
Count = Annotated[int | None, typer.Option(min=1, help="leave after so many changes")]
Interval = Annotated[float, typer.Option(min=0.0, help="seconds between polls")]
OnlyNew = Annotated[bool, typer.Option("--only-new", help="leave out what is there already")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Follow what changes until Ctrl-C.")
    for command in (orders, alerts, market):
        group.command(command.__name__)(command)
    app.add_typer(group, name="watch")


def orders(
    account: Annotated[list[str], typer.Option(envvar="BROKERAGE_ACCOUNT", help="account number, may be repeated")],
    customer: Annotated[str, typer.Option(help="customer number; `me` is the owner of the token")] = "me",
    interval: Interval = 2.0,
    as_json: AsJson = False,
    only_new: OnlyNew = False,
    count: Count = None,
) -> None:
    """Follow today's orders of accounts."""
    board = Board("Orders", ("order", "status", "what", "price"), order_row)
    run(
        follow(
            lambda client: client.watch.orders(
                customer, account, interval=interval, initial=not only_new, on_error=complain
            ),
            None if as_json else board,
            count,
        )
    )


def alerts(interval: Interval = 5.0, as_json: AsJson = False, only_new: OnlyNew = False, count: Count = None) -> None:
    """Follow the quote alerts of the user."""
    board = Board("Quote alerts", ("alert", "symbol", "condition"), alert_row)
    run(
        follow(
            lambda client: client.watch.quote_alerts(interval=interval, initial=not only_new, on_error=complain),
            None if as_json else board,
            count,
        )
    )


def market(
    collection: Annotated[str, typer.Argument(help="Equity, CME or CFE")] = "Equity",
    extended: Annotated[bool, typer.Option(help="also the hours around the regular session")] = False,
    as_json: AsJson = False,
    only_new: OnlyNew = False,
    count: Count = None,
) -> None:
    """Follow the sessions of a market as they open and close."""
    board = Board(f"Sessions of {collection}", ("day", "opens", "closes"), session_row)
    run(
        follow(
            lambda client: client.watch.market(collection, extended=extended, initial=not only_new, on_error=complain),
            None if as_json else board,
            count,
        )
    )


async def follow(watch: Callable[[Client], Watcher[Any]], board: Board | None, count: int | None) -> None:
    """Show ``count`` changes (None: all to come), on the board or as lines."""
    async with connect() as client, contextlib.aclosing(watch(client)) as changes:
        with board.shown() if board is not None else contextlib.nullcontext(print_line) as show:
            seen = 0
            async for change in changes:
                show(change)
                seen += 1
                if seen == count:
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
    """A table of the items that changed last, with what changed."""

    title: str
    columns: tuple[str, ...]
    cells: Callable[[Any], tuple[object, ...]]
    rows: dict[Any, Change[Any]] = attrs.Factory(dict)

    @contextlib.contextmanager
    def shown(self) -> Iterator[Callable[[Change[Any]], None]]:
        """Show the table while inside; yields what puts a change on it. Without a terminal, each change is a line."""
        if not out.is_terminal:
            yield lambda change: say("  ".join(filter(None, self.line(change))))
            return
        with Live(self.table(), console=out, auto_refresh=False, vertical_overflow="crop") as live:

            def show(change: Change[Any]) -> None:
                self.rows.pop(change.key, None)
                self.rows[change.key] = change
                live.update(self.table(), refresh=True)

            yield show

    def table(self) -> Table:
        table = Table(title=self.title, title_justify="left", box=box.SIMPLE_HEAD, expand=True)
        for heading in ("at", *self.columns):
            table.add_column(heading, no_wrap=True)
        table.add_column("change", no_wrap=True, ratio=1)
        for change in list(self.rows.values())[-ROWS:]:
            table.add_row(*self.line(change), style="dim" if change.after is None else None)
        return table

    def line(self, change: Change[Any]) -> tuple[str, ...]:
        """The cells of a change: when (in local time), of what, and what changed."""
        what = f"{change.kind} {', '.join(change.fields)}".rstrip()
        return change.at.astimezone().strftime("%H:%M:%S"), *map(text, self.cells(change.item)), what


def text(value: object) -> str:
    """A cell: moments in local time, nothing for None."""
    if isinstance(value, datetime):
        return value.astimezone().strftime("%m-%d %H:%M")
    return "" if value is None else str(value)


def order_row(order: Order) -> tuple[object, ...]:
    """Cells of an order."""
    legs = order.legs or ()
    what = "; ".join(f"{leg.action} {leg.quantity} {leg.symbol}" for leg in legs)
    prices = [fill.fill_price for leg in legs for fill in leg.fills or () if fill.fill_price is not None]
    return order.id, order.status, what, prices[-1] if prices else order.price


def alert_row(alert: QuoteAlert) -> tuple[object, ...]:
    """Cells of a quote alert."""
    return alert.alert_external_id, alert.symbol, f"{alert.field} {alert.operator} {alert.threshold}"


def session_row(session: MarketSession) -> tuple[object, ...]:
    """Cells of a market session."""
    return session.session_date, session.open_at, session.close_at
