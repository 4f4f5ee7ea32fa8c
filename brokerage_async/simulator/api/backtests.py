"""Handlers of ``backtests``: backtests of the user, and past prices of a trade. Bodies have no envelope."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from math import gcd
from typing import Any

import attrs
import msgspec

from ..._generated import converters as wires
from ..._generated import models
from ..._values import aware
from ...protocol.response import Response
from ..market.calendar import CALENDARS, YEARS, local_date, local_epoch
from ..market.strategies import Held, Results, Strategies, held, problems_of
from ..state import State
from ..trading.accounts import Customer
from .request_parser import Handlers, ParsedRequest
from .wire import RefusedError, bare, empty, found, timestamp

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
_STOCKS = CALENDARS[models.InstrumentCollection.EQUITY]

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

    def progress(self, now: float) -> float:
        """Return the part that is done, from 0 to 1."""
        return 1.0 if self.remaining(now) == 0 else max(0.0, now - self.begins_at) / self.length


class BacktestHandlers(Handlers):
    """Serves the backtester. A backtest is computed when it is created, and shows its results after a while."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._backtests: dict[str, Backtest] = {}
        self._count = 0
        self._strategies = Strategies(state.prices)

    @cached_property
    def _symbols(self) -> Sequence[str]:
        """Symbols that can be tested: those with listed options."""
        return tuple(dict.fromkeys(option.underlying for option in self._catalogue.equity_options.definitions))

    def _dates(self, now: float) -> tuple[date, date]:
        """Return the first and the last day that can be tested: some years back, and the last one that is over."""
        year, today = max(YEARS[0], self._catalogue.today.year - _YEARS_BACK), local_date(now)
        session = _STOCKS.session(today)
        is_over = session is not None and session.close <= now
        return _STOCKS.following(date(year - 1, 12, 31)).day, today if is_over else _STOCKS.preceding(today).day

    def available_dates(self, request: ParsedRequest) -> Response:
        first, last = self._dates(request.now)
        symbols = self._symbols
        return bare([wires.BacktestDatesWire(symbol=symbol, start_date=first, end_date=last) for symbol in symbols])

    def create(self, request: ParsedRequest) -> Response:
        """Create a backtest. A short one is complete at once."""
        requested: models.NewBacktest = request.body
        if requested.symbol not in self._symbols:
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

    def get(self, request: ParsedRequest) -> Response:
        """Return a backtest of the user, with its results once it is complete."""
        return self._response(self._own(request), request.now)

    def logs(self, request: ParsedRequest) -> Response:
        """Return an empty log, because its form is not described."""
        self._own(request)
        return empty(request.operation.status)

    def cancel(self, request: ParsedRequest) -> Response:
        """Remove a backtest that is pending or running."""
        backtest = self._own(request)
        if backtest.status(request.now) is models.BacktestStatus.COMPLETED:
            self._refuse([("id", "must be that of a pending or running backtest")])
        del self._backtests[backtest.identifier]
        return empty(request.operation.status)

    def simulate_trade(self, request: ParsedRequest) -> Response:
        """Return the prices of a trade from its first time until its last one, its first expiration, or now."""
        trade: models.SimulatedTrade = request.body
        legs, problems = list[Held](), list[tuple[str, str]]()
        if trade.underlying not in self._symbols:
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
        return bare(prices)

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
        asked, results = backtest.requested, backtest.results
        wire = wires.BacktestWire(
            id=backtest.identifier,
            symbol=asked.symbol,
            start_date=asked.start_date,
            end_date=asked.end_date,
            legs=[wires.BacktestLegWire.of(leg) for leg in asked.legs],
            entry_conditions=wires.EntryConditionsWire.of(asked.entry_conditions),
            exit_conditions=wires.ExitConditionsWire.of(asked.exit_conditions),
            status=backtest.status(now),
            eta=_number(backtest.remaining(now)),
            progress=_number(backtest.progress(now)),
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

    def list(self, request: ParsedRequest) -> Response:
        return bare([each.identifier for each in self._backtests.values() if each.customer == request.customer])
