"""``brokerage-async quote | search | chain``."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from .options import AsJson, Simulated

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (quote, search, chain):
        app.command(command.__name__)(command)


def quote(
    symbols: Annotated[list[str], typer.Argument(help="such as AAPL, 'AAPL  260612C00110000', /ESZ6 or BTC/USD")],
    index: Annotated[list[str] | None, typer.Option(help="an index such as SPX, may be repeated")] = None,
    as_json: AsJson = False,
    simulated: Simulated = False,
) -> None:
    """Show the prices of instruments of any type."""
    from ..console import run
    from ..market import Quoting, quote

    run(quote(Quoting(symbols=tuple(symbols), indices=tuple(index or ()), as_json=as_json, simulated=simulated)))


def search(
    words: Annotated[str, typer.Argument(help="part of a symbol or of a description")],
    instrument_type: Annotated[
        list[str] | None, typer.Option("--type", help="such as Equity or Future, may be repeated")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=100, help="show at most so many; by default 25")] = None,
    as_json: AsJson = False,
    simulated: Simulated = False,
) -> None:
    """Search instruments by symbol or description."""
    from ..console import run
    from ..market import Searching, search

    searching = Searching(
        words=words, types=tuple(instrument_type or ()), limit=limit, as_json=as_json, simulated=simulated
    )
    run(search(searching))


def chain(
    symbol: Annotated[str, typer.Argument(help="underlying such as SPX, product such as /ES, or future such as /ESZ6")],
    on: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="strikes of the expiration on this day"),
    ] = None,
    near: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="strikes of the expiration nearest to this day"),
    ] = None,
    days: Annotated[int | None, typer.Option(min=0, help="strikes of the expiration nearest to so many days")] = None,
    root: Annotated[str | None, typer.Option(help="only of this root, such as SPXW")] = None,
    settlement: Annotated[str | None, typer.Option(help="only with this settlement, AM or PM")] = None,
    cycle: Annotated[str | None, typer.Option(help="only of this cycle, such as Regular or Weekly")] = None,
    around: Annotated[str | None, typer.Option(help="price that the strikes are around [default: the current]")] = None,
    strikes: Annotated[int | None, typer.Option(min=1, help="number of strikes [default: 10]")] = None,
    as_json: AsJson = False,
    simulated: Simulated = False,
) -> None:
    """Show the expirations of an underlying, or with --on, --near or --days the strikes around the money of one."""
    from ..chain import Choice, show_chain
    from ..console import run

    choice = Choice(
        on=on.date() if on else None, near=near.date() if near else None, days=days, root=root,
        settlement=settlement, cycle=cycle, around=around, strikes=strikes,
    )  # fmt: skip
    run(show_chain(symbol, choice, as_json=as_json, simulated=simulated))
