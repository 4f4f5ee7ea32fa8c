"""Handlers of ``market_time``: sessions and holidays."""

from __future__ import annotations

from datetime import date

from ..._generated.converters import CurrentMarketSessionWire, HolidayCalendarWire, MarketSessionWire
from ..._generated.models import InstrumentCollection, MarketState
from ...protocol.response import Response
from ..market.calendar import CALENDARS, YEARS, Calendar, TradingSession, half_days, holidays, local_date
from .parsed_request import ParsedRequest
from .request_parser import broken_query_rules
from .wire import Dialect, RefusedError, dumps, item, items, timestamp

__all__ = ["MarketTime"]

_FUTURES = (InstrumentCollection.CME, InstrumentCollection.CFE)


def _session(calendar: Calendar, session: TradingSession) -> MarketSessionWire:
    return MarketSessionWire(
        instrument_collection=calendar.collection,
        session_date=session.day,
        start_at=timestamp(session.start),
        open_at=timestamp(session.open),
        close_at=timestamp(session.close),
        close_at_ext=timestamp(session.close_ext),
    )


def current_session(calendar: Calendar, now: float) -> CurrentMarketSessionWire:
    """Return the current session and its neighbors.

    On a day without a session the answer has only the neighbors and ``Closed``.
    """
    session = calendar.current(now)
    day = local_date(now) if session is None else session.day
    wire = CurrentMarketSessionWire(
        instrument_collection=calendar.collection,
        state=MarketState.CLOSED if session is None else session.state(now),
        next_session=_session(calendar, calendar.following(day)),
        previous_session=_session(calendar, calendar.preceding(day)),
    )
    if session is not None:
        wire.session_date = session.day
        wire.start_at, wire.open_at = timestamp(session.start), timestamp(session.open)
        wire.close_at, wire.close_at_ext = timestamp(session.close), timestamp(session.close_ext)
    return wire


class MarketTime:
    """Serves the calendars."""

    def __init__(self, dialect: Dialect, opened: float) -> None:
        self._dialect = dialect
        self._first_year = local_date(opened).year

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
        rows = (dumps(_session(calendar, session)) for session in calendar.between(first, last))
        return items(rows, request.context)

    def current_sessions(self, request: ParsedRequest) -> Response:
        """Return the current session of each requested collection."""
        requested = dict.fromkeys(request.query["instrument_collections"])
        rows = [current_session(CALENDARS[collection], request.now) for collection in requested]
        if self._dialect.form == "documented" and len(rows) == 1:
            return item(rows[0], request.context)
        return items(map(dumps, rows), request.context)

    def equity_session(self, request: ParsedRequest) -> Response:
        """Return the current session of the stock exchanges, or that of another time."""
        now = request.query.get("current_time", request.now)
        _require_sessions(request, "current_time", local_date(now))
        return item(current_session(CALENDARS[InstrumentCollection.EQUITY], now), request.context)

    def next_equity_session(self, request: ParsedRequest) -> Response:
        """Return the first session of the stock exchanges on or after a day."""
        return self._next(request, InstrumentCollection.EQUITY)

    def previous_equity_session(self, request: ParsedRequest) -> Response:
        """Return the last session of the stock exchanges before a day."""
        return self._previous(request, InstrumentCollection.EQUITY)

    def futures_sessions(self, request: ParsedRequest) -> Response:
        """Return the current session of each futures exchange."""
        rows = (current_session(CALENDARS[collection], request.now) for collection in _FUTURES)
        return items(map(dumps, rows), request.context)

    def futures_session(self, request: ParsedRequest) -> Response:
        """Return the current session of one futures exchange."""
        return item(current_session(CALENDARS[_futures_exchange(request)], request.now), request.context)

    def next_futures_session(self, request: ParsedRequest) -> Response:
        """Return the first session of a futures exchange on or after a day."""
        return self._next(request, _futures_exchange(request))

    def previous_futures_session(self, request: ParsedRequest) -> Response:
        """Return the last session of a futures exchange before a day."""
        return self._previous(request, _futures_exchange(request))

    def futures_holidays(self, request: ParsedRequest) -> Response:
        """Return the holidays of a futures exchange, which are those of the stock exchanges."""
        _futures_exchange(request)
        return self.equity_holidays(request)

    def _next(self, request: ParsedRequest, collection: InstrumentCollection) -> Response:
        calendar, day = CALENDARS[collection], _day(request)
        return item(_session(calendar, calendar.session(day) or calendar.following(day)), request.context)

    def _previous(self, request: ParsedRequest, collection: InstrumentCollection) -> Response:
        calendar = CALENDARS[collection]
        return item(_session(calendar, calendar.preceding(_day(request))), request.context)

    def equity_holidays(self, request: ParsedRequest) -> Response:
        """Return holidays and half days of two years."""
        years = (self._first_year, self._first_year + 1)
        calendar = HolidayCalendarWire(
            market_half_days=[day for year in years for day in sorted(half_days(year))],
            market_holidays=[day for year in years for day in sorted(holidays(year))],
        )
        if self._dialect.form == "documented":
            return items([dumps(calendar)], request.context)
        return item(calendar, request.context)


def _futures_exchange(request: ParsedRequest) -> InstrumentCollection:
    """Return the futures exchange in the path; 404 for any other collection."""
    collection = InstrumentCollection(request.path["instrument_collection"])
    if collection not in _FUTURES:
        raise RefusedError.not_found("instrument collection")
    return collection


def _day(request: ParsedRequest) -> date:
    """Return the day asked for, by default today; 422 outside of the years of the calendars."""
    day: date = request.query.get("date", local_date(request.now))
    _require_sessions(request, "date", day)
    return day


def _require_sessions(request: ParsedRequest, name: str, day: date) -> None:
    """Raise a 422 error for a day without sessions around it."""
    if day.year not in YEARS[1:-1]:
        raise RefusedError.invalid([request.problem(name, f"{request.wire(name)} is out of range")])
