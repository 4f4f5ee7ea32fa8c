"""Simulator command: serve the embedded brokerage and print how to reach it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from ..errors import ConfigurationError
from ..simulator import Simulator
from .console import say

__all__ = ["serve"]


async def serve(*, speed: float = 1.0, faults: Iterable[str] = (), **options: Any) -> None:
    """Serve a simulator and print how to reach it.

    Args:
        speed: simulated seconds per second.
        faults: faults of the form ``METHOD PATH FAULT``, or a fault alone for every request.
        options: arguments of the simulator.

    Raises:
        ConfigurationError: an option is invalid, or the address is not available.
    """
    try:
        simulator = Simulator(**options)
        simulator.clock.speed = speed
        for fault in faults:
            method, path, name = fault.split() if " " in fault.strip() else ("*", ".*", fault)
            simulator.faults.add(method, path, name, None)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    async with listening(simulator) as server:
        for name, value in server.environ.items():
            say(f"export {name}={value}")
        accounts = ", ".join(server.account_numbers)
        page = f"; page {server.page_url}" if server.page_url else ""
        say(
            f"# customer {server.customer_id}, accounts {accounts}; {server.clock.time:%Y-%m-%d %H:%M}Z{page}; "
            "Ctrl-C ends it"
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
