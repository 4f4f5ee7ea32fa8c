"""The running event loop, or an error that says what to do."""

from __future__ import annotations

import asyncio

from .errors import ConfigurationError

__all__ = ["OTHER_LOOP", "running_loop"]

NO_LOOP = (
    "no asyncio event loop is running here: start the program with asyncio.run(main()), or with anyio.run(main, "
    "backend='asyncio'); trio's own loop is not supported"
)
OTHER_LOOP = (
    "a client belongs to the event loop that used it first: make one client per loop and per asyncio.run(), or pass "
    "the call to its loop with asyncio.run_coroutine_threadsafe(coroutine, loop)"
)


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the running event loop.

    Raises:
        ConfigurationError: no loop is running, as in a program on trio.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigurationError(NO_LOOP) from None
