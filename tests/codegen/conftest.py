"""Nothing here needs an event loop of its own."""

from __future__ import annotations

import asyncio

# looptime asks for the current loop of tests that have none, which would make one that nobody closes.
asyncio.set_event_loop(None)
