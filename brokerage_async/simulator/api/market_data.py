"""Handlers of ``market_data``: the simulated prices."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ..._generated.converters import MarketDataSnapshotWire
from ..._generated.models import InstrumentType
from ...protocol.response import Response
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.prices import Prices
from .parsed_request import ParsedRequest
from .wire import RefusedError, dumps, item, items, money, timestamp

__all__ = ["MarketData"]

_HALF_SPREAD = Decimal("0.0001")
_INDEX = InstrumentType.INDEX


class MarketData:
    """Serves bid, ask and last price of every instrument that can be traded, and of indices."""

    def __init__(self, catalogue: Catalogue, prices: Prices) -> None:
        self._catalogue = catalogue
        self._prices = prices

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
        wire = MarketDataSnapshotWire(
            symbol=symbol, instrument_type=instrument_type, updated_at=timestamp(now), summary_date=local_date(now)
        )
        if instrument_type is _INDEX:
            equity = self._catalogue.equity(symbol)
            if equity is None or not equity.is_index:
                return None
            wire.last = wire.mark = money(self._prices.underlying_price(symbol, now))
            return wire
        instrument = self._catalogue.instrument(instrument_type, symbol)
        if instrument is None:
            return None
        last = self._prices.price(instrument, now)
        half = max(instrument.tick, (last * _HALF_SPREAD).quantize(instrument.tick))
        wire.bid, wire.ask = money(max(last - half, Decimal(0))), money(last + half)
        wire.last = wire.mark = wire.mid = money(last)
        wire.is_trading_halted = instrument.halted
        wire.tick_size = money(instrument.tick)
        return wire
