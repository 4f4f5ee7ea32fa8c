"""Handlers of ``market_metrics``: figures and events of equities.

They follow from the simulated prices where these say something, else from the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from math import log, sqrt
from statistics import stdev
from typing import Any

from ..._generated import converters as wires
from ..._generated.models import InstrumentCollection
from ...protocol.response import Response
from ..keyed_random import KeyedRandom, key_of
from ..market.calendar import CALENDARS, local_date, local_epoch
from ..market.equities import EquityDefinition, equity_row, quarterly_dividend
from ..market.option_pricing import YEAR
from ..market.prices import PRICE_INTERVAL
from ..state import State
from .request_parser import Handlers, ParsedRequest
from .wire import found, money, timestamp

_YEARS_BACK = 5
_EARNINGS, _DIVIDENDS = 1, 2
_QUARTERS = (1, 4, 7, 10)

Event = tuple[date, Decimal]
"""Day of an event, and its amount per share."""


class CompanyEvents:
    """Earnings and dividends of every equity, oldest first."""

    def __init__(self, random: KeyedRandom) -> None:
        self._random = random

    def earnings(self, equity: EquityDefinition, now: float) -> list[Event]:
        """Return the earnings per share that were reported by now. Funds and indices have none."""
        if equity.is_etf or equity.is_index:
            return []
        days = enumerate(self._until(equity, _EARNINGS, now))
        return [(day, self._earned(equity, number)) for number, day in days]

    def next_report(self, equity: EquityDefinition, now: float) -> Event | None:
        """Return the next day of earnings with the amount that will be reported. None for funds and indices."""
        reported = self.earnings(equity, now)
        if not reported:
            return None
        today = local_date(now)
        days = (day for year in (today.year, today.year + 1) for day in self._days(equity, _EARNINGS, year))
        return next(day for day in days if day > today), self._earned(equity, len(reported))

    def dividends(self, equity: EquityDefinition, now: float) -> list[Event]:
        """Return the dividends per share that were paid by now."""
        amount = quarterly_dividend(equity, self._random)
        return [(day, amount) for day in self._until(equity, _DIVIDENDS, now)] if amount else []

    def _earned(self, equity: EquityDefinition, number: int) -> Decimal:
        return Decimal(self._random.below(400, key_of(equity.symbol), _EARNINGS, number) - 50).scaleb(-2)

    def _until(self, equity: EquityDefinition, kind: int, now: float) -> Iterator[date]:
        """Yield one day in each quarter of the last years, up to today."""
        today = local_date(now)
        for year in range(today.year - _YEARS_BACK, today.year + 1):
            yield from (day for day in self._days(equity, kind, year) if day <= today)

    def _days(self, equity: EquityDefinition, kind: int, year: int) -> Iterator[date]:
        """Yield one day in each quarter of a year."""
        for month in _QUARTERS:
            shift = self._random.below(60, key_of(equity.symbol), kind, year, month)
            yield date(year, month, 1) + timedelta(days=shift)


_RANK, _PERCENTILE, _LIQUIDITY, _BETA, _CORRELATION, _SHARES = range(11, 17)
_TRADING_DAYS = 252
_MONTH = 30 / 365


class MarketMetrics(Handlers):
    """Serves figures and events of equities."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._random = state.random
        self._events = CompanyEvents(state.random)

    def earnings_reports(self, request: ParsedRequest) -> Response:
        first, last = request.query["start_date"], min(request.query.get("end_date", date.max), local_date(request.now))
        rows = (
            wires.EarningsReportWire(occurred_date=day, eps=amount)
            for day, amount in self._events.earnings(self._equity(request), request.now)
            if first <= day <= last
        )
        return request.items(rows)

    def dividends(self, request: ParsedRequest) -> Response:
        paid = self._events.dividends(self._equity(request), request.now)
        return request.items((wires.DividendWire(occurred_date=day, amount=amount) for day, amount in paid))

    def _equity(self, request: ParsedRequest) -> EquityDefinition:
        return found(self._catalogue.equities.get(request.path["symbol"]), "symbol")

    def row(self, equity: EquityDefinition, now: float) -> wires.UnderlyingMetricsWire:
        """Return the metrics as a wire struct. Indices lack the figures of companies."""
        updated_at = timestamp(now // PRICE_INTERVAL * PRICE_INTERVAL)
        liquidity = self._between(0, 2000, equity, _LIQUIDITY)
        rank = self._between(0, 1, equity, _RANK)
        shares = 1_000_000 + self._random.below(10**9, key_of(equity.symbol), _SHARES)
        listed = equity_row(equity, now)
        return wires.UnderlyingMetricsWire(
            symbol=equity.symbol,
            implied_volatility_index_rank=rank,
            tos_implied_volatility_index_rank=rank,
            tw_implied_volatility_index_rank=rank,
            tos_implied_volatility_index_rank_updated_at=updated_at,
            implied_volatility_index_rank_source="tos",
            implied_volatility_percentile=self._between(0, 1, equity, _PERCENTILE),
            implied_volatility_updated_at=updated_at,
            liquidity_value=liquidity,
            liquidity_rank=f"{float(liquidity) / 2000:.6f}",
            liquidity_rating=1 + int(float(liquidity) // 400),
            updated_at=updated_at,
            liquidity_running_state=wires.LiquidityStateWire(
                sum=liquidity, count=1, started_at=updated_at, updated_at=updated_at
            ),
            beta=self._between(0.5, 2, equity, _BETA),
            beta_updated_at=updated_at,
            corr_spy_3month=self._between(-0.2, 1, equity, _CORRELATION),
            listed_market=listed.listed_market,
            lendability=listed.lendability,
            borrow_rate=listed.borrow_rate,
            market_cap=None if equity.is_index else int(self._prices.underlying_price(equity.symbol, now) * shares),
            **self._volatility(equity, now),
            **self._company(equity, now),
        )

    def _between(self, low: float, high: float, equity: EquityDefinition, key: int) -> str:
        return f"{self._random.between(low, high, key_of(equity.symbol), key):.6f}"

    def _volatility(self, equity: EquityDefinition, now: float) -> dict[str, Any]:
        """Return the volatility implied by option prices, and the volatility of closing prices."""
        options = self._catalogue.options_on(equity.symbol).definitions
        days = {row.expires for row in options if row.underlying == equity.symbol}
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
        paid = self._events.dividends(equity, now)
        if paid:
            day, amount = paid[-1]
            figures |= {
                "dividend_rate_per_share": money(amount),
                "annual_dividend_per_share": money(4 * amount),
                "dividend_yield": f"{4 * amount / price:.6f}",
                "dividend_ex_date": day,
                "dividend_pay_date": day + timedelta(days=20),
            }
        reported, expected = self._events.earnings(equity, now), self._events.next_report(equity, now)
        if expected is not None:
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

    def list(self, request: ParsedRequest) -> Response:
        """Return the figures of the requested equities, without the unknown ones."""
        symbols = dict.fromkeys(request.query["symbols"])
        known = (equity for symbol in symbols if (equity := self._catalogue.equities.get(symbol)) is not None)
        return request.items(self.row(equity, request.now) for equity in known)
