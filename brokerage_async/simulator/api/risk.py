"""Handlers of ``risk``: position limits, and SPAN files of the listed futures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from ..._generated.converters import PositionLimitWire, SpanRowWire
from ..._generated.models import InstrumentCollection, InstrumentType
from ...protocol.response import Response
from ..market.calendar import CALENDARS
from ..market.catalogue import Catalogue
from ..market.prices import Prices
from ..trading.limits import LIMITS
from .access import Access
from .parsed_request import ParsedRequest
from .wire import RefusedError, dumps, item, items

__all__ = ["Risk"]

_EXCHANGES = {"CME": InstrumentCollection.CME, "CFE": InstrumentCollection.CFE}
_WIDTH = 80


class Risk:
    """Serves the limits that orders are held against, and margin files made from the simulated prices."""

    def __init__(self, access: Access, catalogue: Catalogue, prices: Prices) -> None:
        self._access = access
        self._catalogue = catalogue
        self._prices = prices

    def position_limit(self, request: ParsedRequest) -> Response:
        """Return the limits of an account, the same for every one."""
        limits = PositionLimitWire(
            account_number=self._access.account(request).number,
            equity_option_order_size=LIMITS[InstrumentType.EQUITY_OPTION].order,
            equity_order_size=LIMITS[InstrumentType.EQUITY].order,
            future_option_order_size=LIMITS[InstrumentType.FUTURE_OPTION].order,
            future_order_size=LIMITS[InstrumentType.FUTURE].order,
            equity_option_position_size=LIMITS[InstrumentType.EQUITY_OPTION].position,
            equity_position_size=LIMITS[InstrumentType.EQUITY].position,
            future_option_position_size=LIMITS[InstrumentType.FUTURE_OPTION].position,
            future_position_size=LIMITS[InstrumentType.FUTURE].position,
        )
        return item(limits, request.context)

    def span_rows(self, request: ParsedRequest) -> Response:
        """Return a page of the file of one day; a day without a finished session has none."""
        exchange, day = request.query["exchange"], request.query["date"]
        if exchange not in _EXCHANGES:
            raise RefusedError.invalid([request.problem("exchange", "exchange must be CME or CFE")])
        session = CALENDARS[_EXCHANGES[exchange]].session(day)
        lines = list(self._lines(exchange, day, session.close)) if session and session.close <= request.now else []
        page = request.slice(len(lines))
        rows = (
            SpanRowWire(file_date=day, row_index=number, exchange=exchange, row_data=lines[number])
            for number in range(page.start, page.stop)
        )
        return items(map(dumps, rows), request.context, page)

    def _lines(self, exchange: str, day: date, close: float) -> Iterator[str]:
        """Yield the header of a file, then the settlement price of every future."""
        yield f"0 {exchange:<6}{day:%Y%m%d}S".ljust(_WIDTH)
        for contract in self._catalogue.futures(day).definitions:
            product = contract.product
            if product.exchange == exchange and contract.expires >= day:
                price = self._prices.underlying_price(contract.symbol, close)
                month = f"{contract.year}{contract.month:02d}"
                yield f"82{exchange:<6}{product.code:<10}{product.code:<10}FUT{month}{price:>20f}".ljust(_WIDTH)
