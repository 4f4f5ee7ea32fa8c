"""``market_time``: sessions and holidays."""

from __future__ import annotations

from datetime import date
from typing import Any

from ...protocol.response import Response
from ..calendar import CALENDARS, Calendar, Session, half_days, holidays, local_date
from ..call import Call
from ..intake import broken_rules, query_rules
from ..wire import Dialect, RefusedError, dumps, item, items, timestamp

__all__ = ["MarketTime"]


def _session_row(calendar: Calendar, session: Session) -> dict[str, Any]:
    return {
        "instrument-collection": calendar.collection,
        "session-date": session.day.isoformat(),
        "start-at": timestamp(session.start),
        "open-at": timestamp(session.open),
        "close-at": timestamp(session.close),
        "close-at-ext": timestamp(session.close_ext),
    }


def current_row(calendar: Calendar, now: float) -> dict[str, Any]:
    """The session that is on, with its neighbours; on a day without one only the neighbours and ``Closed``."""
    session = calendar.current(now)
    day = local_date(now) if session is None else session.day
    fields = {"instrument-collection": calendar.collection} if session is None else _session_row(calendar, session)
    return {
        **fields,
        "state": "Closed" if session is None else session.state(now),
        "next-session": _session_row(calendar, calendar.following(day)),
        "previous-session": _session_row(calendar, calendar.preceding(day)),
    }


class MarketTime:
    """Answers from the calendars."""

    def __init__(self, dialect: Dialect, opened: float) -> None:
        self._dialect = dialect
        self._first_year = local_date(opened).year

    def sessions(self, call: Call) -> Response:
        """One session per trading day of a range, from today on where no start is given."""
        first: date = call.query.get("from-date", local_date(call.now))
        last: date = call.query["to-date"]
        limits = {"from-date": first, "to-date": last}
        problems = broken_rules(query_rules(call.operation), limits)
        if problems:
            raise RefusedError.invalid(self._dialect.problem(one.code, one.message, one.domain) for one in problems)
        if last < first:
            raise RefusedError.invalid([self._dialect.problem("invalid", "to-date lies before from-date", "to-date")])
        calendar = CALENDARS[call.query.get("instrument-collection", "Equity")]
        rows = (dumps(_session_row(calendar, session)) for session in calendar.between(first, last))
        return items(rows, call.context)

    def current_sessions(self, call: Call) -> Response:
        """The session that is on, for each collection asked for."""
        asked = dict.fromkeys(next(value for value in call.query.values() if isinstance(value, list)))
        rows = [current_row(CALENDARS[collection], call.now) for collection in asked]
        if self._dialect.form == "documented" and len(rows) == 1:
            return item(rows[0], call.context)
        return items(map(dumps, rows), call.context)

    def equity_holidays(self, call: Call) -> Response:
        """Closed and short days of two years."""
        years = (self._first_year, self._first_year + 1)
        calendar = {
            "market-half-days": [day.isoformat() for year in years for day in sorted(half_days(year))],
            "market-holidays": [day.isoformat() for year in years for day in sorted(holidays(year))],
        }
        if self._dialect.form == "documented":
            return items([dumps(calendar)], call.context)
        return item(calendar, call.context)
