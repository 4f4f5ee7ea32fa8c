"""``brokerage-async stream quotes | account``."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Simulated

__all__ = ["register"]

AsJson = Annotated[bool, typer.Option("--json", help="print a line of JSON for each event")]
Count = Annotated[int | None, typer.Option(min=1, help="leave after so many events")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show events as they come, until Ctrl-C.")
    for command in (quotes, account):
        group.command(command.__name__)(command)
    app.add_typer(group, name="stream")


def quotes(
    symbols: Annotated[list[str], typer.Argument(help="symbols, such as AAPL SPY /ESZ6")],
    event: Annotated[
        list[str] | None,
        typer.Option("--event", help="Quote, Trade, Summary, Greeks, Candle and so on; may be repeated"),
    ] = None,
    period: Annotated[str, typer.Option(help="number and unit of candles, such as 5m, 1h or 1d")] = "1d",
    as_json: AsJson = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Show quotes and other market events."""
    from ..console import run
    from ..stream import Showing, stream_quotes

    showing = Showing(as_json=as_json, count=count, simulated=simulated)
    run(stream_quotes(showing, symbols, event or ["Quote"], period))


def account(
    account: Annotated[
        list[str] | None,
        typer.Option("--account", help="account number [env var: BROKERAGE_ACCOUNT], may be repeated"),
    ] = None,
    alerts: Annotated[bool, typer.Option("--alerts", help="also the quote alerts of the user")] = False,
    as_json: AsJson = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Show the events of accounts: orders, positions, balances."""
    from ..console import run
    from ..stream import Showing, stream_account

    run(stream_account(Showing(as_json=as_json, count=count, simulated=simulated), account or [], alerts=alerts))
