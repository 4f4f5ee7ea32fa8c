"""Simulator command: serve the embedded brokerage and print how to reach it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

from ..errors import ConfigurationError
from ..simulator import Simulator
from .console import say

__all__ = ["serve"]


async def serve(environment: Literal["sandbox", "production"], host: str, port: int, seed: int, latency: float) -> None:
    """Serve a simulator and print how to reach it."""
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
    """Start the simulator on its address.

    Raises:
        ConfigurationError: the address is not available.
    """
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(server)
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen there: {error.strerror}; choose another --host or --port (0: any free port)"
            ) from None
        yield server
