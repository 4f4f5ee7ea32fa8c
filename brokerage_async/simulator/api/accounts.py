"""Handlers of ``accounts``, ``positions`` and ``transactions``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

from ..._generated.converters import (
    AccountWire,
    CustomerAccountWire,
    CustomerWire,
    PositionWire,
    TotalFeesWire,
    TradingStatusWire,
)
from ..._generated.models import AuthorityLevel, PriceEffect, QuantityDirection
from ...protocol.response import Response
from ..accounts import accounts as books
from ..accounts.accounts import Account, Position, day_trade_count
from ..market.calendar import CALENDARS, local_date
from ..state import State
from ..trading.fees import amounts
from .handlers import Handlers, ParsedRequest
from .wire import RefusedError, bare, dumps, item, items, money, timestamp

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

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._opened = state.settings.start - 400 * _DAY

    def customer(self, request: ParsedRequest) -> Response:
        """Return the record of the customer, who is invented."""
        self._access.customer(request)
        record = msgspec.json.decode(_CUSTOMER, type=CustomerWire)
        record.id = "me" if self._has("customer_is_me") else str(request.customer.number)
        record.email = f"{request.customer.username}@example.com"
        record.created_at = timestamp(self._opened)
        return item(record, request.context)

    def get(self, request: ParsedRequest) -> Response:
        self._access.customer(request)
        return item(self._account(self._access.account(request)), request.context)

    def trading_status(self, request: ParsedRequest) -> Response:
        """Return the restrictions of an account: those that the simulator enforces."""
        return item(self.status(self._access.account(request), request.now), request.context)

    def status(self, account: books.Account, now: float) -> TradingStatusWire:
        """Return the restrictions of an account as a wire struct."""
        on_margin = account.kind == "Margin"
        wire = TradingStatusWire(
            id=self._dialect.identifier(int(account.number[3:])),
            account_number=account.number,
            day_trade_count=day_trade_count(account, now),
            equities_margin_calculation_type="Reg T",
            fee_schedule_name="default",
            futures_margin_rate_multiplier=Decimal("1.0"),
            is_cryptocurrency_enabled=True,
            is_full_equity_margin_required=not on_margin,
            is_futures_enabled=True,
            options_level=_LEVELS[account.kind],
            short_calls_enabled=on_margin,
            small_notional_futures_margin_rate_multiplier=Decimal("1.0"),
            updated_at=timestamp(self._opened),
            **_NO_RESTRICTIONS,
        )
        return current_fields(wire, self._has)

    def _account(self, account: books.Account) -> AccountWire:
        wire = AccountWire(
            account_number=account.number,
            account_type_name="Individual",
            created_at=timestamp(self._opened),
            day_trader_status=False,
            investment_objective="SPECULATION",
            is_closed=False,
            is_firm_error=False,
            is_firm_proprietary=False,
            is_foreign=False,
            is_futures_approved=True,
            margin_or_cash=account.kind,
            nickname=f"{account.kind} {account.number[-1]}",
            opened_at=timestamp(self._opened),
            suitable_options_level=_LEVELS[account.kind],
        )
        return current_fields(wire, self._has)

    def list(self, request: ParsedRequest) -> Response:
        rows = (
            CustomerAccountWire(account=self._account(account), authority_level=AuthorityLevel.OWNER)
            for account in self._access.customer(request)
        )
        return items(map(dumps, rows), request.context)


_CENT = Decimal("0.01")


class OAuth(Handlers):
    """Handles the token endpoint. Its bodies have no envelope."""

    def token(self, request: ParsedRequest) -> Response:
        return bare(self._state.authorization_server.token(request.body, request.now))


class Positions(Handlers):
    """Serves the positions of an account. Closed ones are purged at once."""

    def row(self, position: Position, account: Account, now: float, *, with_mark: bool) -> PositionWire:
        instrument, quantity = position.instrument, abs(position.quantity)
        is_long, today = position.quantity > 0, local_date(now)
        realized = position.realized_on(today)
        calendar = None if instrument.collection is None else CALENDARS[instrument.collection]
        closed = now - _DAY if calendar is None else calendar.preceding(today).close  # None: trades around the clock
        booked = (each.executed_at for each in reversed(account.transactions) if each.wire.symbol == instrument.symbol)
        row = PositionWire(
            account_number=account.number,
            instrument_type=instrument.instrument_type,
            symbol=instrument.symbol,
            underlying_symbol=instrument.underlying,
            quantity=self._dialect.quantity(quantity),
            average_open_price=money(position.average_price),
            close_price=money(self._prices.price(instrument, closed)),
            cost_effect=PriceEffect.CREDIT if is_long else PriceEffect.DEBIT,
            is_frozen=False,
            is_suppressed=False,
            multiplier=self._dialect.quantity(instrument.multiplier),
            quantity_direction=QuantityDirection.LONG if is_long else QuantityDirection.SHORT,
            restricted_quantity=self._dialect.quantity(Decimal(0)),
            realized_day_gain=money(abs(realized)),
            realized_today=money(abs(realized)),
            created_at=timestamp(position.opened_at),
            updated_at=timestamp(next(booked, position.opened_at)),
        )
        if realized:
            effect = PriceEffect.CREDIT if realized > 0 else PriceEffect.DEBIT
            row.realized_day_gain_date = row.realized_today_date = today
            row.realized_day_gain_effect = row.realized_today_effect = effect
        row.expires_at = timestamp(instrument.expires_at)
        if with_mark:
            price = self._prices.price(instrument, now)
            row.mark_price = money(price)
            row.mark = money((price * quantity * instrument.multiplier).quantize(_CENT))
        return row

    def list(self, request: ParsedRequest) -> Response:
        """Return the positions of an account that pass every filter of the query, with marks if asked for."""
        account, query = self._access.account(request), request.query
        with_mark = query.get("include_marks", False)
        underlyings, product = query.get("underlying_symbols"), query.get("underlying_product_code")
        rows = (
            self.row(position, account, request.now, with_mark=with_mark)
            for position in account.positions.values()
            for instrument in [position.instrument]
            if query.get("symbol") in (None, instrument.symbol)
            and (underlyings is None or instrument.underlying in underlyings)
            and query.get("instrument_type") in (None, instrument.instrument_type)
            and (product is None or (instrument.underlying[0] == "/" and instrument.underlying[1:-2] == product))
            and "partition_keys" not in query
        )
        return items(map(dumps, rows), request.context)


_FIELD_FILTERS = ("symbol", "underlying_symbol", "instrument_type", "action", "currency")


class Transactions(Handlers):
    """Serves the transactions of an account."""

    def get(self, request: ParsedRequest) -> Response:
        for transaction in self._access.account(request).transactions:
            if str(transaction.wire.id) == request.path["id"]:
                return item(transaction.row, request.context)
        raise RefusedError.not_found("transaction")

    def total_fees(self, request: ParsedRequest) -> Response:
        """Return the fees of one day, by default today."""
        day = request.query.get("date", local_date(request.now))
        paid = Decimal(0)  # the differences between the amounts of bookings before and after fees
        for each in self._access.account(request).transactions:
            wire = each.wire
            if wire.transaction_date == day:
                for sign, amount, effect in (
                    (1, wire.value, wire.value_effect),
                    (-1, wire.net_value, wire.net_value_effect),
                ):
                    paid += Decimal(amount or 0) * (-sign if effect is PriceEffect.DEBIT else sign)
        return item(TotalFeesWire(**amounts(total_fees=-paid)), request.context)

    def list(self, request: ParsedRequest) -> Response:
        """Return a page of transactions, newest first by default."""
        query = request.query
        types = frozenset(query.get("types", ())) | ({query["type"]} if "type" in query else frozenset())
        chosen = []
        for transaction in self._access.account(request).transactions:
            wire, at, day = transaction.wire, transaction.executed_at, transaction.wire.transaction_date
            futures = [each for each in (wire.symbol, wire.underlying_symbol) if each and each.startswith("/")]
            if (
                query.get("start_date", day) <= day <= query.get("end_date", day)
                and query.get("start_at", at) <= at <= query.get("end_at", at)
                and (not types or wire.transaction_type in types)
                and ("sub_types" not in query or wire.transaction_sub_type in query["sub_types"])
                and query.get("futures_symbol") in (None, *futures)
                and "partition_key" not in query
                and all(query.get(name) in (None, getattr(wire, name)) for name in _FIELD_FILTERS)
            ):
                chosen.append(transaction)
        if not request.ascending:
            chosen.reverse()
        page = request.slice(len(chosen))
        return items((transaction.row for transaction in chosen[page.start : page.stop]), request.context, page)
