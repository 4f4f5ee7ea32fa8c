"""Handlers of ``backtests``: backtests of the user, and past prices of a trade. Bodies have no envelope."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from math import gcd
from typing import Any

import msgspec

from ..._generated.converters import (
    BacktestDatesWire,
    BacktestLegWire,
    BacktestSnapshotWire,
    BacktestTrialWire,
    BacktestWire,
    EntryConditionsWire,
    ExitConditionsWire,
    SimulatedPriceWire,
)
from ..._generated.models import (
    BacktestStatus,
    InstrumentCollection,
    InstrumentType,
    NewBacktest,
    SimulatedEffect,
    SimulatedTrade,
    SimulatedTradeLeg,
)
from ..._values import aware
from ...protocol.response import Response
from ..market.calendar import CALENDARS, local_date, local_epoch
from ..market.strategies import Backtest, HeldLeg, Strategies, problems_of
from ..state import State
from .handlers import Handlers, ParsedRequest
from .wire import RefusedError, bare, empty, timestamp

_IDENTIFIER = re.compile(r"[0-9a-f]{32}")
_DAY = 86400.0
_STEP = 900.0
_MAX_DAYS_IN_STEPS = 60
"""Days up to which a trade is priced every 15 minutes; over more days at each close."""

_encoder = msgspec.json.Encoder(decimal_format="number")


def _number(value: float) -> Any:
    return Decimal(value).quantize(Decimal("0.0001"))


class BacktestHandlers(Handlers):
    """Serves the backtester."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._backtests = state.backtests
        self._strategies = Strategies(state.prices)

    def available_dates(self, request: ParsedRequest) -> Response:
        """Return the testable days of each symbol."""
        first, last = self._backtests.dates(request.now)
        symbols = self._backtests.symbols
        return bare([BacktestDatesWire(symbol=symbol, start_date=first, end_date=last) for symbol in symbols])

    def create(self, request: ParsedRequest) -> Response:
        """Create a backtest. A short one is complete at once."""
        requested: NewBacktest = request.body
        if requested.symbol not in self._backtests.symbols:
            raise RefusedError.not_found("symbol")
        self._refuse(problems_of(requested, *self._backtests.dates(request.now)))
        backtest = self._backtests.create(request.customer, requested, request.now)
        is_complete = backtest.status(request.now) is BacktestStatus.COMPLETED
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
        if backtest.status(request.now) is BacktestStatus.COMPLETED:
            self._refuse([("id", "must be that of a pending or running backtest")])
        self._backtests.cancel(backtest)
        return empty(request.operation.status)

    def simulate_trade(self, request: ParsedRequest) -> Response:
        """Return the prices of a trade from its first time until its last one, its first expiration, or now."""
        trade: SimulatedTrade = request.body
        self._refuse(self._trade_problems(trade))
        legs = [HeldLeg.of(self._instrument(leg), leg.direction, leg.quantity) for leg in trade.legs]
        last = request.now if trade.end_time is None else aware(trade.end_time).timestamp()
        ends = [leg.instrument.expires_at for leg in legs if leg.instrument.expires_at is not None]
        last = min(last, request.now, *ends)
        earliest = local_epoch(self._backtests.dates(request.now)[0], 0)
        asked = last - _MAX_DAYS_IN_STEPS * _DAY if trade.start_time is None else aware(trade.start_time).timestamp()
        first = max(earliest, asked)
        if last < first:
            self._refuse([("startTime", "must be before now, endTime and the first expiration")])
        number = gcd(*(leg.units for leg in legs))  # the smallest trade with the same ratio of its legs
        prices = []
        for session in CALENDARS[InstrumentCollection.EQUITY].between(local_date(first), local_date(last)):
            in_steps = last - first <= _MAX_DAYS_IN_STEPS * _DAY
            steps = int((session.close - session.open) // _STEP) if in_steps else 0
            for at in (session.close - step * _STEP for step in range(steps, -1, -1)):
                if first <= at <= last:
                    worth = self._strategies.worth(legs, at) / number
                    sent: Any = format(abs(worth), "f")
                    spot: Any = format(self._prices.underlying_price(trade.underlying, at), "f")
                    delta: Any = f"{self._strategies.delta(legs, at) / number:.4f}"
                    effect = SimulatedEffect.CREDIT if worth < 0 else SimulatedEffect.DEBIT
                    price = SimulatedPriceWire(
                        date_time=timestamp(at), price=sent, effect=effect, underlying_price=spot, delta=delta
                    )
                    prices.append(price)
        return bare(prices)

    def _trade_problems(self, trade: SimulatedTrade) -> Iterator[tuple[str, str]]:
        if trade.underlying not in self._backtests.symbols:
            yield "underlying", "must be one of the available symbols"
        for number, leg in enumerate(trade.legs):
            instrument = self._instrument(leg)
            if instrument is None or instrument.underlying != trade.underlying:
                yield f"legs[{number}].symbol", "must be the underlying or an option on it"
            if leg.quantity < 1:
                yield f"legs[{number}].quantity", "must be at least 1"

    def _instrument(self, leg: SimulatedTradeLeg) -> Any:
        find = self._catalogue.instrument
        return find(InstrumentType.EQUITY_OPTION, leg.symbol) or find(InstrumentType.EQUITY, leg.symbol)

    def _own(self, request: ParsedRequest) -> Backtest:
        """Return the backtest of the user in the path: 400 for other identifiers, 404 for unknown ones."""
        if _IDENTIFIER.fullmatch(request.path["id"]) is None:
            self._refuse([("id", "must be 32 hexadecimal digits")])
        backtest = self._backtests.find(request.customer, request.path["id"])
        if backtest is None:
            raise RefusedError.not_found("backtest")
        return backtest

    def _refuse(self, problems: Iterable[tuple[str, str]]) -> None:
        """Raise a 400 error if there are problems."""
        entries = [self._dialect.problem("invalid", f"{name} {reason}", name) for name, reason in problems]
        if entries:
            raise RefusedError.invalid(entries, 400)

    def _response(self, backtest: Backtest, now: float, status: int = 200) -> Response:
        asked, results = backtest.requested, backtest.results
        wire = BacktestWire(
            id=backtest.identifier,
            symbol=asked.symbol,
            start_date=asked.start_date,
            end_date=asked.end_date,
            legs=[BacktestLegWire.of(leg) for leg in asked.legs],
            entry_conditions=EntryConditionsWire.of(asked.entry_conditions),
            exit_conditions=ExitConditionsWire.of(asked.exit_conditions),
            status=backtest.status(now),
            eta=_number(backtest.remaining(now)),
            progress=_number(backtest.progress(now)),
        )
        if wire.status is BacktestStatus.COMPLETED:
            wire.statistics = [{"name": name, "value": value} for name, value in results.statistics()]
            wire.trials = [
                BacktestTrialWire(timestamp(each.opened.close), timestamp(each.closed.close), each.profit)
                for each in results.trials
            ]
            wire.snapshots = [
                BacktestSnapshotWire(timestamp(each.at), each.profit, each.price) for each in results.snapshots
            ]
            wire.notices = tuple(results.notices)
        return bare(_encoder.encode(wire), status)

    def list(self, request: ParsedRequest) -> Response:
        """Return the identifiers of the user's backtests."""
        return bare([backtest.identifier for backtest in self._backtests.of(request.customer)])
