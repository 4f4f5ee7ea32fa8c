"""What every command shares: where to print, how to run a coroutine, and which service to talk to."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from ..client import Client
from ..errors import BrokerageError, RequestNotSentError
from ..simulator import Simulator
from .terminal import PlainConsole, printable_json

__all__ = ["columns", "complain", "connect", "echo_json", "err", "on_real_service", "out", "run", "say", "show"]

out: Console = PlainConsole()
err: Console = PlainConsole(stderr=True)

WIDE = 1_000
"""Columns of a line that no terminal shows: a file, or another program, takes any."""

INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a command to its end. One of our errors, or of the system's, becomes one message on stderr and exit code 1;
    Ctrl-C leaves cleanly with 130, after the client has been closed."""
    try:
        asyncio.run(main)
    except BrokenPipeError:
        raise  # whoever read our output has had enough: that is no error
    except (BrokerageError, OSError) as error:
        complain(error, style="red")
        if on_real_service() and isinstance(
            error if isinstance(error, RequestNotSentError) else error.__cause__, RequestNotSentError
        ):
            say(f"Is BROKERAGE_BASE_URL right ({os.environ['BROKERAGE_BASE_URL']}), and the network up?", to=err)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        err.print("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def complain(error: Exception, *, style: str = "yellow") -> None:
    """Say on stderr what went wrong."""
    err.print(f"{type(error).__name__}: {error}", style=style, soft_wrap=True)


def say(text: str, *, style: str | None = None, to: Console = out) -> None:
    """Print text as it is: no line of it is cut in two."""
    to.print(text, style=style, soft_wrap=True)


def columns() -> int:
    """How wide a table may be: as the terminal, or as COLUMNS says; any width where no terminal shows it."""
    return out.width if out.is_terminal or "COLUMNS" in os.environ else WIDE


def show(table: Table) -> None:
    """Print a table, in whole where no terminal shows it."""
    wide = PlainConsole(file=out.file, width=WIDE)
    (wide if columns() == WIDE else out).print(table)


def echo_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as JSON on stdout: in ASCII where stdout takes no UTF-8, and without control characters."""
    encoding = getattr(sys.stdout, "encoding", None) or ""
    ascii_only = not encoding.lower().startswith("utf")
    written = json.dumps(value, indent=indent, ensure_ascii=ascii_only, default=str)
    typer.echo(printable_json(written))


def on_real_service() -> bool:
    """Whether the environment names a service; otherwise commands run on the embedded simulator."""
    return bool(os.environ.get("BROKERAGE_BASE_URL"))


@asynccontextmanager
async def connect() -> AsyncIterator[Client]:
    """A client of the service that the environment names (``Client.from_env``), or of a simulator of its own."""
    if on_real_service():
        async with Client.from_env() as client:
            yield client
    else:
        async with Simulator() as simulator, simulator.client() as client:
            yield client
