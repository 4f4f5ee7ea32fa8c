"""Command tree of the console, and the terminal that a command finds.

Help and completion are quick: modules of commands import what takes time when a command runs.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from types import TracebackType
from typing import Annotated

import typer
from typer.main import get_command

from .._version import __version__
from . import accounts, call, completion, conformance, demo, doctor, fetch, market, orders, serve, stream, watch
from .command import add
from .tables import PlainFormatter, printable

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


def start() -> None:
    """Set up streams, logging and tracebacks, and run the command, or complete one."""
    command = get_command(app)
    if completion.VARIABLE in os.environ:
        print(*completion.complete(command, sys.argv[1:]), sep="\n")
        return
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):  # characters that a terminal cannot show must not end a command
            output.reconfigure(errors="replace")
    # An error of the token ends a command, or its watcher reports it: once is enough.
    logging.getLogger("brokerage_async.token").setLevel(logging.ERROR)
    handler = logging.StreamHandler()
    handler.setFormatter(PlainFormatter("%(message)s"))
    logging.basicConfig(handlers=[handler])
    sys.excepthook = print_traceback
    command()  # calling the app itself would put typer's own hook in place of this one


def print_traceback(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    """Print an unexpected exception, which may quote the service."""
    import traceback

    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, where))))
