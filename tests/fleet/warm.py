"""Loaded before the workers are forked: whatever the first order builds is built once, not by each of 20 processes."""

import asyncio

from tests.fleet.crowd import small_simulator, warm_up

asyncio.run(warm_up(small_simulator()))
