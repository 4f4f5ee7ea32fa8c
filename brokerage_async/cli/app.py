"""Command tree of the console.

Help and completion are quick: modules of commands import what takes time when a command runs.
"""

from __future__ import annotations

from typing import Annotated

import typer

from .._version import __version__
from . import accounts, call, completion, conformance, demo, doctor, fetch, market, orders, serve, stream, watch
from .options import add

__all__ = ["app"]

app: typer.Typer = typer.Typer(
    name="brokerage-async",
    no_args_is_help=True,
    add_completion=False,  # see `completion`
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
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
        import logging

        from .terminal import PlainFormatter

        for handler in logging.getLogger().handlers:
            handler.setFormatter(PlainFormatter("%(asctime)s %(name)s: %(message)s"))
        for name in ("brokerage_async", "brokerage_async.token"):
            logging.getLogger(name).setLevel(logging.DEBUG)


def schema() -> None:
    """Print the OpenAPI 3.1 document of the service as JSON, for generators, linters and documentation tools.

    One document without references to files: `brokerage-async schema > openapi.json`.
    """
    from .._generated import openapi

    typer.echo(openapi(), nl=False)


add(app, demo.demo, short_help="Show the main job, from a token to a filled order.")
app.add_typer(serve.group, name="simulator")
for _command in (accounts.accounts, accounts.positions, accounts.balances, market.quote, market.search, market.chain):
    add(app, _command)
app.add_typer(orders.group, name="orders")
app.add_typer(watch.group, name="watch")
app.add_typer(stream.group, name="stream")
app.add_typer(fetch.group, name="fetch")
add(
    app, call.call, add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)  # fmt: skip
add(app, conformance.conformance, short_help="Compare what a service does with what is described here.")
add(app, doctor.doctor, short_help="Check that this machine is ready to trade.")
app.command(short_help="Print the schema of the service for other tools.")(schema)
app.command(short_help="Print the completion script of a shell.")(completion.completion)
