"""``brokerage-async simulator``."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

__all__ = ["register"]


class EnvironmentName(enum.Enum):
    """The two environments, as an option can name them."""

    SANDBOX = "sandbox"
    PRODUCTION = "production"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulator")(simulator)


def simulator(
    environment: Annotated[EnvironmentName, typer.Option(help="environment to play")] = EnvironmentName.SANDBOX,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 takes a free one")] = 0,
    seed: Annotated[int, typer.Option(help="same seed, same history")] = 0,
    latency: Annotated[float, typer.Option(min=0.0, help="seconds that every answer is delayed")] = 0.0,
) -> None:
    """Serve a simulated brokerage until Ctrl-C.

    Prints address, credentials and an account as lines for a shell, so that other commands can be pointed at it:
    send them to a file and read that with `.` (dot) in the shell.
    """
    from ..console import run
    from ..serve import serve

    run(serve(environment.value, host, port, seed, latency))
