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

from ..client import Client
from ..errors import BrokerageError
from ..simulator import Simulator

__all__ = ["complain", "connect", "echo_json", "err", "on_real_service", "out", "run"]

# What is printed comes from the service, or from a user: no text of theirs is markup.
out: Console = Console(markup=False, emoji=False, highlight=False)
err: Console = Console(stderr=True, markup=False, emoji=False, highlight=False)

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
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        err.print("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def complain(error: Exception, *, style: str = "yellow") -> None:
    """Say on stderr what went wrong."""
    err.print(f"{type(error).__name__}: {error}", style=style, soft_wrap=True)


def echo_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as JSON on stdout, in ASCII where stdout takes no UTF-8."""
    encoding = getattr(sys.stdout, "encoding", None) or ""
    ascii_only = not encoding.lower().startswith("utf")
    typer.echo(json.dumps(value, indent=indent, ensure_ascii=ascii_only, default=str))


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
