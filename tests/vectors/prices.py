"""Market data, market metrics, and the sessions of all exchanges."""

import datetime as dt
from decimal import Decimal

from tests.vectors.exchange import Exchange

EXCHANGES = (
    Exchange(
        name="joined symbols of every type",
        operation="market_data.by_type",
        options={
            "index": ["SPX"],
            "equity": ["QNTX", "BRK/B"],
            "equity_option": ["QNTX  261218C00045000"],
            "future": ["/ESH7"],
            "future_option": ["./ESH7 EW3F7 270115C6900"],
            "cryptocurrency": ["BTC/USD"],
            "include_instrument": True,
        },
        target="/market-data/by-type?index=SPX&equity=QNTX,BRK%2FB&equity-option=QNTX%20%20261218C00045000"
        "&future=%2FESH7&future-option=.%2FESH7%20EW3F7%20270115C6900&cryptocurrency=BTC%2FUSD"
        "&include-instrument=true",
        answer="""
        {
          "data": {
            "items": [
              {
                "symbol": "QNTX  261218C00045000", "instrument-type": "Equity Option",
                "updated-at": "2026-11-20T20:58:12.407Z", "bid": "3.1", "bid-size": "42.0", "ask": "3.2",
                "ask-size": "17.0", "mid": "3.15", "mark": "3.15", "last": "3.12", "last-mkt": "3.12",
                "open": "2.9", "day-high-price": "3.3", "day-low-price": "2.85",
                "close-price-type": "Regular", "prev-close": "2.88", "prev-close-price-type": "Regular",
                "summary-date": "2026-11-20", "prev-close-date": "2026-11-19", "is-trading-halted": false,
                "halt-start-time": -1, "halt-end-time": -1, "volume": "611.0", "volatility": "0.4123",
                "delta": "0.5514", "gamma": "0.0612", "theta": "-0.0318", "rho": "0.0181",
                "vega": "0.0497", "theo-price": "3.1462", "dx-mark": "3.1462", "tick-size": "0.05",
                "open-interest": 2140
              },
              {
                "symbol": "SPX", "instrument-type": "Index", "updated-at": "2026-11-20T20:58:12.407Z",
                "halt-start-time": 1763668800000, "last-trade-time": -1, "instrument": {"symbol": "SPX"}
              }
            ]
          },
          "pagination": null
        }
        """,
        facts={
            "#": 2,
            "[0].bid": Decimal("3.1"),
            "[0].theta": Decimal("-0.0318"),
            "[0].open_interest": 2140,
            "[0].halt_start_time": None,
            "[0].halt_end_time": None,
            "[0].prev_close_date": dt.date(2026, 11, 19),
            "[0].updated_at": dt.datetime(2026, 11, 20, 20, 58, 12, 407000, tzinfo=dt.UTC),
            "[1].instrument_type": "Index",
            "[1].halt_start_time": dt.datetime(2025, 11, 20, 20, tzinfo=dt.UTC),
            "[1].last_trade_time": None,
            "[1].bid": None,
            "[1].instrument": {"symbol": "SPX"},
        },
    ),
    Exchange(
        name="one instrument, type and symbol in the path",
        operation="market_data.get",
        arguments=(
            "Equity Option",
            "QNTX  261218C00045000",
        ),
        target="/market-data/Equity%20Option/QNTX%20%20261218C00045000",
        answer="""
        {
          "data": {
            "symbol": "QNTX  261218C00045000", "instrument-type": "Equity Option",
            "updated-at": "2026-11-20T20:58:12.407Z", "bid": "3.1", "bid-size": "42.0", "ask": "3.2",
            "ask-size": "17.0", "mid": "3.15", "mark": "3.15", "last": "3.12", "last-mkt": "3.12",
            "open": "2.9", "day-high-price": "3.3", "day-low-price": "2.85",
            "close-price-type": "Regular", "prev-close": "2.88", "prev-close-price-type": "Regular",
            "summary-date": "2026-11-20", "prev-close-date": "2026-11-19", "is-trading-halted": false,
            "halt-start-time": -1, "halt-end-time": -1, "volume": "611.0", "volatility": "0.4123",
            "delta": "0.5514", "gamma": "0.0612", "theta": "-0.0318", "rho": "0.0181", "vega": "0.0497",
            "theo-price": "3.1462", "dx-mark": "3.1462", "tick-size": "0.05", "open-interest": 2140
          }
        }
        """,
        facts={
            "mark": Decimal("3.15"),
            "volume": Decimal("611.0"),
            "is_trading_halted": False,
        },
    ),
    Exchange(
        name="the token is a secret",
        operation="market_data.quote_token",
        target="/api-quote-tokens",
        answer="""
        {
          "data": {
            "token": "dGVzdC1zdHJlYW1lci10b2tlbg", "dxlink-url": "wss://streamer.example.com/realtime",
            "level": "api"
          },
          "context": "/api-quote-tokens"
        }
        """,
        facts={
            "token": "dGVzdC1zdHJlYW1lci10b2tlbg",
            "dxlink_url": "wss://streamer.example.com/realtime",
            "level": "api",
            "expires_at": None,
        },
    ),
    Exchange(
        name="metrics with all their parts",
        operation="market_metrics.list",
        arguments=(["QNTX", "BRK/B"],),
        target="/market-metrics?symbols=QNTX,BRK%2FB",
        answer="""
        {
          "data": {
            "items": [
              {
                "symbol": "QNTX", "implied-volatility-index": "0.412305871",
                "implied-volatility-index-5-day-change": "-0.013207112",
                "implied-volatility-index-rank": "0.318220415",
                "tw-implied-volatility-index-rank": "0.318220415",
                "implied-volatility-index-rank-source": "tos", "implied-volatility-percentile": "0.44178",
                "implied-volatility-updated-at": "2026-11-20T20:55:10.114Z",
                "liquidity-value": "1204.551", "liquidity-rank": "0.221", "liquidity-rating": 3,
                "updated-at": "2026-11-20T20:55:11.030Z",
                "option-expiration-implied-volatilities": [
                  {
                    "expiration-date": "2026-12-18", "option-chain-type": "Standard",
                    "settlement-type": "PM", "implied-volatility": "0.408115"
                  }
                ],
                "liquidity-running-state": {
                  "sum": "57818.448", "count": 48, "started-at": "2026-11-20T11:00:02.551Z",
                  "updated-at": "2026-11-20T20:55:10.114Z"
                },
                "beta": "1.21", "corr-spy-3month": "0.64", "dividend-yield": "0.0",
                "earnings": {
                  "visible": true, "expected-report-date": "2027-02-03", "estimated": true,
                  "late-flag": 0, "quarter-end-date": "2026-12-31", "consensus-estimate": "0.71",
                  "updated-at": "2026-11-20T11:01:36.077Z"
                },
                "listed-market": "XNAS", "lendability": "Easy To Borrow", "borrow-rate": "0.0",
                "market-cap": 5120443210, "implied-volatility-30-day": "41.10",
                "historical-volatility-30-day": "38.27", "iv-hv-30-day-difference": "2.83",
                "price-earnings-ratio": "24.1", "earnings-per-share": "1.87"
              },
              {"symbol": "BRK/B"}
            ]
          }
        }
        """,
        facts={
            "#": 2,
            "[0].implied_volatility_index_5_day_change": Decimal("-0.013207112"),
            "[0].liquidity_rating": 3,
            "[0].market_cap": Decimal(5120443210),
            "[0].corr_spy_3month": Decimal("0.64"),
            "[0].implied_volatility_30_day": Decimal("41.10"),
            "[0].option_expiration_implied_volatilities[0].expiration_date": dt.date(2026, 12, 18),
            "[0].liquidity_running_state.count": 48,
            "[0].earnings.late_flag": 0,
            "[0].earnings.consensus_estimate": Decimal("0.71"),
            "[0].earnings.actual_eps": None,
            "[1].beta": None,
        },
    ),
    Exchange(
        name="an expiration with a time after the date",
        operation="market_metrics.list",
        arguments=(["QNTX"],),
        target="/market-metrics?symbols=QNTX",
        answer="""
        {
          "data": {
            "items": [
              {
                "symbol": "QNTX",
                "option-expiration-implied-volatilities": [
                  {
                    "expiration-date": "2026-12-18T00:00:00.000+00:00", "implied-volatility": "0.4"
                  }
                ]
              }
            ]
          }
        }
        """,
        facts={
            "[0].option_expiration_implied_volatilities[0].expiration_date": dt.date(2026, 12, 18),
        },
    ),
    Exchange(
        name="the session of the stock exchanges on a weekend",
        operation="market_time.equity_session",
        options={"current_time": dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)},
        target="/market-time/equities/sessions/current?current-time=2026-11-22T12%3A00%3A00Z",
        answer="""
        {
          "data": {
            "close-at": "2026-11-23T21:00:00.000+00:00", "close-at-ext": "2026-11-24T01:00:00.000+00:00",
            "instrument-collection": "Equity",
            "next-session": {
              "close-at": "2026-11-23T21:00:00.000+00:00",
              "close-at-ext": "2026-11-24T01:00:00.000+00:00", "instrument-collection": "Equity",
              "open-at": "2026-11-23T14:30:00.000+00:00", "session-date": "2026-11-23",
              "start-at": "2026-11-23T13:15:00.000+00:00"
            },
            "open-at": "2026-11-23T14:30:00.000+00:00",
            "previous-session": {
              "close-at": "2026-11-20T21:00:00.000+00:00",
              "close-at-ext": "2026-11-21T01:00:00.000+00:00", "instrument-collection": "Equity",
              "open-at": "2026-11-20T14:30:00.000+00:00", "session-date": "2026-11-20",
              "start-at": "2026-11-20T13:15:00.000+00:00"
            },
            "start-at": "2026-11-23T13:15:00.000+00:00", "state": "Closed"
          }
        }
        """,
        facts={
            "state": "Closed",
            "close_at_ext": dt.datetime(2026, 11, 24, 1, tzinfo=dt.UTC),
            "next_session.session_date": dt.date(2026, 11, 23),
            "previous_session.session_date": dt.date(2026, 11, 20),
        },
    ),
    Exchange(
        name="the next session",
        operation="market_time.next_equity_session",
        options={"date": dt.date(2026, 11, 22)},
        target="/market-time/equities/sessions/next?date=2026-11-22",
        answer="""
        {
          "data": {
            "close-at": "2026-11-23T21:00:00.000+00:00", "close-at-ext": "2026-11-24T01:00:00.000+00:00",
            "instrument-collection": "Equity", "open-at": "2026-11-23T14:30:00.000+00:00",
            "session-date": "2026-11-23", "start-at": "2026-11-23T13:15:00.000+00:00"
          }
        }
        """,
        facts={
            "session_date": dt.date(2026, 11, 23),
            "open_at": dt.datetime(2026, 11, 23, 14, 30, tzinfo=dt.UTC),
        },
    ),
    Exchange(
        name="the previous session",
        operation="market_time.previous_equity_session",
        target="/market-time/equities/sessions/previous",
        answer="""
        {
          "data": {
            "close-at": "2026-11-20T21:00:00.000+00:00", "close-at-ext": "2026-11-21T01:00:00.000+00:00",
            "instrument-collection": "Equity", "open-at": "2026-11-20T14:30:00.000+00:00",
            "session-date": "2026-11-20", "start-at": "2026-11-20T13:15:00.000+00:00"
          }
        }
        """,
        facts={
            "session_date": dt.date(2026, 11, 20),
        },
    ),
    Exchange(
        name="one current session for each futures exchange",
        operation="market_time.futures_sessions",
        target="/market-time/futures/sessions/current",
        answer="""
        {
          "data": {
            "items": [
              {"instrument-collection": "CME", "state": "Open"},
              {"instrument-collection": "CFE", "state": "Closed"}
            ]
          }
        }
        """,
        facts={
            "#": 2,
            "[1].instrument_collection": "CFE",
            "[0].open_at": None,
        },
    ),
    Exchange(
        name="the current session of one futures exchange",
        operation="market_time.futures_session",
        arguments=("CME",),
        target="/market-time/futures/sessions/current/CME",
        answer="""
        {
          "data": {
            "instrument-collection": "CME", "state": "Open",
            "next-session": {"session-date": "2026-11-24"}
          }
        }
        """,
        facts={
            "state": "Open",
            "next_session.session_date": dt.date(2026, 11, 24),
        },
    ),
    Exchange(
        name="the next session of one futures exchange",
        operation="market_time.next_futures_session",
        arguments=("CFE",),
        options={"date": dt.date(2026, 11, 22)},
        target="/market-time/futures/sessions/next/CFE?date=2026-11-22",
        answer="""
        {
          "data": {
            "instrument-collection": "CFE", "session-date": "2026-11-23",
            "start-at": "2026-11-22T23:00:00.000+00:00"
          }
        }
        """,
        facts={
            "start_at": dt.datetime(2026, 11, 22, 23, tzinfo=dt.UTC),
            "close_at_ext": None,
        },
    ),
    Exchange(
        name="the previous session of one futures exchange",
        operation="market_time.previous_futures_session",
        arguments=("CME",),
        target="/market-time/futures/sessions/previous/CME",
        answer='{"data": {"instrument-collection": "CME", "session-date": "2026-11-20"}}',
        facts={
            "session_date": dt.date(2026, 11, 20),
        },
    ),
    Exchange(
        name="a calendar in a list, as published",
        operation="market_time.futures_holidays",
        arguments=("CME",),
        target="/market-time/futures/holidays/CME",
        answer="""
        {
          "data": {
            "items": [
              {
                "market-half-days": ["2026-11-27", "2026-12-24"],
                "market-holidays": ["2026-11-26", "2026-12-25", "2027-01-01"]
              }
            ]
          }
        }
        """,
        facts={
            "market_holidays.#": 3,
            "market_half_days[0]": dt.date(2026, 11, 27),
        },
    ),
    Exchange(
        name="a calendar by itself",
        operation="market_time.futures_holidays",
        arguments=("CFE",),
        target="/market-time/futures/holidays/CFE",
        answer="""
        {
          "data": {
            "market-half-days": ["2026-11-27", "2026-12-24"],
            "market-holidays": ["2026-11-26", "2026-12-25", "2027-01-01"]
          }
        }
        """,
        facts={
            "market_holidays[2]": dt.date(2027, 1, 1),
        },
    ),
)
