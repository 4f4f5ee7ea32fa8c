"""Handlers of ``balances``: figures of an account that follow from its cash and positions, now and in the past."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from operator import itemgetter
from typing import Any

import attrs

from ..._generated.converters import AccountBalanceWire, NetLiqOhlcWire
from ..._generated.models import InstrumentCollection, InstrumentType, NetLiqRange, PriceEffect, TimeOfDay
from ...protocol.response import Response
from ..accounts.accounts import Account, opened_at, replay
from ..market.calendar import CALENDARS, TradingSession, local_date
from ..market.instrument import FUTURES
from ..market.prices import PRICE_INTERVAL
from .accounts import current_fields
from .handlers import Handlers, ParsedRequest
from .wire import RefusedError, dumps, item, items, money, timestamp

_CALENDAR = CALENDARS[InstrumentCollection.EQUITY]
_HOUR = 3600.0
_DAY = 86400.0
_BACK: Mapping[NetLiqRange, float] = {
    NetLiqRange.WEEK: 7 * _DAY,
    NetLiqRange.MONTH: 31 * _DAY,
    NetLiqRange.THREE_MONTHS: 92 * _DAY,
    NetLiqRange.SIX_MONTHS: 183 * _DAY,
    NetLiqRange.YEAR: 366 * _DAY,
}


@attrs.frozen
class Snapshot:
    """One snapshot: in the morning of a session, or after its close."""

    at: float
    day: date
    time_of_day: TimeOfDay


def snapshots(first: date, last: date, opened: float, now: float) -> Iterator[Snapshot]:
    """Yield the snapshots of the sessions in a range of days that were taken while an account was open."""
    for session in _sessions(first, last, opened, now):
        for at, time_of_day in ((session.start, TimeOfDay.BOD), (session.close, TimeOfDay.EOD)):
            if opened <= at <= now:
                yield Snapshot(at, session.day, time_of_day)


def _sessions(first: date, last: date, opened: float, now: float) -> list[TradingSession]:
    return _CALENDAR.between(max(first, local_date(opened)), min(last, local_date(now)))


@attrs.frozen
class Interval:
    """Part of a session, with the time between two looks at the prices within it."""

    start: float
    end: float
    step: float

    def times(self) -> Iterator[float]:
        """Yield the times of the looks, from the start to the end."""
        for number in range(int((self.end - self.start) // self.step) + 1):
            yield self.start + number * self.step
        if (self.end - self.start) % self.step:
            yield self.end


def intervals(query: Mapping[str, Any], opened: float, now: float) -> Iterator[Interval]:
    """Yield the intervals of a history.

    They last five minutes within a day, an hour within a week, otherwise a whole session. A start time takes precedence
    over a range.
    """
    end = min(query.get("end_time", now), now)
    start = query.get("start_time")
    if start is None:
        time_back = query["time_back"]
        if time_back == NetLiqRange.ALL:
            start = opened
        elif time_back in _BACK:
            start = end - _BACK[time_back]
        else:
            session = _CALENDAR.session(local_date(end))
            start = (session if session and end >= session.open else _CALENDAR.preceding(local_date(end))).open
    # The length of an interval, and the time between two looks.
    length, step = _DAY, _HOUR
    if end - start <= 8 * _DAY:
        length, step = (_HOUR, 10 * PRICE_INTERVAL) if end - start > _DAY else (5 * PRICE_INTERVAL, PRICE_INTERVAL)
    start = max(start, opened)
    for session in _sessions(local_date(start), local_date(end), opened, now):
        at = session.open
        while at < min(session.close, end):
            if at >= start:
                yield Interval(at, min(at + length, session.close, end), step)
            at += length


_ZERO = Decimal(0)
_CENT = Decimal("0.01")
_SNAPSHOT_FILTERS = frozenset({"snapshot_date", "time_of_day", "start_date", "end_date"})
_CURRENCY = "USD"
_OHLC = ("open", "high", "low", "close")

_VALUE_NAMES = {
    InstrumentType.EQUITY: "equity",
    InstrumentType.EQUITY_OPTION: "derivative",
    InstrumentType.FUTURE: "futures",
    InstrumentType.FUTURE_OPTION: "futures_derivative",
    InstrumentType.CRYPTOCURRENCY: "cryptocurrency",
}


class Balances(Handlers):
    """Computes the balances of an account, in dollars only."""

    def get(self, request: ParsedRequest) -> Response:
        """Return the balance in one currency. Only dollars are held."""
        account = self._access.account(request)
        if request.path["currency"] != _CURRENCY:
            raise RefusedError.not_found("balance")
        return item(self.balance(account, request.now), request.context)

    def snapshots(self, request: ParsedRequest) -> Response:
        """Return a page of snapshots, oldest first: by default the newest one and the current balance."""
        account, query, now = self._access.account(request), request.query, request.now
        in_dollars = query.get("currency", _CURRENCY) == _CURRENCY
        if in_dollars and "snapshot_date" in query and "time_of_day" not in query:
            raise RefusedError.invalid([request.problem("time_of_day", "time-of-day is required with snapshot-date")])
        first = query.get("snapshot_date", query.get("start_date", date.min))
        last = query.get("snapshot_date", query.get("end_date", date.max))
        taken = snapshots(first, last, opened_at(account), now) if in_dollars else ()
        chosen = [one for one in taken if query.get("time_of_day") in (None, one.time_of_day)]
        is_default = in_dollars and not _SNAPSHOT_FILTERS & query.keys()
        chosen = chosen[-1:] if is_default else chosen
        times = [snapshot.at for snapshot in chosen]
        page = request.slice(len(chosen) + is_default)
        rows: list[bytes] = []
        for snapshot, past in zip(chosen[page.start : page.stop], replay(account, times[page.start :]), strict=False):
            balance = self.balance(past, snapshot.at)
            balance.time_of_day = snapshot.time_of_day
            rows.append(dumps(balance))
        if is_default and page.start <= len(chosen) < page.stop:
            rows.append(dumps(self.balance(account, now)))
        return items(rows, request.context, page)

    def net_liq_history(self, request: ParsedRequest) -> Response:
        """Return the net liquidating value of the past, from the bookings and the prices of those times."""
        account = self._access.account(request)
        chosen = intervals(request.query, opened_at(account), request.now)
        looks = [(interval.start, at) for interval in chosen for at in interval.times()]
        states = replay(account, [at for _, at in looks])
        values = ((start, self._calculator.equity(past, at)) for (start, at), past in zip(looks, states, strict=True))
        rows: list[bytes] = []
        nothing = {f"pending_cash_{name}": _ZERO.quantize(_CENT) for name in _OHLC}
        for start, own in itertools.groupby(values, itemgetter(0)):
            worths = [value for _, value in own]
            bars = dict(zip(_OHLC, (worths[0], max(worths), min(worths), worths[-1]), strict=True))
            totals = {f"total_{name}": value for name, value in bars.items()}
            rows.append(dumps(NetLiqOhlcWire(time=self._dialect.short_timestamp(start), **bars, **totals, **nothing)))
        return items(rows, request.context)

    def balance(self, account: Account, now: float) -> AccountBalanceWire:
        calculator = self._calculator
        equity, required = calculator.equity(account, now), calculator.total_required(account, now)
        buying_power, maintenance = calculator.buying_power(account, now), calculator.maintenance(required)
        held = [position for position in account.positions.values() if position.instrument.is_future]
        futures = sum((abs(each.quantity) * FUTURES[each.instrument.symbol[1:-2]].margin for each in held), _ZERO)
        figures = {
            "available_trading_funds": buying_power,
            "cash_available_to_withdraw": max(_ZERO, min(account.cash, buying_power)),
            "cash_balance": account.cash,
            "cash_settle_balance": account.cash,
            "day_trading_buying_power": _ZERO,
            "derivative_buying_power": buying_power,
            "effective_cryptocurrency_buying_power": max(_ZERO, buying_power),
            "equity_buying_power": buying_power / account.equity_rate,
            "futures_margin_requirement": futures,
            "futures_overnight_margin_requirement": futures,
            "maintenance_excess": equity - maintenance,
            "maintenance_requirement": maintenance,
            "margin_equity": equity,
            "net_liquidating_value": equity,
            "reg_t_margin_requirement": required,
            "total_settle_balance": account.cash,
            "used_derivative_buying_power": equity - buying_power,
            **self._values(account, now),
        }
        dollars: dict[str, Any] = {name: money(amount.quantize(_CENT)) for name, amount in figures.items()}
        wire = AccountBalanceWire(
            account_number=account.number,
            currency=_CURRENCY,
            snapshot_date=local_date(now),
            updated_at=timestamp(now),
            **_ABSENT,
            **dollars,
        )
        return current_fields(wire, self._has)

    def _values(self, account: Account, now: float) -> dict[str, Decimal]:
        """Return the long and short value of each instrument type. For futures it is the gain, possibly negative."""
        values = {f"{side}_{name}_value": _ZERO for name in _VALUE_NAMES.values() for side in ("long", "short")}
        for position in account.positions.values():
            name = _VALUE_NAMES[position.instrument.instrument_type]
            worth = position.worth(self._prices.price(position.instrument, now))
            if position.quantity > 0:
                values[f"long_{name}_value"] += worth
            else:
                values[f"short_{name}_value"] -= worth
        return values

    def list(self, request: ParsedRequest) -> Response:
        """Return the balance: one object if no version was asked for, a list in dated versions."""
        balance = self.balance(self._access.account(request), request.now)
        if request.asked_version is not None and "balances_are_a_list" in request.behaviours:
            return items([dumps(balance)], request.context)
        return item(balance, request.context)


_NEVER_HELD = (
    "bond_margin_requirement", "buying_power_adjustment", "closed_loop_available_balance",
    "cryptocurrency_margin_requirement", "day_equity_call_value", "day_trade_excess", "day_trading_call_value",
    "equity_offering_margin_requirement", "fixed_income_security_margin_requirement",
    "futures_intraday_margin_requirement", "long_bond_value", "long_fixed_income_security_value",
    "long_index_derivative_value", "long_margineable_value", "maintenance_call_value", "margin_settle_balance",
    "pending_cash", "pending_margin_interest", "reg_t_call_value", "short_index_derivative_value",
    "short_margineable_value", "sma_equity_option_buying_power", "special_memorandum_account_apex_adjustment",
    "special_memorandum_account_value", "total_pending_liquidity_pool_rebate", "unsettled_cryptocurrency_fiat_amount",
)  # fmt: skip
_ABSENT: dict[str, Any] = {
    **dict.fromkeys(_NEVER_HELD, "0.00"),
    "pending_cash_effect": PriceEffect.NONE,
    "unsettled_cryptocurrency_fiat_effect": PriceEffect.NONE,
    "buying_power_adjustment_effect": PriceEffect.NONE,
}
"""Figures of instruments and events that the simulated accounts never have."""
