"""Random values: of the system, or of the seed of a simulated run, which its event loop holds.

Nothing here reads or changes the state of the module `random`, which belongs to the program.
"""

from __future__ import annotations

import asyncio
import random
import uuid

SYSTEM = random.SystemRandom()


def _source() -> random.Random:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return SYSTEM
    return getattr(loop, "seeded_random", None) or SYSTEM


def chance() -> float:
    """Return a random number in [0, 1), to spread load: it guards no secret."""
    return _source().random()


def new_identifier() -> str:
    """Return a random UUID (version 4). One of a simulated run is a function of its seed."""
    return str(uuid.UUID(int=_source().getrandbits(128), version=4))
