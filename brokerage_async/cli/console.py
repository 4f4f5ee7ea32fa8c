"""Printing, prompts, and running a command to its end, shared by all commands."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import BrokerageError, RequestNotSentError
from .terminal import printable, printable_json

__all__ = ["columns", "complain", "confirm", "echo_json", "err", "out", "run", "say", "show"]


class PlainConsole(Console):
    """Console for strings of others: none of them is markup, or reaches the terminal as a control sequence."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Render a string: all that is printed passes here, cells and titles of tables as well."""
        return super().render_str(printable(text), **options)


out: Console = PlainConsole()
err: Console = PlainConsole(stderr=True)

WIDE = 1_000
"""Columns of a line that is not for a terminal: a file, or another program, takes any."""

INTERRUPTED = 130  # the exit code that a shell reports for a program ended by Ctrl-C


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a command to its end.

    One of our errors, or of the system's, becomes one message on stderr and exit code 1. Ctrl-C leaves cleanly with
    130, after the client has been closed.
    """
    try:
        asyncio.run(main)
    except BrokenPipeError:
        raise  # the reader of our output has had enough, which is not an error
    except (BrokerageError, OSError) as error:
        complain(error, style="red")
        address = os.environ.get("BROKERAGE_BASE_URL")
        cause = error if isinstance(error, RequestNotSentError) else error.__cause__
        if address and isinstance(cause, RequestNotSentError):
            say(f"Is BROKERAGE_BASE_URL right ({address}), and the network up?", to=err)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        err.print("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def complain(error: Exception, *, style: str = "yellow") -> None:
    """Print an error on stderr."""
    err.print(f"{type(error).__name__}: {error}", style=style, soft_wrap=True)


def say(line: str, *, style: str | None = None, to: Console = out) -> None:
    """Print a line without breaking it."""
    to.print(line, style=style, soft_wrap=True)


def confirm(question: str) -> None:
    """Ask before something is changed; anything but yes, Ctrl-C included, leaves with exit code 1 and nothing sent."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's own acts only after the answer
    try:
        agreed = typer.confirm(printable(question))
    except typer.Abort:
        agreed = False
    finally:
        signal.signal(signal.SIGINT, handler)
    if not agreed:
        out.print("Nothing was sent.")
        raise typer.Exit(1)


def columns() -> int:
    """Return how wide a table may be: as the terminal, or as COLUMNS says; any width without a terminal."""
    return out.width if out.is_terminal or "COLUMNS" in os.environ else WIDE


def show(table: Table) -> None:
    """Print a table; without a terminal, nothing of it is cut."""
    wide = PlainConsole(file=out.file, width=WIDE)
    (wide if columns() == WIDE else out).print(table)


def echo_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as JSON on stdout: in ASCII where stdout takes no UTF-8, and without control characters."""
    encoding = getattr(sys.stdout, "encoding", None) or ""
    ascii_only = not encoding.lower().startswith("utf")
    written = json.dumps(value, indent=indent, ensure_ascii=ascii_only, default=str)
    typer.echo(printable_json(written))
