"""Trading hours of the symbols of a stream, read when a stream seems to be mute."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from .._arguments import running_loop
from .._generated.models import MarketSession
from ..protocol.timetable import is_open, timetable_range
from .access import StreamAccess

__all__ = ["TradingHours", "collection_of"]

logger: logging.Logger = logging.getLogger("brokerage_async.stream")

REFRESH_INTERVAL = 3600.0
"""Seconds after which a timetable is read again."""

RETRY_DELAY = 60.0
"""Seconds to wait after a failure to read it."""

READ_TIMEOUT = 5.0
"""Maximum seconds to read it."""


def collection_of(symbol: str) -> str | None:
    """Return the collection whose hours a streamer symbol has; None for cryptocurrencies, which have none.

    The sessions of futures are those of the exchange; a product may have shorter ones.
    """
    symbol = symbol.partition("{")[0]
    if symbol.startswith(("/", "./")):
        return "CFE" if symbol.endswith(":XCBF") else "CME"
    return None if ":" in symbol else "Equity"


class TradingHours:
    """Timetables of the markets, kept for an hour."""

    def __init__(self, access: StreamAccess) -> None:
        self._access = access
        self._sessions: dict[str, list[MarketSession] | None] = {}
        self._read_again: dict[str, float] = {}

    async def was_open(self, symbol: str, seconds: float) -> bool | None:
        """Return whether the market of a symbol has been open for some seconds, None if it cannot be known."""
        collection = collection_of(symbol)
        if collection is None:
            return True
        clock = running_loop().time
        if clock() >= self._read_again.get(collection, float("-inf")):
            first, last = timetable_range(self._access.now())
            try:
                async with asyncio.timeout(READ_TIMEOUT):
                    self._sessions[collection] = await self._access.endpoints.market_time.sessions(
                        last, from_date=first, instrument_collection=collection
                    )
            except Exception as error:  # nothing of it may end the stream
                logger.warning("reading the market timetable failed: %s", type(error).__name__)
                self._read_again[collection] = clock() + RETRY_DELAY
            else:
                self._read_again[collection] = clock() + REFRESH_INTERVAL
        if (sessions := self._sessions.get(collection)) is None:
            return None
        now = self._access.now()
        then = now - timedelta(seconds=seconds)
        return any(is_open([session], then) and is_open([session], now) for session in sessions)
