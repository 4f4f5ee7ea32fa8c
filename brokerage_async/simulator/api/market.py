"""Handlers of ``market_time``, ``market_data`` and ``market_metrics``.

Metrics and events of equities follow from the simulated prices where these say something, else from the seed.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from math import log, sqrt
from statistics import stdev
from typing import Any, cast

from ..._generated import converters as wires
from ..._generated.models import ClosePriceType, InstrumentCollection, InstrumentType, MarketState
from ..keyed_random import key_of
from ..market.calendar import CALENDARS, YEARS, Calendar, TradingSession, half_days, holidays, local_date, local_epoch
from ..market.catalogue import EquityDefinition, equity_row, quarterly_dividend
from ..market.option_pricing import YEAR
from ..market.prices import PRICE_INTERVAL
from .request_parser import Handlers, ParsedRequest, broken_query_rules
from .wire import RefusedError, found, like, money, same, timestamp

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
    """Return the current session, if there is one today, and its neighbors."""
    session = calendar.current(now)
    day = local_date(now) if session is None else session.day
    none = wires.MarketSessionWire(instrument_collection=calendar.collection)
    return like(
        wires.CurrentMarketSessionWire,
        none if session is None else _session(calendar, session),
        state=MarketState.CLOSED if session is None else session.state(now),
        next_session=_session(calendar, calendar.following(day)),
        previous_session=_session(calendar, calendar.preceding(day)),
    )


class MarketTime(Handlers):
    """Serves the calendars."""

    def sessions(self, request: ParsedRequest) -> Any:
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
        return (_session(calendar, session) for session in calendar.between(first, last))

    def current_sessions(self, request: ParsedRequest) -> Any:
        requested = dict.fromkeys(request.query["instrument_collections"])
        rows = [current_session(CALENDARS[collection], request.now) for collection in requested]
        if self._dialect.form == "documented" and len(rows) == 1:
            return rows[0]
        return rows

    def equity_session(self, request: ParsedRequest) -> Any:
        now = request.query.get("current_time", request.now)
        _require_sessions(request, "current_time", local_date(now))
        return current_session(_calendar(request), now)

    def next_equity_session(self, request: ParsedRequest) -> Any:
        """Return the first session of an exchange on or after a day."""
        calendar, day = _calendar(request), _day(request)
        return _session(calendar, calendar.session(day) or calendar.following(day))

    def previous_equity_session(self, request: ParsedRequest) -> Any:
        calendar = _calendar(request)
        return _session(calendar, calendar.preceding(_day(request)))

    def futures_sessions(self, request: ParsedRequest) -> Any:
        return (current_session(CALENDARS[collection], request.now) for collection in _FUTURES)

    def equity_holidays(self, request: ParsedRequest) -> Any:
        """Return holidays and half days of two years, which are the same at every exchange."""
        _calendar(request)
        first = local_date(self._state.settings.start).year
        years = (first, first + 1)
        calendar = wires.HolidayCalendarWire(
            market_half_days=[day for year in years for day in sorted(half_days(year))],
            market_holidays=[day for year in years for day in sorted(holidays(year))],
        )
        if self._dialect.form == "documented":
            return [calendar]
        return calendar

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

    def quote_token(self, request: ParsedRequest) -> Any:
        token = self._state.quote_tokens.issue(request.customer, request.now)
        is_demo = self._state.settings.environment == "sandbox" and self._has("quote_token_level")
        level = "demo" if is_demo else "api"
        return wires.QuoteTokenWire(token=token, dxlink_url=self._state.quote_tokens.url, level=level)

    def by_type(self, request: ParsedRequest) -> Any:
        return (
            row
            for parameter in request.operation.parameters
            if parameter.array
            for symbol in dict.fromkeys(request.query.get(parameter.name, ()))
            if (row := self._row(InstrumentType(parameter.name.replace("_", " ").title()), symbol, request.now))
        )

    def get(self, request: ParsedRequest) -> Any:
        row = self._row(InstrumentType(request.path["instrument_type"]), request.path["symbol"], request.now)
        return found(row, "instrument")

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
            **same(-1, "halt_start_time", "halt_end_time"),
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


_YEARS_BACK = 5
_EARNINGS, _DIVIDENDS = 1, 2
_QUARTERS = (1, 4, 7, 10)

_RANK, _PERCENTILE, _LIQUIDITY, _BETA, _CORRELATION, _SHARES = range(11, 17)
_TRADING_DAYS = 252
_MONTH = 30 / 365


class MarketMetrics(Handlers):
    """Serves figures of equities, and their events: one in each quarter of the last years, oldest first."""

    def _days(self, equity: EquityDefinition, kind: int, now: float) -> tuple[list[date], date]:
        """Return the days of the events up to today, and of the next one."""
        today, random = local_date(now), self._state.random
        days = [
            date(year, month, 1) + timedelta(days=random.below(60, key_of(equity.symbol), kind, year, month))
            for year in range(today.year - _YEARS_BACK, today.year + 2)
            for month in _QUARTERS
        ]
        return [day for day in days if day <= today], next(day for day in days if day > today)

    def _earnings(self, equity: EquityDefinition, now: float) -> list[tuple[date, Decimal]]:
        """Return the reported earnings per share, and at last the expected ones. Funds and indices have none."""
        if equity.is_etf or equity.is_index:
            return []
        reported, expected = self._days(equity, _EARNINGS, now)
        return [
            (day, Decimal(self._state.random.below(400, key_of(equity.symbol), _EARNINGS, number) - 50).scaleb(-2))
            for number, day in enumerate([*reported, expected])
        ]

    def _dividends(self, equity: EquityDefinition, now: float) -> list[tuple[date, Decimal]]:
        """Return the dividends per share that were paid by now."""
        amount = quarterly_dividend(equity, self._state.random)
        return [(day, amount) for day in self._days(equity, _DIVIDENDS, now)[0]] if amount else []

    def earnings_reports(self, request: ParsedRequest) -> Any:
        first, last = request.query["start_date"], min(request.query.get("end_date", date.max), local_date(request.now))
        return (
            wires.EarningsReportWire(occurred_date=day, eps=amount)
            for day, amount in self._earnings(self._equity(request), request.now)
            if first <= day <= last
        )

    def dividends(self, request: ParsedRequest) -> Any:
        paid = self._dividends(self._equity(request), request.now)
        return (wires.DividendWire(occurred_date=day, amount=amount) for day, amount in paid)

    def _equity(self, request: ParsedRequest) -> EquityDefinition:
        return found(self._catalogue.equities.get(request.path["symbol"]), "symbol")

    def row(self, equity: EquityDefinition, now: float) -> wires.UnderlyingMetricsWire:
        updated_at = timestamp(now // PRICE_INTERVAL * PRICE_INTERVAL)
        liquidity = self._between(0, 2000, equity, _LIQUIDITY)
        rank = self._between(0, 1, equity, _RANK)
        shares = 1_000_000 + self._state.random.below(10**9, key_of(equity.symbol), _SHARES)
        listed, since = equity_row(equity, now), same(updated_at, "started_at", "updated_at")
        return wires.UnderlyingMetricsWire(
            symbol=equity.symbol,
            **same(rank, *(f"{source}implied_volatility_index_rank" for source in ("", "tos_", "tw_"))),
            **same(updated_at, "updated_at", "beta_updated_at", "implied_volatility_updated_at"),
            tos_implied_volatility_index_rank_updated_at=updated_at,
            implied_volatility_index_rank_source="tos",
            implied_volatility_percentile=self._between(0, 1, equity, _PERCENTILE),
            liquidity_value=liquidity,
            liquidity_rank=f"{float(liquidity) / 2000:.6f}",
            liquidity_rating=1 + int(float(liquidity) // 400),
            liquidity_running_state=wires.LiquidityStateWire(sum=liquidity, count=1, **since),
            beta=self._between(0.5, 2, equity, _BETA),
            corr_spy_3month=self._between(-0.2, 1, equity, _CORRELATION),
            listed_market=listed.listed_market,
            lendability=listed.lendability,
            borrow_rate=listed.borrow_rate,
            market_cap=None if equity.is_index else int(self._prices.underlying_price(equity.symbol, now) * shares),
            **self._volatility(equity, now),
            **self._company(equity, now),
        )

    def _between(self, low: float, high: float, equity: EquityDefinition, key: int) -> str:
        return f"{self._state.random.between(low, high, key_of(equity.symbol), key):.6f}"

    def _volatility(self, equity: EquityDefinition, now: float) -> dict[str, Any]:
        options = self._catalogue.options_on(equity.symbol).definitions
        days = {row.expires for row in options if row.underlying == equity.symbol and row.expires is not None}
        calendar, day = CALENDARS[InstrumentCollection.EQUITY], local_date(now)
        closes = []  # newest first
        for _ in range(91):
            session = calendar.preceding(day)
            day = session.day
            closes.append(self._prices.underlying_price(equity.symbol, session.close))
        changes = [log(one / other) for one, other in pairwise(closes)]
        realized = {n: Decimal(stdev(changes[:n]) * sqrt(_TRADING_DAYS) * 100) for n in (30, 60, 90)}  # annual, percent
        surface = self._prices.surface(equity.symbol)
        implied = Decimal(surface.volatility(1, 1, _MONTH)) * 100
        return {
            "implied_volatility_index": f"{implied / 100:.6f}",
            "implied_volatility_index_15_day": f"{surface.volatility(1, 1, 15 / 365):.6f}",
            "implied_volatility_index_5_day_change": "0.0",
            "option_expiration_implied_volatilities": [
                wires.ExpirationVolatilityWire(
                    expiration_date=day.isoformat(),
                    option_chain_type="Standard",
                    settlement_type="PM",
                    implied_volatility=f"{surface.volatility(1, 1, (local_epoch(day, 16) - now) / YEAR):.6f}",
                )
                for day in sorted(days)
                if now < local_epoch(day, 16)
            ],
            "implied_volatility_30_day": f"{implied:.2f}",
            "iv_hv_30_day_difference": f"{implied - realized[30]:.2f}",
            **{f"historical_volatility_{days}_day": f"{value:.2f}" for days, value in realized.items()},
        }

    def _company(self, equity: EquityDefinition, now: float) -> dict[str, Any]:
        price = self._prices.underlying_price(equity.symbol, now)
        figures: dict[str, Any] = {}
        paid = self._dividends(equity, now)
        if paid:
            day, amount = paid[-1]
            figures |= {
                "dividend_rate_per_share": money(amount),
                "annual_dividend_per_share": money(4 * amount),
                "dividend_yield": f"{4 * amount / price:.6f}",
                "dividend_ex_date": day,
                "dividend_pay_date": day + timedelta(days=20),
            }
        if earnings := self._earnings(equity, now):
            *reported, expected = earnings
            earned = sum((amount for _, amount in reported[-4:]), Decimal(0))
            figures["earnings_per_share"] = money(earned)
            if earned > 0:
                figures["price_earnings_ratio"] = f"{price / earned:.2f}"
            figures["earnings"] = wires.ExpectedEarningsWire(
                visible=True,
                expected_report_date=expected[0],
                estimated=True,
                late_flag=0,
                actual_eps=money(reported[-1][1]),
                consensus_estimate=money(expected[1]),
                updated_at=timestamp(now // PRICE_INTERVAL * PRICE_INTERVAL),
            )
        return figures

    def list(self, request: ParsedRequest) -> Any:
        symbols = dict.fromkeys(request.query["symbols"])
        known = (equity for symbol in symbols if (equity := self._catalogue.equities.get(symbol)) is not None)
        return (self.row(equity, request.now) for equity in known)
