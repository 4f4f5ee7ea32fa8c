"""Handler of ``positions``: what an account holds after its fills."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ..._generated.converters import PositionWire
from ..._generated.models import PriceEffect, QuantityDirection
from ...protocol.response import Response
from ..accounts.accounts import Account, Position
from ..market.calendar import CALENDARS, local_date
from ..market.instrument import Instrument
from ..market.prices import Prices
from .access import Access
from .parsed_request import ParsedRequest
from .wire import Dialect, dumps, items, money, timestamp

__all__ = ["Positions"]

_DAY = 86400.0
_CENT = Decimal("0.01")


class Positions:
    """Serves the positions of an account; closed ones are purged at once.

    ``list`` hides the builtin within the class.
    """

    def __init__(self, access: Access, prices: Prices, dialect: Dialect) -> None:
        self._access = access
        self._prices = prices
        self._dialect = dialect

    def _matching(self, request: ParsedRequest, account: Account) -> Iterator[Position]:
        """Yield the positions that pass every filter of the query."""
        query = request.query
        underlyings, product = query.get("underlying_symbols"), query.get("underlying_product_code")
        for position in account.positions.values():
            instrument = position.instrument
            if (
                query.get("symbol") in (None, instrument.symbol)
                and (underlyings is None or instrument.underlying in underlyings)
                and query.get("instrument_type") in (None, instrument.instrument_type)
                and product in (None, _product_code(instrument))
                and "partition_keys" not in query
            ):
                yield position

    def row(self, position: Position, account: Account, now: float, *, with_mark: bool) -> PositionWire:
        """Return a position as it is sent."""
        instrument, quantity = position.instrument, abs(position.quantity)
        is_long, today = position.quantity > 0, local_date(now)
        realized = position.realized_on(today)
        row = PositionWire(
            account_number=account.number,
            instrument_type=instrument.instrument_type,
            symbol=instrument.symbol,
            underlying_symbol=instrument.underlying,
            quantity=self._dialect.quantity(quantity),
            average_open_price=money(position.average_price),
            close_price=money(self._prices.price(instrument, _previous_close(instrument, now))),
            cost_effect=PriceEffect.CREDIT if is_long else PriceEffect.DEBIT,
            is_frozen=False,
            is_suppressed=False,
            multiplier=self._dialect.quantity(instrument.multiplier),
            quantity_direction=QuantityDirection.LONG if is_long else QuantityDirection.SHORT,
            restricted_quantity=self._dialect.quantity(Decimal(0)),
            realized_day_gain=money(abs(realized)),
            realized_today=money(abs(realized)),
            created_at=timestamp(position.opened_at),
            updated_at=timestamp(self._updated_at(position, account)),
        )
        if realized:
            effect = PriceEffect.CREDIT if realized > 0 else PriceEffect.DEBIT
            row.realized_day_gain_date = row.realized_today_date = today
            row.realized_day_gain_effect = row.realized_today_effect = effect
        row.expires_at = timestamp(instrument.expires_at)
        if with_mark:
            price = self._prices.price(instrument, now)
            row.mark_price = money(price)
            row.mark = money((price * quantity * instrument.multiplier).quantize(_CENT))
        return row

    def _updated_at(self, position: Position, account: Account) -> float:
        symbol = position.instrument.symbol
        booked = (each.executed_at for each in reversed(account.transactions) if each.wire.symbol == symbol)
        return next(booked, position.opened_at)

    def list(self, request: ParsedRequest) -> Response:
        """Return the positions of an account, with marks if asked for."""
        account = self._access.account(request)
        with_mark = request.query.get("include_marks", False)
        rows = (
            self.row(position, account, request.now, with_mark=with_mark)
            for position in self._matching(request, account)
        )
        return items(map(dumps, rows), request.context)


def _product_code(instrument: Instrument) -> str | None:
    """Return the code of the futures product of an instrument."""
    return instrument.underlying[1:-2] if instrument.underlying.startswith("/") else None


def _previous_close(instrument: Instrument, now: float) -> float:
    """Return the time of the last close before ``now``: a day ago for instruments that trade around the clock."""
    if instrument.collection is None:
        return now - _DAY
    return CALENDARS[instrument.collection].preceding(local_date(now)).close
