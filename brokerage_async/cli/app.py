"""The command tree; each command stands in a module of its own name."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from .._version import __version__
from . import call, demo, fetch, orders, serve, watch
from .terminal import PlainFormatter

__all__ = ["app"]

app: typer.Typer = typer.Typer(
    name="brokerage-async",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="An asyncio client for a brokerage. Without BROKERAGE_BASE_URL, commands run on the embedded simulator.",
)


def show_version(wanted: bool) -> None:
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


for _command in (demo, serve, call, fetch, watch, orders):
    _command.register(app)
