"""Handlers of ``market_data``: the simulated prices, and tokens for their streamer."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ..._generated.converters import MarketDataSnapshotWire, QuoteTokenWire
from ..._generated.models import ClosePriceType, InstrumentCollection, InstrumentType
from ...protocol.response import Response
from ..market.calendar import CALENDARS, local_date
from ..market.catalogue import Catalogue
from ..market.prices import Prices
from ..quote_tokens import QuoteTokens
from .parsed_request import ParsedRequest
from .wire import RefusedError, dumps, item, items, money, timestamp

__all__ = ["MarketData"]

_ANY_SIZE = Decimal(100)
"""Size that is shown where any quantity trades."""
_INDEX = InstrumentType.INDEX


class MarketData:
    """Serves bid, ask and last price of every instrument that can be traded, and of indices."""

    def __init__(self, catalogue: Catalogue, prices: Prices, quote_tokens: QuoteTokens, level: str) -> None:
        self._catalogue = catalogue
        self._prices = prices
        self._quote_tokens = quote_tokens
        self._level = level

    def quote_token(self, request: ParsedRequest) -> Response:
        """Return a token for the market-data streamer, and its address."""
        token = self._quote_tokens.issue(request.customer, request.now)
        return item(QuoteTokenWire(token=token, dxlink_url=self._quote_tokens.url, level=self._level), request.context)

    def by_type(self, request: ParsedRequest) -> Response:
        """Return the prices of the requested instruments, without the unknown ones."""
        return items(map(dumps, self._rows(request)), request.context)

    def get(self, request: ParsedRequest) -> Response:
        """Return the prices of one instrument."""
        row = self._row(InstrumentType(request.path["instrument_type"]), request.path["symbol"], request.now)
        if row is None:
            raise RefusedError.not_found("instrument")
        return item(row, request.context)

    def _rows(self, request: ParsedRequest) -> Iterator[MarketDataSnapshotWire]:
        for parameter in request.operation.parameters:
            if parameter.array:
                instrument_type = InstrumentType(parameter.name.replace("_", " ").title())
                for symbol in dict.fromkeys(request.query.get(parameter.name, ())):
                    row = self._row(instrument_type, symbol, request.now)
                    if row is not None:
                        yield row

    def _row(self, instrument_type: InstrumentType, symbol: str, now: float) -> MarketDataSnapshotWire | None:
        """Return the prices of an instrument, None for an unknown one; indices have no bid and ask."""
        today = local_date(now)
        previous = CALENDARS[InstrumentCollection.EQUITY].preceding(today)
        wire = MarketDataSnapshotWire(
            symbol=symbol,
            instrument_type=instrument_type,
            updated_at=timestamp(now),
            close_price_type=ClosePriceType.REGULAR,
            prev_close_price_type=ClosePriceType.FINAL,
            summary_date=today,
            prev_close_date=previous.day,
            halt_start_time=-1,
            halt_end_time=-1,
        )
        if instrument_type is _INDEX:
            equity = self._catalogue.equity(symbol)
            if equity is None or not equity.is_index:
                return None
            wire.last = wire.mark = money(self._prices.underlying_price(symbol, now))
            wire.prev_close = money(self._prices.underlying_price(symbol, previous.close))
            return wire
        instrument = self._catalogue.instrument(instrument_type, symbol)
        if instrument is None:
            return None
        quote = self._prices.market(instrument, now)
        wire.bid, wire.ask = money(quote.bid), money(quote.ask)
        wire.bid_size, wire.ask_size = _size(quote.bid_size), _size(quote.ask_size)
        wire.last = wire.mark = wire.mid = money(quote.last)
        wire.volume = None if quote.volume is None else _size(quote.volume)
        wire.prev_close = money(self._prices.price(instrument, previous.close))
        wire.is_trading_halted = instrument.halted
        wire.tick_size = money(instrument.tick)
        return wire


def _size(size: Decimal | None) -> str:
    """Return a quantity as recorded, with one decimal."""
    return f"{_ANY_SIZE if size is None else size:.1f}"
