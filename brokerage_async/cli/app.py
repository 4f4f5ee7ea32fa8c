"""Command tree of the console; ``commands`` has the signatures."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from .._version import __version__
from .commands import accounts, call, completion, demo, fetch, market, orders, schema, serve, stream, watch
from .terminal import PlainFormatter

__all__ = ["app"]

app: typer.Typer = typer.Typer(
    name="brokerage-async",
    no_args_is_help=True,
    add_completion=False,  # typer's own imports pydantic for every command and every completion
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="An asyncio client for a brokerage. Commands talk to the service that BROKERAGE_BASE_URL names; with "
    "--simulator after the command, to an embedded simulator.",
)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"brokerage-async {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every attempt on stderr.")] = False,
) -> None:
    """Set options that hold for every command."""
    if verbose:
        for handler in logging.getLogger().handlers:
            handler.setFormatter(PlainFormatter("%(asctime)s %(name)s: %(message)s"))
        for name in ("brokerage_async", "brokerage_async.token"):
            logging.getLogger(name).setLevel(logging.DEBUG)


for _command in (demo, serve, accounts, market, orders, watch, stream, fetch, call, schema, completion):
    _command.register(app)
