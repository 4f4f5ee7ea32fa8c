"""``brokerage-async simulator``: serve the embedded brokerage and print how to reach it."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Literal

import typer

from ..errors import ConfigurationError
from ..simulator import Simulator
from .console import run, say

__all__ = ["register"]


class World(enum.Enum):
    """The two environments, as an option can name them."""

    SANDBOX = "sandbox"
    PRODUCTION = "production"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulator")(simulator)


def simulator(
    environment: Annotated[World, typer.Option(help="which of the two to be")] = World.SANDBOX,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 takes a free one")] = 0,
    seed: Annotated[int, typer.Option(help="same seed, same history")] = 0,
    latency: Annotated[float, typer.Option(min=0.0, help="seconds that every answer is delayed")] = 0.0,
) -> None:
    """Serve a simulated brokerage until Ctrl-C.

    Prints address, credentials and an account as lines for a shell, so that other commands can be pointed at it:
    send them to a file and read that with `.` (dot) in the shell.
    """
    run(serve(environment.value, host, port, seed, latency))


async def serve(environment: Literal["sandbox", "production"], host: str, port: int, seed: int, latency: float) -> None:
    async with listening(
        Simulator(environment=environment, host=host, port=port, seed=seed, latency=latency)
    ) as server:
        exports = {
            "BROKERAGE_BASE_URL": server.base_url,
            "BROKERAGE_ENVIRONMENT": environment,
            "BROKERAGE_CLIENT_ID": server.client_id,
            "BROKERAGE_CLIENT_SECRET": server.client_secret,
            "BROKERAGE_REFRESH_TOKEN": server.refresh_token,
            "BROKERAGE_ACCOUNT": server.account_numbers[0],
        }
        for name, value in exports.items():
            say(f"export {name}={value}")
        accounts = ", ".join(server.account_numbers)
        say(f"# customer {server.customer_id}, accounts {accounts}; Ctrl-C ends it")
        await asyncio.Event().wait()


@asynccontextmanager
async def listening(server: Simulator) -> AsyncIterator[Simulator]:
    """The simulator while it listens.

    Raises:
        ConfigurationError: the address cannot be had.
    """
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(server)
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen there: {error.strerror}; choose another --host or --port (0: any free port)"
            ) from None
        yield server
