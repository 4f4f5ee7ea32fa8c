"""Strategies of backtests: their rules, their positions by the simulated prices, and their trials over past days.

A backtest of a customer is computed when it is created, and shows its results after a while.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from math import inf

import attrs

from ..._generated.models import (
    BacktestDirection,
    BacktestLeg,
    BacktestLegType,
    BacktestSide,
    BacktestStatus,
    EntryFrequency,
    ExitConditions,
    InstrumentCollection,
    InstrumentType,
    MaximumTrialsBehavior,
    NewBacktest,
    OptionType,
    StrikeSelection,
)
from ..accounts.accounts import Customer
from ..keyed_random import KeyedRandom
from .calendar import CALENDARS, YEARS, TradingSession, local_date, monthly_expiration
from .catalogue import Catalogue
from .equities import OptionDefinition, strike_step
from .instrument import Instrument, occ_symbol
from .prices import Prices

BY_OTHER_LEG = frozenset(
    {
        StrikeSelection.PERCENTAGE_OTM_RELATIVE,
        StrikeSelection.CURRENT_PRICE_OFFSET_RELATIVE,
        StrikeSelection.CURRENT_PRICE_EXACT_OFFSET_RELATIVE,
    }
)
"""Ways of choosing a strike that start from that of another leg."""


def is_option_leg(leg: BacktestLeg) -> bool:
    """Return whether a leg is an option."""
    return leg.type == BacktestLegType.EQUITY_OPTION


@attrs.frozen
class HeldLeg:
    """Instrument with its quantity in units of the underlying, negative for a short position."""

    instrument: Instrument
    units: int

    @classmethod
    def of(cls, instrument: Instrument, direction: BacktestDirection, quantity: int) -> HeldLeg:
        """Return ``quantity`` shares or contracts, long or short."""
        units = quantity * int(instrument.multiplier)
        return cls(instrument, -units if direction == BacktestDirection.SHORT else units)


class Strategies:
    """Chooses the instruments of strategies, and values them at any time."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices

    def worth(self, legs: Sequence[HeldLeg], at: float) -> Decimal:
        """Return the amount that buying the legs costs, negative for a credit."""
        return sum((leg.units * self._prices.price(leg.instrument, at) for leg in legs), Decimal(0))

    def delta(self, legs: Sequence[HeldLeg], at: float) -> float:
        """Return the change of the worth per dollar of the underlying."""
        return sum(leg.units * self._delta(leg.instrument, at) for leg in legs)

    def enter(self, symbol: str, legs: Sequence[BacktestLeg], at: float, *, exact: bool) -> list[HeldLeg] | None:
        """Return the positions of a strategy at its entry.

        None if a strike is not listed, or with ``exact`` no expiration is as many days away as a leg asks for.
        """
        today = local_date(at)
        strikes: dict[int, Decimal] = {}
        expirations: dict[int, date] = {}
        options = [number for number, leg in enumerate(legs) if is_option_leg(leg)]
        for number in sorted(options, key=lambda each: legs[each].strike_selection in BY_OTHER_LEG):
            leg = legs[number]
            days = leg.days_until_expiration or 0
            months = (today.year * 12 + today.month - 1 + offset for offset in range(days // 30 + 3))
            ahead = [day for month in months if (day := monthly_expiration(month // 12, month % 12 + 1)) > today]
            expires = expirations[number] = min(ahead, key=lambda day: abs((day - today).days - days))
            if exact and (expires - today).days != leg.days_until_expiration:
                return None
            strike = self._strike(symbol, leg, expires, strikes, at)
            if strike is None:
                return None
            strikes[number] = strike
        instruments = (
            _option(symbol, expirations[number], _right(leg), strikes[number])
            if number in strikes
            else Instrument(symbol=symbol, instrument_type=InstrumentType.EQUITY, underlying=symbol)
            for number, leg in enumerate(legs)
        )
        return [
            HeldLeg.of(instrument, leg.direction or BacktestDirection.LONG, leg.quantity or 0)
            for instrument, leg in zip(instruments, legs, strict=True)
        ]

    def _delta(self, instrument: Instrument, at: float) -> float:
        return self._prices.theory(instrument, at).delta if instrument.is_option else 1.0

    def _strike(
        self, symbol: str, leg: BacktestLeg, expires: date, strikes: dict[int, Decimal], at: float
    ) -> Decimal | None:
        """Return the listed strike nearest to the one that a leg asks for, None if it must be exact and is not."""
        spot = self._prices.underlying_price(symbol, at)
        step = strike_step(spot)
        way = leg.strike_selection
        base = strikes[leg.strike_relative_leg or 0] if way in BY_OTHER_LEG else spot
        if way in (StrikeSelection.PREMIUM, StrikeSelection.DELTA):
            return self._strike_by_value(symbol, leg, expires, at)
        if way in (StrikeSelection.PERCENTAGE_OTM, StrikeSelection.PERCENTAGE_OTM_RELATIVE):
            part = leg.percentage_otm or Decimal(0)
            wanted = base * (1 + part if _right(leg) is OptionType.CALL else 1 - part)
        else:
            wanted = base + (leg.current_price_offset or 0)
        if way == StrikeSelection.CURRENT_PRICE_EXACT_OFFSET_RELATIVE:
            return wanted if wanted > 0 and wanted % step == 0 else None
        return max(step, round(wanted / step) * step)

    def _strike_by_value(self, symbol: str, leg: BacktestLeg, expires: date, at: float) -> Decimal:
        """Return the strike up to twice the spot price whose option has about the premium or delta of a leg."""
        spot, right = self._prices.underlying_price(symbol, at), _right(leg)
        by_delta, step = leg.strike_selection == StrikeSelection.DELTA, strike_step(spot)
        sign = -1 if right is OptionType.CALL else 1  # the higher the strike, the cheaper a call, the less its delta

        def value(number: int) -> float:
            option = _option(symbol, expires, right, number * step)
            return sign * (abs(self._delta(option, at)) if by_delta else float(self._prices.price(option, at)))

        numbers = range(1, int(spot * 2 / step) + 2)
        wanted = sign * (float(leg.delta or 0) / 100 if by_delta else float(leg.premium or 0))
        position = bisect.bisect_left(numbers, wanted, key=value)
        nearest = numbers[max(0, position - 1) : position + 1]
        return step * min(nearest, key=lambda number: abs(value(number) - wanted))


def _right(leg: BacktestLeg) -> OptionType:
    return OptionType.CALL if leg.side == BacktestSide.CALL else OptionType.PUT


def _option(symbol: str, expires: date, right: OptionType, strike: Decimal) -> Instrument:
    occ = occ_symbol(symbol.replace("/", ""), expires, right, strike)
    option = OptionDefinition(
        symbol=occ, underlying=symbol, expires=expires, option_type=right, strike=strike, active=True
    )
    return option.instrument()


_MAX_CONTRACTS = 10
_MAX_DOLLARS = 50_000
_MAX_DAYS = 1_100
"""Days of the longest listed options, about three years."""

_OFFSET = "current_price_offset", "currentPriceOffset", Decimal(-_MAX_DOLLARS), Decimal(_MAX_DOLLARS)
_DISTANCE = "percentage_otm", "percentageOTM", Decimal(-1), Decimal(1)
_NEEDED: Mapping[StrikeSelection, tuple[str, str, Decimal, Decimal]] = {
    StrikeSelection.DELTA: ("delta", "delta", Decimal(1), Decimal(100)),
    StrikeSelection.PERCENTAGE_OTM: _DISTANCE,
    StrikeSelection.PERCENTAGE_OTM_RELATIVE: _DISTANCE,
    StrikeSelection.CURRENT_PRICE_OFFSET: _OFFSET,
    StrikeSelection.CURRENT_PRICE_OFFSET_RELATIVE: _OFFSET,
    StrikeSelection.CURRENT_PRICE_EXACT_OFFSET_RELATIVE: _OFFSET,
    StrikeSelection.PREMIUM: ("premium", "premium", Decimal(0), Decimal(_MAX_DOLLARS)),
}
"""Field that each way of choosing a strike needs: attribute, key, and bounds."""


def problems_of(requested: NewBacktest, first: date, last: date) -> Iterator[tuple[str, str]]:
    """Yield field and problem of each broken rule; ``first`` and ``last`` bound the days that can be tested."""
    start, end = requested.start_date, requested.end_date
    if start < first or last < end:
        yield "startDate" if start < first else "endDate", f"must be from {first} to {last}"
    elif end < start:
        yield "endDate", "must not be before startDate"
    elif not CALENDARS[InstrumentCollection.EQUITY].between(start, end):
        yield "endDate", "must leave at least one trading day"
    for number, leg in enumerate(requested.legs):
        if is_option_leg(leg):
            yield from ((f"legs[{number}].{name}", problem) for name, problem in _option_problems(requested, leg))
    entry = requested.entry_conditions
    if entry.frequency == EntryFrequency.ON_SPECIFIC_DAYS_OF_THE_WEEK and not entry.specific_days:
        yield "entryConditions.specificDays", "must name at least one day for this frequency"
    if entry.maximum_active_trials is not None and entry.maximum_active_trials < 1:
        yield "entryConditions.maximumActiveTrials", "must be at least 1"


def _option_problems(requested: NewBacktest, leg: BacktestLeg) -> Iterator[tuple[str, str]]:
    if leg.quantity is not None and leg.quantity > _MAX_CONTRACTS:
        yield "quantity", f"must be at most {_MAX_CONTRACTS} for options"
    if leg.days_until_expiration is None or not 0 <= leg.days_until_expiration <= _MAX_DAYS:
        yield "daysUntilExpiration", f"must be from 0 to {_MAX_DAYS}"
    if leg.strike_selection is None:
        return
    attribute, name, least, most = _NEEDED[leg.strike_selection]
    value: Decimal | None = getattr(leg, attribute)
    if value is None or not least <= value <= most:
        yield name, f"must be from {least} to {most} for the strikeSelection {leg.strike_selection}"
    if leg.strike_selection in BY_OTHER_LEG:
        options = [n for n, each in enumerate(requested.legs) if is_option_leg(each)]
        if leg.strike_relative_leg not in [
            n for n in options if requested.legs[n].strike_selection not in BY_OTHER_LEG
        ]:
            yield "strikeRelativeLeg", "must be the index of an option leg with a strikeSelection that is not relative"


_MAX_ACTIVE = 50
"""Bound of the trials that are open at a time, whatever a test asks for."""

_VOLATILITY = "VIX"
_CENT = Decimal("0.01")


@attrs.define(eq=False)
class Trial:
    """One trial: its positions, their cost, and the sessions of its entry and exit."""

    opened: TradingSession
    legs: Sequence[HeldLeg]
    cost: Decimal
    closed: TradingSession
    profit: Decimal = Decimal(0)

    @cached_property
    def expires(self) -> date | None:
        """Day of the first expiration, None without options."""
        return min((leg.instrument.expires for leg in self.legs if leg.instrument.expires is not None), default=None)


@attrs.frozen
class Snapshot:
    """Profit of all trials so far, and the price of the underlying."""

    at: float
    profit: Decimal
    price: Decimal


@attrs.frozen
class Results:
    """Trials in the order of their entries, the course of the profit, and notices for humans."""

    trials: Sequence[Trial]
    snapshots: Sequence[Snapshot]
    notices: Sequence[str]

    def statistics(self) -> Iterator[tuple[str, Decimal | int]]:
        """Yield the figures of the trials by name. Without a trial only their number."""
        profits = [trial.profit for trial in self.trials]
        yield "Number of trials", len(profits)
        if profits:
            wins = sum(profit > 0 for profit in profits)
            yield "Number of trials with a profit", wins
            yield "Total profit", sum(profits, Decimal(0))
            yield "Average profit", (sum(profits, Decimal(0)) / len(profits)).quantize(_CENT)
            yield "Highest profit", max(profits)
            yield "Lowest profit", min(profits)


class TrialRun:
    """Runs strategies over past days, at the closing prices of each."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._strategies = Strategies(prices)

    def run(self, requested: NewBacktest, sessions: Sequence[TradingSession]) -> Results:
        """Return the trials of a strategy. Those that are open on the last day end then."""
        entry, exit_ = requested.entry_conditions, requested.exit_conditions
        closes_oldest = entry.maximum_active_trials_behavior == MaximumTrialsBehavior.CLOSE_OLDEST
        limit = min(entry.maximum_active_trials or _MAX_ACTIVE, _MAX_ACTIVE)
        on_some_days = entry.frequency == EntryFrequency.ON_SPECIFIC_DAYS_OF_THE_WEEK
        least = -inf if entry.minimum_vix is None else entry.minimum_vix
        most = inf if entry.maximum_vix is None else entry.maximum_vix
        trials: list[Trial] = []
        active: list[Trial] = []
        snapshots: list[Snapshot] = []
        notices: list[str] = []
        for session in sessions:
            for trial in active:  # until the next session, this one's close is the exit's
                trial.closed = session
                trial.profit = self._strategies.worth(trial.legs, session.close) - trial.cost
            active = [trial for trial in active if not self._ends(trial, exit_, session)]
            has_room = closes_oldest or len(active) < limit
            is_day = not on_some_days or session.day.isoweekday() in (entry.specific_days or ())
            if has_room and is_day and session is not sessions[-1] and least <= self._volatility(session) <= most:
                exact = entry.frequency == EntryFrequency.ON_EXACT_DAYS_TO_EXPIRATION_MATCH
                legs = self._strategies.enter(requested.symbol, requested.legs, session.close, exact=exact)
                if legs is not None:  # its instruments are listed
                    opened = Trial(session, legs, self._strategies.worth(legs, session.close), session)
                    trials.append(opened)
                    active = [*active, opened][-limit:]
            price = self._prices.underlying_price(requested.symbol, session.close)
            snapshots.append(Snapshot(session.close, sum((trial.profit for trial in trials), Decimal(0)), price))
        if active:
            notices.append(f"Trials that were open on the last day, and end at its prices: {len(active)}.")
        if limit != entry.maximum_active_trials:
            notices.append(f"Trials that are active at a time are limited to {limit}.")
        return Results(trials, snapshots, notices)

    def _ends(self, trial: Trial, exit_: ExitConditions, session: TradingSession) -> bool:
        """Return whether a trial ends by a condition, or by an expiration."""
        percent = 100 * trial.profit / abs(trial.cost) if trial.cost else Decimal(0)
        expires, days_left = trial.expires, max(0, exit_.at_days_to_expiration or 0)
        return (
            (expires is not None and (expires - session.day).days <= days_left)
            or _reaches(percent, exit_.take_profit_percentage)
            or _reaches(-percent, exit_.stop_loss_percentage)
            or _reaches((session.day - trial.opened.day).days, exit_.after_days_in_trade)
            or _reaches(self._volatility(session), exit_.minimum_vix)
        )

    def _volatility(self, session: TradingSession) -> Decimal:
        return self._prices.underlying_price(_VOLATILITY, session.close)


def _reaches(value: Decimal | int, limit: int | None) -> bool:
    return limit is not None and value >= limit


_YEARS_BACK = 5
_AT_ONCE = 5
"""Sessions up to which the results are ready at once: a week."""
_WAIT = 1.0
"""Seconds before a longer test begins."""
_PACE = 0.02
"""Seconds that each session of a test takes."""
_IDENTIFIERS = 9

_STOCKS = CALENDARS[InstrumentCollection.EQUITY]


@attrs.frozen(kw_only=True, eq=False)
class Backtest:
    """One backtest, computed at its creation (epoch seconds) and shown when its time has come."""

    identifier: str
    customer: Customer
    requested: NewBacktest
    created_at: float
    sessions: int
    results: Results

    def status(self, now: float) -> BacktestStatus:
        """Return the status at a time."""
        if self.remaining(now) == 0:
            return BacktestStatus.COMPLETED
        return BacktestStatus.PENDING if now < self._begins_at else BacktestStatus.RUNNING

    def progress(self, now: float) -> float:
        """Return the part that is done, from 0 to 1."""
        return 1.0 if self.remaining(now) == 0 else max(0.0, now - self._begins_at) / self._length

    def remaining(self, now: float) -> float:
        """Return the seconds until the results are ready."""
        return max(0.0, self._begins_at + self._length - now)

    @property
    def _begins_at(self) -> float:
        return self.created_at + (0.0 if self.sessions <= _AT_ONCE else _WAIT)

    @property
    def _length(self) -> float:
        return 0.0 if self.sessions <= _AT_ONCE else self.sessions * _PACE


class Backtests:
    """Keeps the backtests of all customers, and the testable days of symbols."""

    def __init__(self, catalogue: Catalogue, trial_run: TrialRun, random: KeyedRandom) -> None:
        self._catalogue = catalogue
        self._trial_run = trial_run
        self._random = random
        self._count = 0
        self._backtests: dict[str, Backtest] = {}

    @cached_property
    def symbols(self) -> Sequence[str]:
        """Symbols that can be tested: those with listed options."""
        return tuple(dict.fromkeys(option.underlying for option in self._catalogue.equity_options.definitions))

    def dates(self, now: float) -> tuple[date, date]:
        """Return the first and the last day that can be tested: some years back, and the last one that is over."""
        year = max(YEARS[0], self._catalogue.today.year - _YEARS_BACK)
        today = local_date(now)
        session = _STOCKS.session(today)
        is_over = session is not None and session.close <= now
        return _STOCKS.following(date(year - 1, 12, 31)).day, today if is_over else _STOCKS.preceding(today).day

    def create(self, customer: Customer, requested: NewBacktest, now: float) -> Backtest:
        """Create a backtest of a valid strategy."""
        self._count += 1
        sessions = _STOCKS.between(requested.start_date, requested.end_date)
        backtest = Backtest(
            identifier=self._random.hex_digits(32, _IDENTIFIERS, self._count),
            customer=customer,
            requested=requested,
            created_at=now,
            sessions=len(sessions),
            results=self._trial_run.run(requested, sessions),
        )
        self._backtests[backtest.identifier] = backtest
        return backtest

    def find(self, customer: Customer, identifier: str) -> Backtest | None:
        """Return a backtest of a customer, or None."""
        backtest = self._backtests.get(identifier)
        return backtest if backtest is not None and backtest.customer == customer else None

    def cancel(self, backtest: Backtest) -> None:
        """Remove a backtest."""
        del self._backtests[backtest.identifier]

    def of(self, customer: Customer) -> Iterator[Backtest]:
        """Yield the backtests of a customer, oldest first."""
        return (each for each in self._backtests.values() if each.customer == customer)
