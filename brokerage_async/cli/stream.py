"""Stream commands: a live table of the latest events, or a line per event."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from rich import box
from rich.live import Live
from rich.table import Table

from ..models import converter
from ..stream import AccountEvent, Gap, Snapshot, UnknownEvent
from .console import echo_json, out, say
from .service import connect

__all__ = ["Showing", "stream_account", "stream_quotes"]

ROWS = 40
"""Rows of the live table: those that changed last."""

HIDDEN = frozenset({"event_symbol", "event_time", "event_flags", "index", "sequence", "time_nano_part", "extra"})
"""Fields of market events that only programs need."""


@attrs.frozen(kw_only=True)
class Showing:
    """Options that the stream commands share."""

    as_json: bool = False
    count: int | None = None
    simulated: bool = False


async def stream_quotes(showing: Showing, symbols: list[str], events: list[str], period: str) -> None:
    """Show market events of symbols."""
    async with (
        connect(simulated=showing.simulated) as service,
        service.client.stream.quotes(symbols, events, period=period) as stream,
    ):
        await show(stream, "Market", showing)


async def stream_account(showing: Showing, accounts: list[str], *, alerts: bool) -> None:
    """Show the events of accounts."""
    async with (
        connect(simulated=showing.simulated) as service,
        service.client.stream.account(accounts or [service.account(None)], alerts=alerts) as stream,
    ):
        await show(stream, "Account", showing)


async def show(stream: Any, title: str, showing: Showing) -> None:
    """Show events, in the live table or as lines, up to the requested number."""
    with contextlib.nullcontext(print_line) if showing.as_json else board(title) as add:
        seen = 0
        async for event in stream:
            add(event)
            seen += 1
            if seen == showing.count:
                return


def print_line(event: Any) -> None:
    """Print an event as one line of JSON."""
    echo_json({"type": kind_of(event), **fields_of(event)}, indent=None)


@contextlib.contextmanager
def board(title: str) -> Iterator[Callable[[Any], None]]:
    """Show a table of the latest event of each symbol while inside. Without a terminal, print lines."""
    if not out.is_terminal:
        yield lambda event: say("  ".join(row_of(event)))
        return
    latest: dict[tuple[str, str], tuple[str, str, str]] = {}
    with Live(table(title, []), console=out, refresh_per_second=8, vertical_overflow="crop") as live:

        def add(event: Any) -> None:
            row = row_of(event)
            latest.pop(row[:2], None)
            latest[row[:2]] = row
            while len(latest) > ROWS:
                del latest[next(iter(latest))]
            live.update(table(title, sorted(latest.values())))

        yield add


def table(title: str, rows: list[tuple[str, str, str]]) -> Table:
    """Build the live table."""
    built = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("type", "of", "values"):
        built.add_column(heading, overflow="fold")
    for row in rows:
        built.add_row(*row)
    return built


def kind_of(event: Any) -> str:
    """Return the type of an event."""
    return str(event.type) if isinstance(event, AccountEvent | UnknownEvent) else type(event).__name__


def row_of(event: Any) -> tuple[str, str, str]:
    """Return the cells of an event: its type, the thing it is about, and its values."""
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
    match event:
        case Gap():
            return {"since": None if event.since is None else event.since.isoformat(), "reason": event.reason}
        case Snapshot():
            return {"symbol": event.symbol, "events": [converter.unstructure(each) for each in event.events]}
        case AccountEvent():
            at = None if event.timestamp is None else event.timestamp.isoformat()
            data = event.data if isinstance(event.data, dict | None) else converter.unstructure(event.data)
            return {"timestamp": at, "data": data}
        case UnknownEvent():
            return {"fields": dict(event.fields)}
    values: dict[str, Any] = converter.unstructure(event)
    return values
