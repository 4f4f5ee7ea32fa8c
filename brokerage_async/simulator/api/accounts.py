"""Handlers of ``accounts``, ``positions``, ``transactions`` and ``balances``, now and in the past."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from importlib.resources import files
from operator import itemgetter
from typing import Any, TypeVar

import msgspec

from ..._generated import converters as wires
from ..._generated import models
from ...protocol.decoding.fields import wire_fields
from ..market.calendar import CALENDARS, TradingSession, local_date
from ..market.instrument import FUTURES
from ..market.prices import PRICE_INTERVAL
from ..trading import accounts as books
from ..trading.accounts import Account, Execution, Position, amounts, day_trade_count, opened_at, replay
from .request_parser import Handlers, ParsedRequest
from .wire import RefusedError, found, like, money, same, timestamp

T = TypeVar("T")

_DAY = 86400.0
_LEVELS: Mapping[str, str] = {"Margin": "No Restrictions", "Cash": "Covered And Cash Secured"}
_DAY_TRADING = (
    "day_trade_count", "day_trade_excess", "day_trader_status", "day_trading_buying_power", "day_trading_call_value",
    "is_in_day_trade_equity_maintenance_call", "is_pattern_day_trader",
)  # fmt: skip
"""Fields of the rule about pattern day traders."""
_NO_RESTRICTIONS: Mapping[str, Any] = dict.fromkeys((
    "are_far_otm_net_options_restricted", "has_intraday_equities_margin", "is_aggregated_at_clearing", "is_closed",
    "is_closing_only", "is_cryptocurrency_closing_only", "is_equity_offering_closing_only",
    "is_equity_offering_enabled", "is_frozen", "is_futures_closing_only", "is_futures_intra_day_enabled",
    "is_in_day_trade_equity_maintenance_call", "is_in_margin_call", "is_pattern_day_trader", "is_risk_reducing_only",
    "is_roll_the_day_forward_enabled", "is_small_notional_futures_intra_day_enabled",
), False)  # fmt: skip
_NEVER = ("day_trader_status", "is_closed", "is_firm_error", "is_firm_proprietary", "is_foreign")
_CUSTOMER = (files("brokerage_async.simulator.api") / "customer.json").read_bytes()


def current_fields(wire: T, has: Callable[[str], bool]) -> T:
    """Return a row, without the fields of the retired rule about day traders if they do not arrive any more."""
    if not has("day_trader_fields_still_arrive"):
        for name in _DAY_TRADING:
            if hasattr(wire, name):
                setattr(wire, name, None)
    return wire


class Accounts(Handlers):
    """Serves the owner's record and accounts, all opened before the simulation starts."""

    def customer(self, request: ParsedRequest) -> Any:
        accounts = self._own_accounts(request)
        record = msgspec.json.decode(_CUSTOMER, type=wires.CustomerWire)
        record.id = "me" if self._has("customer_is_me") else str(request.customer.number)
        record.email = f"{request.customer.username}@example.com"
        record.created_at = timestamp(opened_at(accounts[0]))
        return record

    def get(self, request: ParsedRequest) -> Any:
        self._own_accounts(request)
        return self._account(self._account_of(request))

    def trading_status(self, request: ParsedRequest) -> Any:
        return self.status(self._account_of(request), request.now)

    def status(self, account: books.Account, now: float) -> wires.TradingStatusWire:
        on_margin = account.kind == "Margin"
        wire = wires.TradingStatusWire(
            id=self._dialect.identifier(int(account.number[3:])),
            account_number=account.number,
            day_trade_count=day_trade_count(account, now),
            equities_margin_calculation_type="Reg T",
            fee_schedule_name="default",
            **same(Decimal("1.0"), "futures_margin_rate_multiplier", "small_notional_futures_margin_rate_multiplier"),
            **same(True, "is_cryptocurrency_enabled", "is_futures_enabled"),
            is_full_equity_margin_required=not on_margin,
            options_level=_LEVELS[account.kind],
            short_calls_enabled=on_margin,
            updated_at=timestamp(opened_at(account)),
            **_NO_RESTRICTIONS,
        )
        return current_fields(wire, self._has)

    def _account(self, account: books.Account) -> wires.AccountWire:
        wire = wires.AccountWire(
            account_number=account.number,
            account_type_name="Individual",
            **same(timestamp(opened_at(account)), "created_at", "opened_at"),
            investment_objective="SPECULATION",
            is_futures_approved=True,
            margin_or_cash=account.kind,
            nickname=f"{account.kind} {account.number[-1]}",
            suitable_options_level=_LEVELS[account.kind],
            **same(False, *_NEVER),
        )
        return current_fields(wire, self._has)

    def list(self, request: ParsedRequest) -> Any:
        return (
            wires.CustomerAccountWire(account=self._account(account), authority_level=models.AuthorityLevel.OWNER)
            for account in self._own_accounts(request)
        )


class OAuth(Handlers):
    """Handles the token endpoint. Its bodies have no envelope."""

    def token(self, request: ParsedRequest) -> Any:
        return self._state.authorization_server.token(request.body, request.now)


class Positions(Handlers):
    """Serves the positions of an account. Closed ones are purged at once."""

    def row(self, position: Position, account: Account, now: float, *, with_mark: bool) -> wires.PositionWire:
        instrument, quantity = position.instrument, abs(position.quantity)
        is_long, today = position.quantity > 0, local_date(now)
        realized = position.realized_on(today)
        calendar = None if instrument.collection is None else CALENDARS[instrument.collection]
        closed = now - _DAY if calendar is None else calendar.preceding(today).close  # None: trades around the clock
        booked = (each.executed_at for each in reversed(account.transactions) if each.wire.symbol == instrument.symbol)
        row = like(
            wires.PositionWire,
            instrument,
            account_number=account.number,
            underlying_symbol=instrument.underlying,
            quantity=self._dialect.quantity(quantity),
            average_open_price=money(position.average_price),
            close_price=money(self._prices.price(instrument, closed)),
            cost_effect=models.PriceEffect.CREDIT if is_long else models.PriceEffect.DEBIT,
            **same(False, "is_frozen", "is_suppressed"),
            multiplier=self._dialect.quantity(instrument.multiplier),
            quantity_direction=models.QuantityDirection.LONG if is_long else models.QuantityDirection.SHORT,
            restricted_quantity=self._dialect.quantity(Decimal(0)),
            **same(money(abs(realized)), "realized_day_gain", "realized_today"),
            expires_at=timestamp(instrument.expires_at),
            created_at=timestamp(position.opened_at),
            updated_at=timestamp(next(booked, position.opened_at)),
        )
        if realized:
            effect = models.PriceEffect.CREDIT if realized > 0 else models.PriceEffect.DEBIT
            row.realized_day_gain_date = row.realized_today_date = today
            row.realized_day_gain_effect = row.realized_today_effect = effect
        if with_mark:
            price = self._prices.price(instrument, now)
            row.mark_price = money(price)
            row.mark = money((price * quantity * instrument.multiplier).quantize(_CENT))
        return row

    def list(self, request: ParsedRequest) -> Any:
        account, with_mark = self._account_of(request), request.query.get("include_marks", False)
        return (
            self.row(position, account, request.now, with_mark=with_mark)
            for position in account.positions.values()
            for instrument in [position.instrument]
            if request.admits(
                symbol=instrument.symbol,
                underlying_symbols=instrument.underlying,
                instrument_type=instrument.instrument_type,
                underlying_product_code=instrument.underlying[1:-2] if instrument.underlying[0] == "/" else None,
                partition_keys=None,
            )
        )


_FIELD_FILTERS = ("symbol", "underlying_symbol", "instrument_type", "action", "currency")


class Transactions(Handlers):
    """Serves the transactions of an account."""

    def get(self, request: ParsedRequest) -> Any:
        booked = (each for each in self._account_of(request).transactions if str(each.wire.id) == request.path["id"])
        return found(next(booked, None), "transaction").row

    def total_fees(self, request: ParsedRequest) -> Any:
        """Return the fees of one day, by default today."""
        day = request.query.get("date", local_date(request.now))
        booked = (each.booked for each in self._account_of(request).transactions if each.wire.transaction_date == day)
        paid = sum((each.fees.total for each in booked if isinstance(each, Execution)), _ZERO)
        return wires.TotalFeesWire(**amounts(total_fees=-paid))

    def list(self, request: ParsedRequest) -> Any:
        """Return a page of transactions, newest first by default."""
        query = request.query
        types = frozenset(query.get("types", ())) | ({query["type"]} if "type" in query else frozenset())
        chosen = []
        for transaction in self._account_of(request).transactions:
            wire = transaction.wire
            futures = [each for each in (wire.symbol, wire.underlying_symbol) if each and each.startswith("/")]
            fields = {name: getattr(wire, name) for name in _FIELD_FILTERS}
            if (
                request.spans(wire.transaction_date, transaction.executed_at)
                and (not types or wire.transaction_type in types)
                and query.get("futures_symbol") in (None, *futures)
                and request.admits(sub_types=wire.transaction_sub_type, partition_key=None, **fields)
            ):
                chosen.append(transaction)
        return request.page(request.ordered(chosen), lambda transaction: transaction.row)


_CALENDAR = CALENDARS[models.InstrumentCollection.EQUITY]
_HOUR = 3600.0
_BACK: Mapping[models.NetLiqRange, float] = {
    models.NetLiqRange.WEEK: 7 * _DAY,
    models.NetLiqRange.MONTH: 31 * _DAY,
    models.NetLiqRange.THREE_MONTHS: 92 * _DAY,
    models.NetLiqRange.SIX_MONTHS: 183 * _DAY,
    models.NetLiqRange.YEAR: 366 * _DAY,
}


def _sessions(first: date, last: date, opened: float, now: float) -> list[TradingSession]:
    return _CALENDAR.between(max(first, local_date(opened)), min(last, local_date(now)))


def looks(query: Mapping[str, Any], opened: float, now: float) -> Iterator[tuple[float, float]]:
    """Yield the start of an interval of a history, and the time of a look at the prices, for each of these.

    Intervals last five minutes within a day, an hour within a week, otherwise a whole session. A start time takes
    precedence over a range.
    """
    end = min(query.get("end_time", now), now)
    start = query.get("start_time")
    if start is None:
        time_back = query["time_back"]
        if time_back == models.NetLiqRange.ALL:
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
                last = min(at + length, session.close, end) - at
                yield from ((at, at + number * step) for number in range(int(last // step) + 1))
                if last % step:
                    yield at, at + last
            at += length


_ZERO, _CENT = Decimal(0), Decimal("0.01")
_SNAPSHOT_FILTERS = frozenset({"snapshot_date", "time_of_day", "start_date", "end_date"})
_CURRENCY = "USD"
_OHLC = ("open", "high", "low", "close")

_VALUE_NAMES = {
    models.InstrumentType.EQUITY: "equity",
    models.InstrumentType.EQUITY_OPTION: "derivative",
    models.InstrumentType.FUTURE: "futures",
    models.InstrumentType.FUTURE_OPTION: "futures_derivative",
    models.InstrumentType.CRYPTOCURRENCY: "cryptocurrency",
}


class Balances(Handlers):
    """Computes the balances of an account, in dollars only."""

    def get(self, request: ParsedRequest) -> Any:
        """Return the balance in dollars, the only currency that is held."""
        account = self._account_of(request)
        if request.path["currency"] != _CURRENCY:
            raise RefusedError.not_found("balance")
        return self.balance(account, request.now)

    def snapshots(self, request: ParsedRequest) -> Any:
        """Return a page of snapshots of mornings and closes: by default the newest one and the current balance."""
        account, query, now = self._account_of(request), request.query, request.now
        in_dollars = query.get("currency", _CURRENCY) == _CURRENCY
        if in_dollars and "snapshot_date" in query and "time_of_day" not in query:
            raise RefusedError.invalid([request.problem("time_of_day", "time-of-day is required with snapshot-date")])
        first = query.get("snapshot_date", query.get("start_date", date.min))
        last = query.get("snapshot_date", query.get("end_date", date.max))
        opened = opened_at(account)
        chosen = [
            (at, part)
            for session in (_sessions(first, last, opened, now) if in_dollars else ())
            for at, part in ((session.start, models.TimeOfDay.BOD), (session.close, models.TimeOfDay.EOD))
            if opened <= at <= now and query.get("time_of_day") in (None, part)
        ]
        is_default = in_dollars and not _SNAPSHOT_FILTERS & query.keys()
        chosen = chosen[-1:] if is_default else chosen
        page = request.window(len(chosen) + is_default)
        rows: list[wires.AccountBalanceWire] = []
        shown = chosen[page]
        for (at, time_of_day), past in zip(shown, replay(account, [at for at, _ in shown]), strict=True):
            balance = self.balance(past, at)
            balance.time_of_day = time_of_day
            rows.append(balance)
        if is_default and page.start <= len(chosen) < page.stop:
            rows.append(self.balance(account, now))
        return request.items(rows, len(chosen) + is_default)

    def net_liq_history(self, request: ParsedRequest) -> Any:
        """Return the net liquidating value of the past, from the bookings and the prices of those times."""
        account = self._account_of(request)
        chosen = list(looks(request.query, opened_at(account), request.now))
        states = replay(account, [at for _, at in chosen])
        values = ((start, self._calculator.equity(past, at)) for (start, at), past in zip(chosen, states, strict=True))
        rows: list[wires.NetLiqOhlcWire] = []
        nothing = {f"pending_cash_{name}": _ZERO.quantize(_CENT) for name in _OHLC}
        for start, own in itertools.groupby(values, itemgetter(0)):
            worths = [value for _, value in own]
            bars = dict(zip(_OHLC, (worths[0], max(worths), min(worths), worths[-1]), strict=True))
            totals = {f"total_{name}": value for name, value in bars.items()}
            rows.append(wires.NetLiqOhlcWire(time=self._dialect.short_timestamp(start), **bars, **totals, **nothing))
        return rows

    def balance(self, account: Account, now: float) -> wires.AccountBalanceWire:
        calculator = self._calculator
        equity, required = calculator.equity(account, now), calculator.total_required(account, now)
        buying_power, maintenance = calculator.buying_power(account, now), calculator.maintenance(required)
        held = [position for position in account.positions.values() if position.instrument.is_future]
        futures = sum((abs(each.quantity) * FUTURES[each.instrument.symbol[1:-2]].margin for each in held), _ZERO)
        figures = {
            **same(buying_power, "available_trading_funds", "derivative_buying_power"),
            "cash_available_to_withdraw": max(_ZERO, min(account.cash, buying_power)),
            **same(account.cash, "cash_balance", "cash_settle_balance", "total_settle_balance"),
            "day_trading_buying_power": _ZERO,
            "effective_cryptocurrency_buying_power": max(_ZERO, buying_power),
            "equity_buying_power": buying_power / account.equity_rate,
            **same(futures, "futures_margin_requirement", "futures_overnight_margin_requirement"),
            "maintenance_excess": equity - maintenance,
            "maintenance_requirement": maintenance,
            **same(equity, "margin_equity", "net_liquidating_value"),
            "reg_t_margin_requirement": required,
            "used_derivative_buying_power": equity - buying_power,
            **{f"{side}_{name}_value": _ZERO for name in _VALUE_NAMES.values() for side in ("long", "short")},
        }
        for position in account.positions.values():  # the value of a future is its gain, possibly negative
            name = _VALUE_NAMES[position.instrument.instrument_type]
            worth = position.worth(self._prices.price(position.instrument, now))
            if position.quantity > 0:
                figures[f"long_{name}_value"] += worth
            else:
                figures[f"short_{name}_value"] -= worth
        dollars: dict[str, Any] = {name: money(amount.quantize(_CENT)) for name, amount in figures.items()}
        wire = wires.AccountBalanceWire(
            account_number=account.number,
            currency=_CURRENCY,
            snapshot_date=local_date(now),
            updated_at=timestamp(now),
            **(_ABSENT | dollars),
        )
        return current_fields(wire, self._has)

    def list(self, request: ParsedRequest) -> Any:
        """Return the balance: one object if no version was asked for, a list in dated versions."""
        balance = self.balance(self._account_of(request), request.now)
        if request.asked_version is not None and "balances_are_a_list" in request.behaviours:
            return [balance]
        return balance


_ABSENT: dict[str, Any] = {
    field.attribute: "0.00" if field.scalars == {"decimal"} else models.PriceEffect.NONE
    for field in wire_fields(wires.AccountBalanceWire).values()
    if field.scalars == {"decimal"} or field.attribute.endswith("_effect")
    if not field.attribute.startswith(("intraday_", "previous_day_", "apex_"))
}
"""Figures of instruments and events that the simulated accounts never have, unless a balance has them."""
