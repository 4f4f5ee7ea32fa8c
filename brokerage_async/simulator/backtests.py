"""Backtests of customers: the requested strategies, their results, and the time until these show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property

import attrs

from .._generated.models import BacktestStatus, InstrumentCollection, NewBacktest
from .accounts.accounts import Customer
from .keyed_random import KeyedRandom
from .market.calendar import CALENDARS, YEARS, local_date
from .market.catalogue import Catalogue
from .market.strategies import Results, TrialRun

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
    def _is_short(self) -> bool:
        return self.sessions <= _AT_ONCE

    @property
    def _begins_at(self) -> float:
        return self.created_at + (0.0 if self._is_short else _WAIT)

    @property
    def _length(self) -> float:
        return 0.0 if self._is_short else self.sessions * _PACE


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
