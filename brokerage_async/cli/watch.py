"""``brokerage-async watch``: a table of the items that changed last, or a line for each change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .accounts import NUMBERS, position_row
from .console import complain, count_to, echo_json, say
from .options import Accounts, Count, Customer, JsonLines, Simulated, add
from .order_tables import legs_of, price_of
from .service import connect
from .tables import moment, money, raw, table_of

if TYPE_CHECKING:
    from rich.table import Table

    from ..models import AccountBalance, MarketSession, Order, Position, QuoteAlert
    from ..watch import Change

__all__ = ["group"]

ROWS = 30  # the table shows the items that changed last

Interval = Annotated[float, typer.Option(min=0.0, help="seconds between polls")]
Push = Annotated[bool, typer.Option("--push", help="poll at once after an event of the account stream")]
OnlyNew = Annotated[bool, typer.Option("--only-new", help="leave out the items that are there at the start")]


async def orders(
    account: Accounts = None,
    customer: Customer = "me",
    interval: Interval = 2.0,
    as_json: JsonLines = False,
    only_new: OnlyNew = False,
    push: Push = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow today's orders of accounts."""
    async with connect(simulated=simulated) as service:
        watcher = service.client.watch.orders(
            customer, account or [service.account(None)],
            interval=interval, initial=not only_new, push=push, on_error=complain,
        )  # fmt: skip
        await follow(watcher, Board("Orders", order_cells, ("at", "change")), count, as_json=as_json)


async def positions(
    account: Accounts = None,
    marks: Annotated[bool, typer.Option("--marks", help="include marks: then nearly every poll is a change")] = False,
    interval: Interval = 5.0,
    as_json: JsonLines = False,
    only_new: OnlyNew = False,
    push: Push = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow the positions of accounts."""
    async with connect(simulated=simulated) as service:
        watcher = service.client.watch.positions(
            account or [service.account(None)],
            include_marks=marks, interval=interval, initial=not only_new, push=push, on_error=complain,
        )  # fmt: skip
        await follow(watcher, position_board(marks=marks), count, as_json=as_json)


async def balances(
    account: Accounts = None,
    interval: Interval = 5.0,
    as_json: JsonLines = False,
    only_new: OnlyNew = False,
    push: Push = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow the balances of accounts."""
    async with connect(simulated=simulated) as service:
        watcher = service.client.watch.balances(
            account or [service.account(None)],
            interval=interval, initial=not only_new, push=push, on_error=complain,
        )  # fmt: skip
        board = Board("Balances", balance_cells, ("change", "at", "currency"))
        await follow(watcher, board, count, as_json=as_json)


async def alerts(
    interval: Interval = 5.0,
    as_json: JsonLines = False,
    only_new: OnlyNew = False,
    push: Push = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow the quote alerts of the user."""
    async with connect(simulated=simulated) as service:
        watcher = service.client.watch.quote_alerts(
            interval=interval, initial=not only_new, push=push, on_error=complain
        )
        await follow(watcher, Board("Quote alerts", alert_cells), count, as_json=as_json)


async def market(
    collection: Annotated[str, typer.Argument(help="Equity, CME or CFE")] = "Equity",
    extended: Annotated[bool, typer.Option(help="also the hours around the regular session")] = False,
    as_json: JsonLines = False,
    only_new: OnlyNew = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow the sessions of a market as they open and close."""
    async with connect(simulated=simulated) as service:
        watcher = service.client.watch.market(collection, extended=extended, initial=not only_new, on_error=complain)
        await follow(watcher, Board(f"Sessions of {collection}", session_cells), count, as_json=as_json)


group: typer.Typer = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Follow changes until Ctrl-C.")
for _command in (orders, positions, balances, alerts, market):
    add(group, _command)


async def follow(watcher: Any, board: Board, count: int | None, *, as_json: bool) -> None:
    """Show changes, on the board or as lines of JSON, up to the requested number."""
    async with contextlib.aclosing(watcher) as changes:
        with contextlib.nullcontext(print_line) if as_json else board.shown() as show:
            await count_to(count, changes, show)


def print_line(change: Change[Any]) -> None:
    """Print a change as one line of JSON."""
    record = {
        "kind": change.kind,
        "key": change.key,
        "at": change.at.isoformat(),
        "fields": change.fields,
        "before": raw(change.before),
        "after": raw(change.after),
    }
    echo_json(record, indent=None)


class Board:
    """Table of the items that changed last, with their changes."""

    def __init__(
        self, title: str, cells: Callable[[Any], Mapping[str, object]], dispensable: tuple[str, ...] = ("change", "at")
    ) -> None:
        self.title = title
        self.cells = cells
        self.dispensable = dispensable
        self.changes: dict[Any, Change[Any]] = {}

    @contextlib.contextmanager
    def shown(self) -> Iterator[Callable[[Change[Any]], None]]:
        """Show the table while inside; yields the function that adds a change. Without a terminal, print lines."""
        from rich.live import Live

        from .screen import out

        if not out.is_terminal:
            yield lambda change: say("  ".join(filter(None, self.row(change).values())).replace("\n", ", "))
            return
        with Live(self.table(out.width), console=out, auto_refresh=False, vertical_overflow="crop") as live:

            def show(change: Change[Any]) -> None:
                self.changes.pop(change.key, None)
                self.changes[change.key] = change
                live.update(self.table(out.width), refresh=True)

            yield show

    def table(self, width: int) -> Table:
        """Build the table, in as many columns as there is room for."""
        from rich import box

        latest = list(self.changes.values())[-ROWS:]
        return table_of(
            map(self.row, latest), self.title, numbers=NUMBERS, whole=("at", "order", "status", "price", "symbol"),
            dispensable=self.dispensable, width=width, box=box.SIMPLE_HEAD,
            styles=["dim" if change.after is None else None for change in latest],
        )  # fmt: skip

    def row(self, change: Change[Any]) -> dict[str, str]:
        """Return the cells of a change by heading: when (in local time), of which item, and its changed fields."""
        cells = {heading: written(value) for heading, value in self.cells(change.item).items()}
        return {
            "at": moment(change.at, "%H:%M:%S"),
            **cells,
            "change": f"{change.kind} {', '.join(change.fields)}".rstrip(),
        }


def written(value: object) -> str:
    """Return a value as a cell: date-times in local time, nothing for None."""
    if isinstance(value, datetime):
        return moment(value, "%m-%d %H:%M")
    return "" if value is None else str(value)


def order_cells(order: Order) -> dict[str, object]:
    """Return the cells of an order."""
    return {"order": order.id, "status": order.status, "what": legs_of(order, "\n"), "price": price_of(order)}


def position_board(*, marks: bool) -> Board:
    """Return a board of positions, with marks and what follows from them if requested."""
    headings = ("symbol", "quantity", "opened at", *(("mark", "value", "gain") if marks else ()))

    def cells(position: Position) -> dict[str, object]:
        row = position_row(position)
        return {"account": position.account_number, **{heading: row[heading] for heading in headings}}

    return Board("Positions", cells, ("change", "at", "opened at", "account"))


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


def alert_cells(alert: QuoteAlert) -> dict[str, object]:
    """Return the cells of a quote alert."""
    condition = f"{alert.field} {alert.operator} {alert.threshold}"
    return {"alert": alert.alert_external_id, "symbol": alert.symbol, "condition": condition}


def session_cells(session: MarketSession) -> dict[str, object]:
    """Return the cells of a market session."""
    return {"day": session.session_date, "opens": session.open_at, "closes": session.close_at}
