"""Simulator command: serve the embedded brokerage and print how to reach it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from ..errors import ConfigurationError
from ..simulator import Simulator
from .console import say

__all__ = ["serve"]


async def serve(**options: Any) -> None:
    """Serve a simulator and print how to reach it.

    Raises:
        ConfigurationError: an option is invalid, or the address is not available.
    """
    try:
        simulator = Simulator(**options)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    async with listening(simulator) as server:
        exports = {
            "BROKERAGE_BASE_URL": server.base_url,
            "BROKERAGE_ENVIRONMENT": server.environment.name,
            "BROKERAGE_CLIENT_ID": server.client_id,
            "BROKERAGE_CLIENT_SECRET": server.client_secret,
            "BROKERAGE_REFRESH_TOKEN": server.refresh_token,
            "BROKERAGE_ACCOUNT": server.account_numbers[0],
        }
        for name, value in exports.items():
            say(f"export {name}={value}")
        accounts = ", ".join(server.account_numbers)
        say(
            f"# customer {server.customer_id}, accounts {accounts}; {server.clock.time:%Y-%m-%d %H:%M}Z; Ctrl-C ends it"
        )
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
