"""Handlers of ``backtests``: strategies, their trials over past days, and past prices of a trade.

Bodies have no envelope.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from math import gcd, inf
from typing import Any

import attrs
import msgspec

from ..._generated import converters as wires
from ..._generated import models
from ..._values import aware
from ...protocol.response import Response
from ..market.calendar import CALENDARS, YEARS, TradingSession, local_date, local_epoch, monthly_expiration
from ..market.catalogue import equity_option, strike_step
from ..market.instrument import Instrument
from ..market.prices import Prices
from ..state import State
from ..trading.accounts import Customer
from .request_parser import Handlers, ParsedRequest
from .wire import RefusedError, bare, found, like, timestamp

_STOCKS = CALENDARS[models.InstrumentCollection.EQUITY]
BY_OTHER_LEG = frozenset(each for each in models.StrikeSelection if each.name.endswith("_RELATIVE"))
"""Ways of choosing a strike that start from that of another leg."""

_MAX_ACTIVE = 50
"""Bound of the trials that are open at a time, whatever a test asks for."""

_CENT = Decimal("0.01")

Held = tuple[Instrument, int]
"""Instrument with its quantity in units of the underlying, negative for a short position."""


def held(instrument: Instrument, direction: models.BacktestDirection | None, quantity: int) -> Held:
    units = quantity * int(instrument.multiplier)
    return instrument, -units if direction == models.BacktestDirection.SHORT else units


@attrs.define(eq=False)
class Trial:
    """One trial: its positions, their cost, and the sessions of its entry and exit."""

    opened: TradingSession
    positions: Sequence[Held]
    cost: Decimal
    closed: TradingSession
    profit: Decimal = Decimal(0)

    @property
    def expires(self) -> date | None:
        return min((each.expires for each, _ in self.positions if each.expires is not None), default=None)


@attrs.frozen
class Results:
    """Trials by entry, notices for humans, and snapshots: time, profit of trials so far, price of the underlying."""

    trials: Sequence[Trial]
    snapshots: Sequence[tuple[float, Decimal, Decimal]]
    notices: Sequence[str]

    def statistics(self) -> dict[str, Decimal | int]:
        """Return the figures of the trials by name. Without a trial only their number."""
        profits = [trial.profit for trial in self.trials]
        if not profits:
            return {"Number of trials": 0}
        return {
            "Number of trials": len(profits),
            "Number of trials with a profit": sum(profit > 0 for profit in profits),
            "Total profit": sum(profits, Decimal(0)),
            "Average profit": (sum(profits, Decimal(0)) / len(profits)).quantize(_CENT),
            "Highest profit": max(profits),
            "Lowest profit": min(profits),
        }


class Strategies:
    """Chooses the instruments of strategies, values them at any time, and runs them over past days."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices

    def worth(self, positions: Sequence[Held], at: float) -> Decimal:
        """Return the amount that buying the positions costs, negative for a credit."""
        return sum((units * self._prices.price(instrument, at) for instrument, units in positions), Decimal(0))

    def delta(self, positions: Sequence[Held], at: float) -> float:
        """Return the change of the worth per dollar of the underlying."""
        return sum(units * self._delta(instrument, at) for instrument, units in positions)

    def enter(self, symbol: str, legs: Sequence[models.BacktestLeg], at: float, *, exact: bool) -> list[Held] | None:
        """Return the positions of a strategy at its entry. None if a strike or ``exact`` expiration is not listed."""
        today = local_date(at)
        strikes: dict[int, Decimal] = {}
        expirations: dict[int, date] = {}
        options = [number for number, leg in enumerate(legs) if leg.type == models.BacktestLegType.EQUITY_OPTION]
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
            equity_option(symbol, expirations[number], _right(leg), strikes[number])
            if number in strikes
            else Instrument(symbol=symbol, instrument_type=models.InstrumentType.EQUITY, underlying=symbol)
            for number, leg in enumerate(legs)
        )
        pairs = zip(instruments, legs, strict=True)
        return [held(instrument, leg.direction, leg.quantity or 0) for instrument, leg in pairs]

    def run(self, requested: models.NewBacktest, sessions: Sequence[TradingSession]) -> Results:
        """Return the trials of a strategy. Those that are open on the last day end then."""
        entry, exit_ = requested.entry_conditions, requested.exit_conditions
        closes_oldest = entry.maximum_active_trials_behavior == models.MaximumTrialsBehavior.CLOSE_OLDEST
        limit = min(entry.maximum_active_trials or _MAX_ACTIVE, _MAX_ACTIVE)
        on_some_days = entry.frequency == models.EntryFrequency.ON_SPECIFIC_DAYS_OF_THE_WEEK
        least = -inf if entry.minimum_vix is None else entry.minimum_vix
        most = inf if entry.maximum_vix is None else entry.maximum_vix
        trials: list[Trial] = []
        active: list[Trial] = []
        snapshots: list[tuple[float, Decimal, Decimal]] = []
        notices: list[str] = []
        for session in sessions:
            for trial in active:  # until the next session, this one's close is the exit's
                trial.closed = session
                trial.profit = self.worth(trial.positions, session.close) - trial.cost
            active = [trial for trial in active if not self._ends(trial, exit_, session)]
            has_room = closes_oldest or len(active) < limit
            is_day = not on_some_days or session.day.isoweekday() in (entry.specific_days or ())
            if has_room and is_day and session is not sessions[-1] and least <= self._volatility(session) <= most:
                exact = entry.frequency == models.EntryFrequency.ON_EXACT_DAYS_TO_EXPIRATION_MATCH
                legs = self.enter(requested.symbol, requested.legs, session.close, exact=exact)
                if legs is not None:  # its instruments are listed
                    opened = Trial(session, legs, self.worth(legs, session.close), session)
                    trials.append(opened)
                    active = [*active, opened][-limit:]
            price = self._prices.underlying_price(requested.symbol, session.close)
            snapshots.append((session.close, sum((trial.profit for trial in trials), Decimal(0)), price))
        if active:
            notices.append(f"Trials that were open on the last day, and end at its prices: {len(active)}.")
        if limit != entry.maximum_active_trials:
            notices.append(f"Trials that are active at a time are limited to {limit}.")
        return Results(trials, snapshots, notices)

    def _ends(self, trial: Trial, exit_: models.ExitConditions, session: TradingSession) -> bool:
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
        return self._prices.underlying_price("VIX", session.close)

    def _delta(self, instrument: Instrument, at: float) -> float:
        return self._prices.theory(instrument, at).delta if instrument.is_option else 1.0

    def _strike(
        self, symbol: str, leg: models.BacktestLeg, expires: date, strikes: dict[int, Decimal], at: float
    ) -> Decimal | None:
        """Return the listed strike nearest to the one that a leg asks for, None if it must be exact and is not."""
        spot = self._prices.underlying_price(symbol, at)
        step = strike_step(spot)
        way = leg.strike_selection
        base = strikes[leg.strike_relative_leg or 0] if way in BY_OTHER_LEG else spot
        if way in (models.StrikeSelection.PREMIUM, models.StrikeSelection.DELTA):
            return self._strike_by_value(symbol, leg, expires, at)
        if way in (models.StrikeSelection.PERCENTAGE_OTM, models.StrikeSelection.PERCENTAGE_OTM_RELATIVE):
            part = leg.percentage_otm or Decimal(0)
            wanted = base * (1 + part if _right(leg) is models.OptionType.CALL else 1 - part)
        else:
            wanted = base + (leg.current_price_offset or 0)
        if way == models.StrikeSelection.CURRENT_PRICE_EXACT_OFFSET_RELATIVE:
            return wanted if wanted > 0 and wanted % step == 0 else None
        return max(step, round(wanted / step) * step)

    def _strike_by_value(self, symbol: str, leg: models.BacktestLeg, expires: date, at: float) -> Decimal:
        """Return the strike up to twice the spot price whose option has about the premium or delta of a leg."""
        spot, right = self._prices.underlying_price(symbol, at), _right(leg)
        by_delta, step = leg.strike_selection == models.StrikeSelection.DELTA, strike_step(spot)
        # The higher the strike, the cheaper is a call, and the less its delta.
        sign = -1 if right is models.OptionType.CALL else 1

        def value(number: int) -> float:
            option = equity_option(symbol, expires, right, number * step)
            return sign * (abs(self._delta(option, at)) if by_delta else float(self._prices.price(option, at)))

        numbers = range(1, int(spot * 2 / step) + 2)
        wanted = sign * (float(leg.delta or 0) / 100 if by_delta else float(leg.premium or 0))
        position = bisect.bisect_left(numbers, wanted, key=value)
        nearest = numbers[max(0, position - 1) : position + 1]
        return step * min(nearest, key=lambda number: abs(value(number) - wanted))


def _right(leg: models.BacktestLeg) -> models.OptionType:
    return models.OptionType.CALL if leg.side == models.BacktestSide.CALL else models.OptionType.PUT


_MAX_CONTRACTS = 10
_MAX_DOLLARS = 50_000
_MAX_DAYS = 1_100
"""Days of the longest listed options, about three years."""

_OFFSET = "current_price_offset", "currentPriceOffset", Decimal(-_MAX_DOLLARS), Decimal(_MAX_DOLLARS)
_DISTANCE = "percentage_otm", "percentageOTM", Decimal(-1), Decimal(1)
_NEEDED: Mapping[models.StrikeSelection, tuple[str, str, Decimal, Decimal]] = {
    models.StrikeSelection.DELTA: ("delta", "delta", Decimal(1), Decimal(100)),
    models.StrikeSelection.PERCENTAGE_OTM: _DISTANCE,
    models.StrikeSelection.PERCENTAGE_OTM_RELATIVE: _DISTANCE,
    models.StrikeSelection.CURRENT_PRICE_OFFSET: _OFFSET,
    models.StrikeSelection.CURRENT_PRICE_OFFSET_RELATIVE: _OFFSET,
    models.StrikeSelection.CURRENT_PRICE_EXACT_OFFSET_RELATIVE: _OFFSET,
    models.StrikeSelection.PREMIUM: ("premium", "premium", Decimal(0), Decimal(_MAX_DOLLARS)),
}
"""Field that each way of choosing a strike needs: attribute, key, and bounds."""


def problems_of(requested: models.NewBacktest, first: date, last: date) -> Iterator[tuple[str, str]]:
    """Yield field and problem of each broken rule; ``first`` and ``last`` bound the days that can be tested."""
    start, end = requested.start_date, requested.end_date
    if start < first or last < end:
        yield "startDate" if start < first else "endDate", f"must be from {first} to {last}"
    elif end < start:
        yield "endDate", "must not be before startDate"
    elif not _STOCKS.between(start, end):
        yield "endDate", "must leave at least one trading day"
    options = {n: leg for n, leg in enumerate(requested.legs) if leg.type == models.BacktestLegType.EQUITY_OPTION}
    for number, leg in options.items():
        place, way = f"legs[{number}].", leg.strike_selection
        if leg.quantity is not None and leg.quantity > _MAX_CONTRACTS:
            yield f"{place}quantity", f"must be at most {_MAX_CONTRACTS} for options"
        if leg.days_until_expiration is None or not 0 <= leg.days_until_expiration <= _MAX_DAYS:
            yield f"{place}daysUntilExpiration", f"must be from 0 to {_MAX_DAYS}"
        if way is None:
            continue
        attribute, name, least, most = _NEEDED[way]
        value: Decimal | None = getattr(leg, attribute)
        if value is None or not least <= value <= most:
            yield f"{place}{name}", f"must be from {least} to {most} for the strikeSelection {way}"
        bases = [n for n, each in options.items() if each.strike_selection not in BY_OTHER_LEG]
        if way in BY_OTHER_LEG and leg.strike_relative_leg not in bases:
            text = "must be the index of an option leg with a strikeSelection that is not relative"
            yield f"{place}strikeRelativeLeg", text
    entry = requested.entry_conditions
    if entry.frequency == models.EntryFrequency.ON_SPECIFIC_DAYS_OF_THE_WEEK and not entry.specific_days:
        yield "entryConditions.specificDays", "must name at least one day for this frequency"
    if entry.maximum_active_trials is not None and entry.maximum_active_trials < 1:
        yield "entryConditions.maximumActiveTrials", "must be at least 1"


def _reaches(value: Decimal | int, limit: int | None) -> bool:
    return limit is not None and value >= limit


_IDENTIFIER = re.compile(r"[0-9a-f]{32}")
_DAY = 86400.0
_STEP = 900.0
_MAX_DAYS_IN_STEPS = 60
"""Days up to which a trade is priced every 15 minutes; over more days at each close."""

_YEARS_BACK = 5
_AT_ONCE = 5
"""Sessions up to which the results are ready at once: a week."""
_WAIT = 1.0
"""Seconds before a longer test begins."""
_PACE = 0.02
"""Seconds that each session of a test takes."""
_IDENTIFIERS = 9

_encoder = msgspec.json.Encoder(decimal_format="number")


def _number(value: float) -> Any:
    return Decimal(value).quantize(Decimal("0.0001"))


@attrs.frozen(kw_only=True, eq=False)
class Backtest:
    """One backtest, computed at its creation and shown ``length`` seconds after it ``begins_at`` (epoch seconds)."""

    identifier: str
    customer: Customer
    requested: models.NewBacktest
    begins_at: float
    length: float
    results: Results

    def remaining(self, now: float) -> float:
        return max(0.0, self.begins_at + self.length - now)

    def status(self, now: float) -> models.BacktestStatus:
        if self.remaining(now) == 0:
            return models.BacktestStatus.COMPLETED
        return models.BacktestStatus.PENDING if now < self.begins_at else models.BacktestStatus.RUNNING


class Backtests(Handlers):
    """Serves the backtester. A backtest is computed when it is created, and shows its results after a while."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._backtests: dict[str, Backtest] = {}
        self._count = 0
        self._strategies = Strategies(state.prices)

    def _dates(self, now: float) -> tuple[date, date]:
        """Return the first and the last day that can be tested: some years back, and the last one that is over."""
        year, today = max(YEARS[0], self._catalogue.today.year - _YEARS_BACK), local_date(now)
        session = _STOCKS.session(today)
        is_over = session is not None and session.close <= now
        return _STOCKS.following(date(year - 1, 12, 31)).day, today if is_over else _STOCKS.preceding(today).day

    def available_dates(self, request: ParsedRequest) -> Any:
        first, last = self._dates(request.now)
        return [
            wires.BacktestDatesWire(symbol=each, start_date=first, end_date=last) for each in self._catalogue.optioned
        ]

    def create(self, request: ParsedRequest) -> Any:
        """Create a backtest. A short one is complete at once."""
        requested: models.NewBacktest = request.body
        if requested.symbol not in self._catalogue.optioned:
            raise RefusedError.not_found("symbol")
        self._refuse(problems_of(requested, *self._dates(request.now)))
        sessions = _STOCKS.between(requested.start_date, requested.end_date)
        self._count += 1
        backtest = Backtest(
            identifier=self._state.random.hex_digits(32, _IDENTIFIERS, self._count),
            customer=request.customer,
            requested=requested,
            begins_at=request.now if len(sessions) <= _AT_ONCE else request.now + _WAIT,
            length=0.0 if len(sessions) <= _AT_ONCE else len(sessions) * _PACE,
            results=self._strategies.run(requested, sessions),
        )
        self._backtests[backtest.identifier] = backtest
        is_complete = backtest.status(request.now) is models.BacktestStatus.COMPLETED
        return self._response(backtest, request.now, request.operation.status if is_complete else 201)

    def get(self, request: ParsedRequest) -> Any:
        return self._response(self._own(request), request.now)

    def logs(self, request: ParsedRequest) -> None:
        """Return an empty log, because its form is not described."""
        self._own(request)

    def cancel(self, request: ParsedRequest) -> None:
        backtest = self._own(request)
        if backtest.status(request.now) is models.BacktestStatus.COMPLETED:
            self._refuse([("id", "must be that of a pending or running backtest")])
        del self._backtests[backtest.identifier]

    def simulate_trade(self, request: ParsedRequest) -> Any:
        """Return the prices of a trade from its first time until its last one, its first expiration, or now."""
        trade: models.SimulatedTrade = request.body
        legs, problems = list[Held](), list[tuple[str, str]]()
        if trade.underlying not in self._catalogue.optioned:
            problems.append(("underlying", "must be one of the available symbols"))
        for number, leg in enumerate(trade.legs):
            find, kinds = self._catalogue.instrument, models.InstrumentType
            instrument = find(kinds.EQUITY_OPTION, leg.symbol) or find(kinds.EQUITY, leg.symbol)
            if instrument is None or instrument.underlying != trade.underlying:
                problems.append((f"legs[{number}].symbol", "must be the underlying or an option on it"))
            elif leg.quantity >= 1:
                legs.append(held(instrument, leg.direction, leg.quantity))
            if leg.quantity < 1:
                problems.append((f"legs[{number}].quantity", "must be at least 1"))
        self._refuse(problems)
        last = request.now if trade.end_time is None else aware(trade.end_time).timestamp()
        ends = [each.expires_at for each, _ in legs if each.expires_at is not None]
        last = min(last, request.now, *ends)
        earliest = local_epoch(self._dates(request.now)[0], 0)
        asked = last - _MAX_DAYS_IN_STEPS * _DAY if trade.start_time is None else aware(trade.start_time).timestamp()
        first = max(earliest, asked)
        if last < first:
            self._refuse([("startTime", "must be before now, endTime and the first expiration")])
        number = gcd(*(units for _, units in legs))  # the smallest trade with the same ratio of its legs
        prices = []
        for session in _STOCKS.between(local_date(first), local_date(last)):
            in_steps = last - first <= _MAX_DAYS_IN_STEPS * _DAY
            steps = int((session.close - session.open) // _STEP) if in_steps else 0
            for at in (session.close - step * _STEP for step in range(steps, -1, -1)):
                if first <= at <= last:
                    worth = self._strategies.worth(legs, at) / number
                    sent: Any = format(abs(worth), "f")
                    spot: Any = format(self._prices.underlying_price(trade.underlying, at), "f")
                    delta: Any = f"{self._strategies.delta(legs, at) / number:.4f}"
                    effect = models.SimulatedEffect.CREDIT if worth < 0 else models.SimulatedEffect.DEBIT
                    price = wires.SimulatedPriceWire(
                        date_time=timestamp(at), price=sent, effect=effect, underlying_price=spot, delta=delta
                    )
                    prices.append(price)
        return prices

    def _own(self, request: ParsedRequest) -> Backtest:
        """Return the backtest of the user in the path: 400 for other identifiers, 404 for unknown ones."""
        if _IDENTIFIER.fullmatch(request.path["id"]) is None:
            self._refuse([("id", "must be 32 hexadecimal digits")])
        backtest = self._backtests.get(request.path["id"])
        return found(backtest if backtest and backtest.customer == request.customer else None, "backtest")

    def _refuse(self, problems: Iterable[tuple[str, str]]) -> None:
        entries = [self._dialect.problem("invalid", f"{name} {reason}", name) for name, reason in problems]
        if entries:
            raise RefusedError.invalid(entries, 400)

    def _response(self, backtest: Backtest, now: float, status: int = 200) -> Response:
        asked, results, left = backtest.requested, backtest.results, backtest.remaining(now)
        wire = like(
            wires.BacktestWire,
            asked,
            id=backtest.identifier,
            legs=[wires.BacktestLegWire.of(leg) for leg in asked.legs],
            entry_conditions=wires.EntryConditionsWire.of(asked.entry_conditions),
            exit_conditions=wires.ExitConditionsWire.of(asked.exit_conditions),
            status=backtest.status(now),
            eta=_number(left),
            progress=_number(max(0.0, now - backtest.begins_at) / backtest.length if left else 1.0),
        )
        if wire.status is models.BacktestStatus.COMPLETED:
            wire.statistics = [{"name": name, "value": value} for name, value in results.statistics().items()]
            wire.trials = [
                wires.BacktestTrialWire(timestamp(each.opened.close), timestamp(each.closed.close), each.profit)
                for each in results.trials
            ]
            wire.snapshots = [wires.BacktestSnapshotWire(timestamp(at), *figures) for at, *figures in results.snapshots]
            wire.notices = tuple(results.notices)
        return bare(_encoder.encode(wire), status)

    def list(self, request: ParsedRequest) -> Any:
        return [each.identifier for each in self._backtests.values() if each.customer == request.customer]
