"""Streamer symbols for the symbols of the REST API.

Those of equities and their options follow from the symbol. Exchanges and venues do not, so that futures, their options
and cryptocurrencies are looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .._generated.endpoints import Endpoints
from ..errors import ConfigurationError, InvalidRequestError
from ..symbols import instrument_type_of, parse_occ

__all__ = ["candle_symbol", "streamer_symbols"]

PERIOD = re.compile(r"(?P<count>[1-9][0-9]*)?(?P<unit>mo|[tsmhdwoyvp])")
BATCH = 50
"""Symbols that are looked up with one request."""


def candle_symbol(symbol: str, period: str, *, regular_hours: bool = False) -> str:
    """Return the symbol of candles, in the form in which the service returns it.

    Args:
        symbol: streamer symbol of the instrument.
        period: number and unit, such as ``5m``, ``1h`` or ``1d`` (units t, s, m, h, d, w, mo, o, y, v, p).
        regular_hours: leave out trades outside of regular hours.

    Raises:
        ConfigurationError: invalid period.
    """
    match = PERIOD.fullmatch(period) if isinstance(period, str) else None
    if match is None:
        raise ConfigurationError(f"period must be a number and a unit such as '5m', '1h' or '1d', got {period!r}")
    count = "" if match["count"] in (None, "1") else match["count"]
    return f"{symbol}{{={count}{match['unit']}{',tho=true' if regular_hours else ''}}}"


async def streamer_symbols(endpoints: Endpoints, symbols: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Return the streamer symbol of each symbol; one that is a streamer symbol already stays.

    ``known`` are those found before.

    Raises:
        InvalidRequestError: a symbol is not a str, or the service does not know it.
    """
    if isinstance(symbols, str):
        raise InvalidRequestError(f"symbols must be a list of symbols, got the str {symbols!r}")
    found: dict[str, str] = {}
    pending: dict[str, list[str]] = {}
    for symbol in symbols:
        translated = known.get(symbol) or _derived(symbol)
        if translated is None:
            pending.setdefault(instrument_type_of(symbol), []).append(symbol)
        else:
            found[symbol] = translated
    for kind, some in pending.items():
        for start in range(0, len(some), BATCH):
            for item in await _look_up(endpoints, kind, some[start : start + BATCH]):
                if item.streamer_symbol:
                    found[item.symbol] = item.streamer_symbol
        if unknown := [symbol for symbol in some if symbol not in found]:
            raise InvalidRequestError(f"unknown symbols, or without a streamer symbol: {', '.join(unknown)}")
    return found


def _derived(symbol: str) -> str | None:
    """Return the streamer symbol that follows from the symbol, None if it must be looked up."""
    kind = instrument_type_of(symbol)
    if kind == "Equity Option":
        return parse_occ(symbol).streamer_symbol
    if kind == "Equity" or ":" in symbol:
        return symbol
    return None


async def _look_up(endpoints: Endpoints, kind: str, symbols: list[str]) -> list[Any]:
    instruments = endpoints.instruments
    if kind == "Future":
        return await instruments.futures(symbols=symbols).collect()
    if kind == "Future Option":
        return await instruments.future_options(symbols=symbols).collect()
    return await instruments.cryptocurrencies(symbols=symbols)
