"""``brokerage-async simulator``: serve the embedded brokerage and print how to reach it."""

from __future__ import annotations

import asyncio
import enum
from typing import Annotated, Literal

import typer

from ..simulator import Simulator
from .console import out, run

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

    Prints address and credentials as lines for a shell, so that other commands can be pointed at it.
    """
    run(serve(environment.value, host, port, seed, latency))


async def serve(environment: Literal["sandbox", "production"], host: str, port: int, seed: int, latency: float) -> None:
    async with Simulator(environment=environment, host=host, port=port, seed=seed) as server:
        server.latency = latency
        exports = {
            "BROKERAGE_BASE_URL": server.base_url,
            "BROKERAGE_ENVIRONMENT": environment,
            "BROKERAGE_CLIENT_ID": server.client_id,
            "BROKERAGE_CLIENT_SECRET": server.client_secret,
            "BROKERAGE_REFRESH_TOKEN": server.refresh_token,
        }
        for name, value in exports.items():
            out.print(f"export {name}={value}", soft_wrap=True)
        accounts = ", ".join(server.account_numbers)
        out.print(f"# customer {server.customer_id}, accounts {accounts}; Ctrl-C ends it", soft_wrap=True)
        await asyncio.Event().wait()
