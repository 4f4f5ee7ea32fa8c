"""``brokerage-async stream``: a live table of the latest events, or a line for each event."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from .console import count_to, echo_json, say
from .options import Accounts, Count, JsonLines, Simulated, add
from .service import connect
from .tables import raw, table_of

__all__ = ["group"]

ROWS = 40
"""Rows of the live table: those that changed last."""

HIDDEN = frozenset({"event_symbol", "event_time", "event_flags", "index", "sequence", "time_nano_part", "extra"})
"""Fields of market events that only programs need."""


def event_names() -> list[str]:
    """Return the values that complete ``--event``."""
    from ..protocol.streams.events import MARKET_EVENTS

    return list(MARKET_EVENTS)


async def quotes(
    symbols: Annotated[list[str], typer.Argument(help="symbols, such as AAPL SPY /ESZ6")],
    event: Annotated[
        list[str] | None,
        typer.Option(
            "--event",
            help="Quote, Trade, Summary, Greeks, Candle and so on; may be repeated",
            autocompletion=event_names,
        ),
    ] = None,
    period: Annotated[str, typer.Option(help="number and unit of candles, such as 5m, 1h or 1d")] = "1d",
    as_json: JsonLines = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Show quotes and other market events."""
    async with (
        connect(simulated=simulated) as service,
        service.client.stream.quotes(symbols, event or ["Quote"], period=period) as stream,
    ):
        with contextlib.nullcontext(print_line) if as_json else board("Market") as add_event:
            await count_to(count, stream, add_event)


async def account(
    account: Accounts = None,
    alerts: Annotated[bool, typer.Option("--alerts", help="also the quote alerts of the user")] = False,
    as_json: JsonLines = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Show the events of accounts: orders, positions, balances."""
    async with (
        connect(simulated=simulated) as service,
        service.client.stream.account(account or [service.account(None)], alerts=alerts) as stream,
    ):
        with contextlib.nullcontext(print_line) if as_json else board("Account") as add_event:
            await count_to(count, stream, add_event)


group: typer.Typer = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Show events as they come, until Ctrl-C."
)
add(group, quotes)
add(group, account)


def print_line(event: Any) -> None:
    """Print an event as one line of JSON."""
    echo_json({"type": kind_of(event), **fields_of(event)}, indent=None)


@contextlib.contextmanager
def board(title: str) -> Iterator[Callable[[Any], None]]:
    """Show a table of the latest event of each symbol while inside. Without a terminal, print lines."""
    from rich import box
    from rich.live import Live

    from .screen import out

    if not out.is_terminal:
        yield lambda event: say("  ".join(row_of(event)))
        return
    latest: dict[tuple[str, str], tuple[str, str, str]] = {}
    headings = ("type", "of", "values")
    empty = table_of([], title, headings=headings, box=box.SIMPLE_HEAD)
    with Live(empty, console=out, refresh_per_second=8, vertical_overflow="crop") as live:

        def add_event(event: Any) -> None:
            row = row_of(event)
            latest.pop(row[:2], None)
            latest[row[:2]] = row
            while len(latest) > ROWS:
                del latest[next(iter(latest))]
            rows: list[dict[str, str]] = [dict(zip(headings, each, strict=True)) for each in sorted(latest.values())]
            live.update(table_of(rows, title, box=box.SIMPLE_HEAD))

        yield add_event


def kind_of(event: Any) -> str:
    """Return the type of an event."""
    from ..stream import AccountEvent, UnknownEvent

    return str(event.type) if isinstance(event, AccountEvent | UnknownEvent) else type(event).__name__


def row_of(event: Any) -> tuple[str, str, str]:
    """Return the cells of an event: its type, the thing it is about, and its values."""
    import attrs

    from ..stream import AccountEvent, Gap, Snapshot, UnknownEvent

    match event:
        case Gap():
            return "Gap", "", f"{event.reason}; events may be missing"
        case Snapshot():
            return event.type.__name__, event.symbol, f"{len(event.events)} rows"
        case AccountEvent():
            data = event.data
            name = getattr(data, "symbol", None) or getattr(data, "id", None) or event.account_number or ""
            figures = (getattr(data, field, None) for field in ("status", "quantity", "cash_balance"))
            return event.type, str(name), "  ".join(str(figure) for figure in figures if figure is not None)
        case UnknownEvent():
            return event.type, "", ""
    values = ((field.name, getattr(event, field.name)) for field in attrs.fields(type(event)))
    shown = (f"{name} {value}" for name, value in values if value is not None and name not in HIDDEN)
    return type(event).__name__, str(event.event_symbol), "  ".join(shown)


def fields_of(event: Any) -> dict[str, Any]:
    """Return an event as JSON values."""
    from ..stream import AccountEvent, Gap, Snapshot, UnknownEvent

    match event:
        case Gap():
            return {"since": None if event.since is None else event.since.isoformat(), "reason": event.reason}
        case Snapshot():
            return {"symbol": event.symbol, "events": raw(list(event.events))}
        case AccountEvent():
            at = None if event.timestamp is None else event.timestamp.isoformat()
            data = event.data if isinstance(event.data, dict | None) else raw(event.data)
            return {"timestamp": at, "data": data}
        case UnknownEvent():
            return {"fields": dict(event.fields)}
    values: dict[str, Any] = raw(event)
    return values
