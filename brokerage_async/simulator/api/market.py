"""Handlers of ``market_time`` and ``market_data``."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any, cast

import msgspec

from ..._generated import converters as wires
from ..._generated.models import ClosePriceType, InstrumentCollection, InstrumentType, MarketState
from ...protocol.response import Response
from ..market.calendar import CALENDARS, YEARS, Calendar, TradingSession, half_days, holidays, local_date
from .request_parser import Handlers, ParsedRequest, broken_query_rules
from .wire import RefusedError, found, money, timestamp

_FUTURES = (InstrumentCollection.CME, InstrumentCollection.CFE)


def _session(calendar: Calendar, session: TradingSession) -> wires.MarketSessionWire:
    return wires.MarketSessionWire(
        instrument_collection=calendar.collection,
        session_date=session.day,
        start_at=timestamp(session.start),
        open_at=timestamp(session.open),
        close_at=timestamp(session.close),
        close_at_ext=timestamp(session.close_ext),
    )


def current_session(calendar: Calendar, now: float) -> wires.CurrentMarketSessionWire:
    """Return the current session and its neighbors.

    On a day without a session the answer has only the neighbors and ``Closed``.
    """
    session = calendar.current(now)
    day = local_date(now) if session is None else session.day
    shown: dict[str, Any] = {"instrument_collection": calendar.collection}
    if session is not None:
        shown = msgspec.structs.asdict(_session(calendar, session))
    return wires.CurrentMarketSessionWire(
        **shown,
        state=MarketState.CLOSED if session is None else session.state(now),
        next_session=_session(calendar, calendar.following(day)),
        previous_session=_session(calendar, calendar.preceding(day)),
    )


class MarketTime(Handlers):
    """Serves the calendars."""

    def sessions(self, request: ParsedRequest) -> Response:
        """Return one session per trading day of a range, by default from today."""
        first: date = request.query.get("from_date", local_date(request.now))
        last: date = request.query["to_date"]
        problems = broken_query_rules(request.operation, {**request.query, "from_date": first})
        if problems:
            raise RefusedError.invalid(self._dialect.problem(one.code, one.message, one.domain) for one in problems)
        if last < first:
            message = f"{request.wire('to_date')} is before {request.wire('from_date')}"
            raise RefusedError.invalid([self._dialect.problem("invalid", message, request.wire("to_date"))])
        calendar = CALENDARS[request.query.get("instrument_collection", InstrumentCollection.EQUITY)]
        return request.items(_session(calendar, session) for session in calendar.between(first, last))

    def current_sessions(self, request: ParsedRequest) -> Response:
        requested = dict.fromkeys(request.query["instrument_collections"])
        rows = [current_session(CALENDARS[collection], request.now) for collection in requested]
        if self._dialect.form == "documented" and len(rows) == 1:
            return request.item(rows[0])
        return request.items(rows)

    def equity_session(self, request: ParsedRequest) -> Response:
        now = request.query.get("current_time", request.now)
        _require_sessions(request, "current_time", local_date(now))
        return request.item(current_session(_calendar(request), now))

    def next_equity_session(self, request: ParsedRequest) -> Response:
        """Return the first session of an exchange on or after a day."""
        calendar, day = _calendar(request), _day(request)
        return request.item(_session(calendar, calendar.session(day) or calendar.following(day)))

    def previous_equity_session(self, request: ParsedRequest) -> Response:
        """Return the last session of an exchange before a day."""
        calendar = _calendar(request)
        return request.item(_session(calendar, calendar.preceding(_day(request))))

    def futures_sessions(self, request: ParsedRequest) -> Response:
        rows = (current_session(CALENDARS[collection], request.now) for collection in _FUTURES)
        return request.items(rows)

    def equity_holidays(self, request: ParsedRequest) -> Response:
        """Return holidays and half days of two years, which are the same at every exchange."""
        _calendar(request)
        first = local_date(self._state.settings.start).year
        years = (first, first + 1)
        calendar = wires.HolidayCalendarWire(
            market_half_days=[day for year in years for day in sorted(half_days(year))],
            market_holidays=[day for year in years for day in sorted(holidays(year))],
        )
        if self._dialect.form == "documented":
            return request.items([calendar])
        return request.item(calendar)

    futures_session = equity_session
    next_futures_session = next_equity_session
    previous_futures_session = previous_equity_session
    futures_holidays = equity_holidays


def _calendar(request: ParsedRequest) -> Calendar:
    """Return the calendar of the futures exchange in the path, 404 for any other; without one, of the stocks."""
    collection = InstrumentCollection(request.path.get("instrument_collection", InstrumentCollection.EQUITY))
    if "instrument_collection" in request.path and collection not in _FUTURES:
        raise RefusedError.not_found("instrument collection")
    return CALENDARS[collection]


def _day(request: ParsedRequest) -> date:
    """Return the day asked for, by default today; 422 outside of the years of the calendars."""
    day: date = request.query.get("date", local_date(request.now))
    _require_sessions(request, "date", day)
    return day


def _require_sessions(request: ParsedRequest, name: str, day: date) -> None:
    if day.year not in YEARS[1:-1]:
        raise RefusedError.invalid([request.problem(name, f"{request.wire(name)} is out of range")])


_ANY_SIZE = Decimal(100)
"""Size that is shown where any quantity trades."""
_INDEX = InstrumentType.INDEX
_REGULAR, _FINAL = (cast("ClosePriceType", kind.title()) for kind in (ClosePriceType.REGULAR, ClosePriceType.FINAL))
"""Kinds of closing prices as they were recorded here; streams write them in capitals."""


class MarketData(Handlers):
    """Serves bid, ask and last price of every instrument that can be traded, and of indices."""

    def quote_token(self, request: ParsedRequest) -> Response:
        token = self._state.quote_tokens.issue(request.customer, request.now)
        is_demo = self._state.settings.environment == "sandbox" and self._has("quote_token_level")
        level = "demo" if is_demo else "api"
        return request.item(wires.QuoteTokenWire(token=token, dxlink_url=self._state.quote_tokens.url, level=level))

    def by_type(self, request: ParsedRequest) -> Response:
        """Return the prices of the requested instruments, without the unknown ones."""
        rows = (
            self._row(InstrumentType(parameter.name.replace("_", " ").title()), symbol, request.now)
            for parameter in request.operation.parameters
            if parameter.array
            for symbol in dict.fromkeys(request.query.get(parameter.name, ()))
        )
        return request.items(row for row in rows if row is not None)

    def get(self, request: ParsedRequest) -> Response:
        row = self._row(InstrumentType(request.path["instrument_type"]), request.path["symbol"], request.now)
        return request.item(found(row, "instrument"))

    def _row(self, instrument_type: InstrumentType, symbol: str, now: float) -> wires.MarketDataSnapshotWire | None:
        """Return the prices of an instrument, None for an unknown one. Indices have no bid and ask."""
        today = local_date(now)
        previous = CALENDARS[InstrumentCollection.EQUITY].preceding(today)
        wire = wires.MarketDataSnapshotWire(
            symbol=symbol,
            instrument_type=instrument_type,
            updated_at=timestamp(now),
            close_price_type=_REGULAR,
            prev_close_price_type=_FINAL,
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
        wire.last = wire.mark = money(quote.last)
        wire.mid = money((quote.bid + quote.ask) / 2)
        wire.volume = None if quote.volume is None else _size(quote.volume)
        wire.prev_close = money(self._prices.price(instrument, previous.close))
        wire.is_trading_halted = instrument.halted
        wire.tick_size = money(instrument.tick_at(quote.last))
        return wire


def _size(size: Decimal | None) -> str:
    """Return a quantity as recorded, with one decimal."""
    return f"{_ANY_SIZE if size is None else size:.1f}"
