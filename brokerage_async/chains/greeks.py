"""Quotes and greeks of the options of a chain, read from the market-data stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Any, Protocol

import attrs

from .._arguments import check_seconds
from .._generated.models import Greeks, Quote
from .._terms import exact
from ..errors import InvalidRequestError
from ..protocol.streams.events import Gap, Snapshot
from .expiration import Expiration, Strike


class MarketEvents(Protocol):
    """Stream of market events."""

    def __aiter__(self) -> AsyncIterator[Any]:
        """Iterate over them as they arrive."""
        ...

    @property
    def symbols(self) -> Mapping[str, str]:
        """Streamer symbol of each symbol that is subscribed."""
        ...


class MarketStreams(Protocol):
    """The part of ``client.stream`` that a chain needs."""

    def quotes(
        self, symbols: Iterable[str], events: Iterable[str | type[Any]] = ...
    ) -> AbstractAsyncContextManager[MarketEvents]:
        """Iterate over market events of some symbols."""
        ...


@attrs.frozen
class OptionGreeks:
    """Option with its quote and greeks.

    Attributes:
        symbol: symbol, as orders take it.
        option_type: ``C`` for a call, ``P`` for a put.
        strike: strike with the other option of the pair.
        expiration: expiration with all its strikes.
        quote: latest bid and ask.
        greeks: latest price, volatility and greeks.
    """

    symbol: str
    option_type: str
    strike: Strike = attrs.field(repr=lambda strike: f"{strike.price:f}")
    expiration: Expiration = attrs.field(repr=str)
    quote: Quote
    greeks: Greeks


@attrs.frozen
class ChainGreeks:
    """Quotes and greeks of a chain at one moment.

    Attributes:
        options: options by expiration, then strike, the call before the put. Without the missing ones.
        missing: symbols of the options whose quote or greeks did not come in time.
    """

    options: tuple[OptionGreeks, ...] = attrs.field(repr=lambda found: f"<{len(found)} options>")
    missing: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[OptionGreeks]:
        return iter(self.options)

    def by_delta(self, delta: Decimal | float | str, option_type: str | None = None) -> OptionGreeks:
        """Return the option whose delta is nearest to the given one. The earlier, then lower one of two equally near.

        Args:
            delta: delta of one option on one share: positive for a call, negative for a put, such as ``-0.16``.
            option_type: ``C`` or ``P`` to compare magnitudes among calls or puts, whatever the sign of ``delta``.

        Raises:
            InvalidRequestError: ``delta`` is not between -1 and 1, or no option of the type has a delta.
        """
        wanted = exact("delta", str(delta) if isinstance(delta, float) else delta)
        if abs(wanted) > 1:
            raise InvalidRequestError(f"delta must be between -1 and 1, got {delta!r}: 16 delta are 0.16")
        if option_type not in (None, "C", "P"):
            raise InvalidRequestError(f"option_type must be C or P, got {option_type!r}")
        if option_type is not None:
            wanted = abs(wanted) if option_type == "C" else -abs(wanted)
        found = [
            (abs(option.greeks.delta - wanted), option)
            for option in self.options
            if option.greeks.delta is not None and option_type in (None, option.option_type)
        ]
        if not found:
            kind = {"C": "call", "P": "put"}.get(option_type or "", "option")
            raise InvalidRequestError(f"delta must be one of an option that was found, got no {kind} with a delta")
        return min(found, key=lambda each: each[0])[1]


async def read_greeks(streams: MarketStreams, expirations: Iterable[Expiration], timeout: float) -> ChainGreeks:
    """Return the quotes and greeks of all options of some expirations. See `OptionChain.greeks`."""
    check_seconds("timeout", timeout)
    options = [
        (symbol, streamer or symbol, option_type, strike, expiration)
        for expiration in expirations
        for strike in expiration.strikes
        for option_type, symbol, streamer in (
            ("C", strike.row.call, strike.row.call_streamer_symbol),
            ("P", strike.row.put, strike.row.put_streamer_symbol),
        )
        if symbol
    ]
    pending: set[str] = set()
    quotes: dict[str, Quote] = {}
    greeks: dict[str, Greeks] = {}
    names: Mapping[str, str] = {}
    limit = asyncio.timeout(timeout)
    try:
        async with limit, streams.quotes([name for _, name, *_ in options], (Quote, Greeks)) as events:
            names = events.symbols
            wanted = frozenset(names.values())
            pending = set(wanted)
            async for event in events:
                if isinstance(event, Gap):  # earlier events may be much older than later ones
                    quotes, greeks, pending = {}, {}, set(wanted)
                for row in event.events if isinstance(event, Snapshot) else (event,):
                    if isinstance(row, Quote | Greeks):
                        found: dict[str, Any] = quotes if isinstance(row, Quote) else greeks
                        found[row.event_symbol] = row
                        if row.event_symbol in quotes and row.event_symbol in greeks:
                            pending.discard(row.event_symbol)
                if not pending:
                    break
    except TimeoutError:
        if not limit.expired():
            raise
    complete = [
        OptionGreeks(symbol, option_type, strike, expiration, quotes[event_symbol], greeks[event_symbol])
        for symbol, name, option_type, strike, expiration in options
        if (event_symbol := names.get(name, name)) in quotes and event_symbol in greeks
    ]
    found_symbols = {option.symbol for option in complete}
    return ChainGreeks(tuple(complete), tuple(symbol for symbol, *_ in options if symbol not in found_symbols))
