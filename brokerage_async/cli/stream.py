"""``brokerage-async stream``: a live table of the latest events, a line for each event, or files of them."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from .command import Accounts, Lines, Simulated, add, connect
from .console import follow, is_live
from .lazy import attrs, streams
from .tables import money, raw

HIDDEN = frozenset({"event_symbol", "event_time", "event_flags", "index", "sequence", "time_nano_part", "extra"})
"""Fields of market events that only programs need."""


def event_names() -> list[str]:
    from ..protocol.streams.events import MARKET_EVENTS

    return list(MARKET_EVENTS)


async def quotes(
    symbols: Annotated[list[str], typer.Argument(help="symbols, such as AAPL SPY /ESZ6")],
    event: Annotated[
        list[str] | None,
        typer.Option(
            help="Quote, Trade, Summary, Greeks, Candle and so on; may be repeated", autocompletion=event_names
        ),
    ] = None,
    period: Annotated[str, typer.Option(help="number and unit of candles, such as 5m, 1h or 1d")] = "1d",
    *,
    lines: Lines,
) -> None:
    """Show quotes and other market events."""
    async with (
        connect(simulated=lines.simulated) as service,
        service.client.stream.quotes(symbols, event or ["Quote"], period=period) as stream,
    ):
        headings: dict[str, str] = {}
        row = partial(figures_of, headings) if is_live(as_json=lines.as_json) else row_of
        await follow(
            "Market", stream, row, record_of, as_json=lines.as_json, count=lines.count, in_order=True,
            numbers=headings, whole=("symbol",),
        )  # fmt: skip


async def account(
    account: Accounts = None,
    alerts: Annotated[bool, typer.Option("--alerts", help="also the quote alerts of the user")] = False,
    *,
    lines: Lines,
) -> None:
    """Show the events of accounts: orders, positions, balances."""
    async with (
        connect(simulated=lines.simulated) as service,
        service.client.stream.account(account or [service.account(None)], alerts=alerts) as stream,
    ):
        await follow("Account", stream, row_of, record_of, as_json=lines.as_json, count=lines.count, in_order=True)


async def record(
    directory: Annotated[Path, typer.Argument(help="directory of the files, made if it is missing")],
    symbols: Annotated[list[str], typer.Argument(help="symbols, such as AAPL SPY /ESZ6")],
    event: Annotated[
        list[str] | None, typer.Option(help="Quote and Trade by default; may be repeated", autocompletion=event_names)
    ] = None,
    period: Annotated[str, typer.Option(help="number and unit of candles, such as 5m, 1h or 1d")] = "1d",
    seconds: Annotated[float | None, typer.Option(min=0.1, help="how long to record; until Ctrl-C by default")] = None,
    simulated: Simulated = False,
) -> None:
    """Record market events into Parquet files, partitioned by day."""
    async with connect(simulated=simulated) as service:
        done = await service.client.stream.record(
            directory, symbols, event or ["Quote", "Trade"], period=period, seconds=seconds
        )
    print(f"{done.rows} rows in {done.directory}, {len(done.gaps)} gaps")


group: typer.Typer = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Show events as they come, until Ctrl-C."
)
add(group, quotes)
add(group, account)
add(group, record)


def row_of(event: Any) -> tuple[tuple[str, str], dict[str, str], None]:
    """Return the row of an event: its type, the thing it is about, and its values."""
    kind, of, shown = type(event).__name__, "", ""
    match event:
        case streams.Gap():
            shown = f"{event.reason}; events may be missing"
        case streams.Snapshot():
            kind, of, shown = event.type.__name__, event.symbol, f"{len(event.events)} rows"
        case streams.AccountEvent():
            data = event.data
            kind = event.type
            of = str(getattr(data, "symbol", None) or getattr(data, "id", None) or event.account_number or "")
            figures = (getattr(data, field, None) for field in ("status", "quantity", "cash_balance"))
            shown = "  ".join(str(figure) for figure in figures if figure is not None)
        case streams.UnknownEvent():
            kind = event.type
        case _:
            values = ((field.name, getattr(event, field.name)) for field in attrs.fields(type(event)))
            of = str(event.event_symbol)
            shown = "  ".join(f"{name} {value}" for name, value in values if value is not None and name not in HIDDEN)
    return (kind, of), {"type": kind, "of": of, "values": shown}, None


def figures_of(headings: dict[str, str], event: Any) -> tuple[object, dict[str, str], None]:
    """Return the row of a symbol, with the numbers of its latest event as cells.

    ``headings`` has the event type by heading. A heading that another type has taken gets the type before it.
    """
    (kind, of), cells, _ = row_of(event)
    if not hasattr(event, "event_symbol"):
        return of or kind, {"symbol": of or kind, "note": cells["values"]}, None
    shown = {"symbol": of}
    for field in attrs.fields(type(event)):
        value, heading = getattr(event, field.name), field.name.removesuffix("_price").replace("_", " ")
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and field.name not in HIDDEN:
            heading = heading if headings.setdefault(heading, kind) == kind else f"{kind} {heading}"
            headings[heading] = kind
            is_count = value == value // 1 and "price" not in field.name  # a size comes as 100.0
            shown[heading] = f"{int(value):,}" if is_count else money(Decimal(str(value)))
    return of, shown, None


def record_of(event: Any) -> dict[str, Any]:
    match event:
        case streams.Gap():
            since = None if event.since is None else event.since.isoformat()
            return {"type": "Gap", "since": since, "reason": event.reason}
        case streams.Snapshot():
            return {"type": "Snapshot", "symbol": event.symbol, "events": raw(list(event.events))}
        case streams.AccountEvent():
            at = None if event.timestamp is None else event.timestamp.isoformat()
            data = event.data if isinstance(event.data, dict | None) else raw(event.data)
            return {"type": str(event.type), "timestamp": at, "data": data}
        case streams.UnknownEvent():
            return {"type": str(event.type), "fields": dict(event.fields)}
    return {"type": type(event).__name__, **raw(event)}
