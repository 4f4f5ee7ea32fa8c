"""What every command shares: where to print, how to run a coroutine, and which service to talk to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import typer
from rich.console import Console

from ..client import Client
from ..errors import BrokerageError
from ..simulator import Simulator

__all__ = ["connect", "err", "on_real_service", "out", "run"]

out: Console = Console()
err: Console = Console(stderr=True)

INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a command to its end. One of our errors becomes one message on stderr and exit code 1; Ctrl-C leaves
    cleanly with 130, after the client has been closed."""
    try:
        asyncio.run(main)
    except BrokerageError as error:
        err.print(f"{type(error).__name__}: {error}", style="red", markup=False, highlight=False)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        err.print("interrupted")
        raise typer.Exit(INTERRUPTED) from None


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
