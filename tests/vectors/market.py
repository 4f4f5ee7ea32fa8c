"""Market time and market metrics."""

import datetime as dt
from decimal import Decimal

from tests.vectors.exchange import Exchange

EXCHANGES = (
    Exchange(
        name="one session per trading day, on one exchange",
        operation="market_time.sessions",
        arguments=(dt.date(2026, 3, 10),),
        options={"from_date": dt.date(2026, 3, 9), "instrument_collection": "CME"},
        target="/market-time/sessions?to-date=2026-03-10&from-date=2026-03-09&instrument-collection=CME",
        answer="""
        {
          "data": {
            "items": [
              {
                "start-at": "2026-03-08T22:00:00.000+00:00",
                "open-at": "2026-03-08T22:00:00.000+00:00",
                "close-at": "2026-03-09T21:00:00.000+00:00",
                "instrument-collection": "CME",
                "session-date": "2026-03-09"
              },
              {
                "start-at": "2026-03-09T22:00:00.000+00:00",
                "open-at": "2026-03-09T22:00:00.000+00:00",
                "close-at": "2026-03-10T21:00:00.000+00:00",
                "close-at-ext": null,
                "instrument-collection": "CME",
                "session-date": "2026-03-10"
              }
            ]
          },
          "context": "/market-time/sessions"
        }
        """,
        facts={
            "#": 2,
            "[0].session_date": dt.date(2026, 3, 9),
            "[0].open_at": dt.datetime(2026, 3, 8, 22, tzinfo=dt.UTC),
            "[0].close_at_ext": None,
            "[1].close_at": dt.datetime(2026, 3, 10, 21, tzinfo=dt.UTC),
            "[1].close_at_ext": None,
            "[1].instrument_collection": "CME",
        },
    ),
    Exchange(
        name="only the end is required",
        operation="market_time.sessions",
        arguments=(dt.date(2026, 12, 31),),
        target="/market-time/sessions?to-date=2026-12-31",
        answer='{"data":{"items":[]},"context":"/market-time/sessions"}',
        facts={"#": 0},
    ),
    Exchange(
        name="the current session of each collection, with its neighbours",
        operation="market_time.current_sessions",
        arguments=(["Equity", "CFE"],),
        target="/market-time/sessions/current?instrument-collections[]=Equity&instrument-collections[]=CFE",
        answer="""
        {
          "data": {
            "items": [
              {
                "start-at": "2026-03-09T12:15:00Z",
                "open-at": "2026-03-09T13:30:00Z",
                "close-at": "2026-03-09T20:00:00Z",
                "close-at-ext": "2026-03-10T00:00:00Z",
                "instrument-collection": "Equity",
                "session-date": "2026-03-09",
                "state": "Open",
                "next-session": {
                  "open-at": "2026-03-10T13:30:00Z",
                  "close-at": "2026-03-10T20:00:00Z",
                  "instrument-collection": "Equity",
                  "session-date": "2026-03-10"
                },
                "previous-session": {"session-date": "2026-03-06", "instrument-collection": "Equity"}
              },
              {"instrument-collection": "CFE", "state": "Closed", "session-date": "2026-03-09"}
            ]
          },
          "context": "/market-time/sessions/current"
        }
        """,
        facts={
            "#": 2,
            "[0].state": "Open",
            "[0].open_at": dt.datetime(2026, 3, 9, 13, 30, tzinfo=dt.UTC),
            "[0].next_session.session_date": dt.date(2026, 3, 10),
            "[0].previous_session.session_date": dt.date(2026, 3, 6),
            "[1].instrument_collection": "CFE",
            "[1].next_session": None,
        },
        observed=True,
    ),
    Exchange(
        name="the documented form: one object",
        operation="market_time.current_sessions",
        arguments=(["Equity"],),
        target="/market-time/sessions/current?instrument-collections[]=Equity",
        answer="""
        {
          "data": {
            "open-at": "2026-03-09T09:30:00-04:00",
            "close-at": "2026-03-09T16:00:00-04:00",
            "instrument-collection": "Equity",
            "next-session": {"open-at": "2026-03-10T09:30:00-04:00"},
            "previous-session": {"open-at": "2026-03-06T09:30:00-05:00"}
          },
          "context": "/market-time/sessions/current"
        }
        """,
        facts={
            "#": 1,
            "[0].open_at": dt.datetime(2026, 3, 9, 13, 30, tzinfo=dt.UTC),
            "[0].next_session.open_at": dt.datetime(2026, 3, 10, 13, 30, tzinfo=dt.UTC),
            "[0].previous_session.open_at": dt.datetime(2026, 3, 6, 14, 30, tzinfo=dt.UTC),
        },
    ),
    Exchange(
        name="the calendar is the single item of a list",
        operation="market_time.equity_holidays",
        target="/market-time/equities/holidays",
        answer="""
        {
          "data": {
            "items": [
              {
                "market-half-days": ["2026-11-27", "2026-12-24"],
                "market-holidays": ["2026-01-01", "2026-01-19", "2026-12-25"]
              }
            ]
          },
          "context": "/market-time/equities/holidays"
        }
        """,
        facts={
            "market_holidays.#": 3,
            "market_holidays[2]": dt.date(2026, 12, 25),
            "market_half_days": (dt.date(2026, 11, 27), dt.date(2026, 12, 24)),
        },
    ),
    Exchange(
        name="earnings from a date on, of a share class whose symbol holds a slash",
        operation="market_metrics.earnings_reports",
        arguments=("BRK/B", dt.date(2025, 1, 1)),
        options={"end_date": dt.date(2025, 12, 31)},
        target="/market-metrics/historic-corporate-events/earnings-reports/BRK%2FB"
        "?start-date=2025-01-01&end-date=2025-12-31",
        answer="""
        {
          "data": {
            "items": [
              {"occurred-date": "2025-02-22", "eps": "6.74"},
              {"occurred-date": "2025-05-03", "eps": "-0.125"},
              {"occurred-date": "2025-08-02", "eps": null}
            ]
          },
          "context": "/market-metrics/historic-corporate-events/earnings-reports/BRK%2FB"
        }
        """,
        facts={
            "#": 3,
            "[0].occurred_date": dt.date(2025, 2, 22),
            "[0].eps": Decimal("6.74"),
            "[1].eps": Decimal("-0.125"),
            "[2].eps": None,
        },
    ),
    Exchange(
        name="dividends per share",
        operation="market_metrics.dividends",
        arguments=("MSFT",),
        target="/market-metrics/historic-corporate-events/dividends/MSFT",
        answer="""
        {
          "data": {
            "items": [
              {"occurred-date": "2025-11-20", "amount": "0.91"},
              {"occurred-date": "2025-08-21", "amount": "0.83"}
            ]
          },
          "context": "/market-metrics/historic-corporate-events/dividends/MSFT"
        }
        """,
        facts={"#": 2, "[0].amount": Decimal("0.91"), "[1].occurred_date": dt.date(2025, 8, 21)},
    ),
)
