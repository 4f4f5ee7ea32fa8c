"""Trials of a strategy, one after the other or at the same time, over past trading days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property

import attrs

from ..._generated.models import EntryConditions, EntryFrequency, ExitConditions, MaximumTrialsBehavior, NewBacktest
from .calendar import TradingSession
from .prices import Prices
from .strategies import HeldLeg, Strategies

__all__ = ["Results", "Snapshot", "Trial", "TrialRun"]

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
        """Yield the figures of the trials by name; without a trial only their number."""
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
        """Return the trials of a strategy; those that are open on the last day end then."""
        entry, exit_ = requested.entry_conditions, requested.exit_conditions
        closes_oldest = entry.maximum_active_trials_behavior == MaximumTrialsBehavior.CLOSE_OLDEST
        limit = min(entry.maximum_active_trials or _MAX_ACTIVE, _MAX_ACTIVE)
        trials: list[Trial] = []
        active: list[Trial] = []
        snapshots: list[Snapshot] = []
        notices: list[str] = []
        for session in sessions:
            self._value(active, session)
            active = [trial for trial in active if not self._ends(trial, exit_, session)]
            has_room = closes_oldest or len(active) < limit
            if has_room and session is not sessions[-1] and self._enters(entry, session):
                opened = self._open(requested, session)
                trials += opened
                active = [*active, *opened][-limit:]
            price = self._prices.underlying_price(requested.symbol, session.close)
            snapshots.append(Snapshot(session.close, sum((trial.profit for trial in trials), Decimal(0)), price))
        if active:
            notices.append(f"Trials that were open on the last day, and end at its prices: {len(active)}.")
        if limit != entry.maximum_active_trials:
            notices.append(f"Trials that are active at a time are limited to {limit}.")
        return Results(trials, snapshots, notices)

    def _value(self, active: Sequence[Trial], session: TradingSession) -> None:
        """Mark the trials at the close of a session, which is that of the exit until the next one."""
        for trial in active:
            trial.closed = session
            trial.profit = self._strategies.worth(trial.legs, session.close) - trial.cost

    def _open(self, requested: NewBacktest, session: TradingSession) -> list[Trial]:
        """Return a new trial, if its instruments are listed."""
        exact = requested.entry_conditions.frequency == EntryFrequency.ON_EXACT_DAYS_TO_EXPIRATION_MATCH
        legs = self._strategies.enter(requested.symbol, requested.legs, session.close, exact=exact)
        return [] if legs is None else [Trial(session, legs, self._strategies.worth(legs, session.close), session)]

    def _enters(self, entry: EntryConditions, session: TradingSession) -> bool:
        is_bound = entry.frequency == EntryFrequency.ON_SPECIFIC_DAYS_OF_THE_WEEK
        if is_bound and session.day.isoweekday() not in (entry.specific_days or ()):
            return False
        volatility = self._volatility(session)
        least, most = entry.minimum_vix, entry.maximum_vix
        return (least is None or volatility >= least) and (most is None or volatility <= most)

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
