"""Checks before an order is accepted. Errors reject it, warnings do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from operator import attrgetter
from typing import Any, Generic, TypeVar

import attrs

from ..._generated import models
from ..._generated.converters import ErrorDetailWire, PlacedOrderResponseWire, PreflightMessageWire
from ..._values import AMOUNTS
from ..api.wire import Dialect, RefusedError, money
from ..market import calendar
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.prices import Prices
from .accounts import Account, BuyingPowerImpact, Fees, MarginCalculator, fees_of
from .orders import ComplexOrder, Leg, Order, OrderStore, order_wire


@attrs.frozen
class SizeLimit:
    """Maximum quantity of an instrument in one order, and held."""

    order: int
    position: int


LIMITS: Mapping[models.InstrumentType, SizeLimit] = {
    models.InstrumentType.EQUITY: SizeLimit(50_000, 200_000),
    models.InstrumentType.EQUITY_OPTION: SizeLimit(5_000, 20_000),
    models.InstrumentType.FUTURE: SizeLimit(500, 5_000),
    models.InstrumentType.FUTURE_OPTION: SizeLimit(500, 5_000),
}
"""Limits by instrument type; others have none."""

_HORIZON = timedelta(days=3 * 366)
_NOTIONAL_PLACES = Decimal("0.00001")
_MIN_NOTIONAL = Decimal(5)


def notice(code: str, message: str, preflight_id: int | str | None = None) -> PreflightMessageWire:
    """Return an error or warning, whose text is marked if the service has never been seen to use the code."""
    known = models.PreflightCode(code)
    text = message if known.is_known else f"{message} (code invented by the simulator)"
    return PreflightMessageWire(code=known, message=text, preflight_id=preflight_id)


OrderT = TypeVar("OrderT", Order, ComplexOrder)


@attrs.frozen(kw_only=True)
class PreflightResult(Generic[OrderT]):
    """Result of checking an order, or a complex order with its ``parts``.

    An order that is accepted holds ``reserves`` dollars.
    """

    order: OrderT
    impact: BuyingPowerImpact
    closing_fees: Fees | None = None
    errors: Sequence[PreflightMessageWire] = ()
    warnings: Sequence[PreflightMessageWire] = ()
    reserves: Decimal = Decimal(0)
    parts: Sequence[PreflightResult[Order]] = ()

    def wire(self, dialect: Dialect) -> PlacedOrderResponseWire:
        """Return the response. The fees of closing later are an object as published, digits as documented."""
        order: Any = self.order
        is_single = isinstance(order, Order)
        wire = PlacedOrderResponseWire(
            order=order_wire(order, dialect) if is_single else None,
            complex_order=None if is_single else order.wire(dialect),
            warnings=[*self.warnings],
            errors=[*self.errors],
            notes=[],
            buying_power_effect=self.impact.wire(),
            fee_calculation=self.impact.fees.wire(),
        )
        if (fees := self.closing_fees) is not None:
            wire.closing_fee_calculation = fees.wire() if dialect.form == "observed" else money(fees.total)
            wire.order_costs = money(self.impact.fees.total)
        return wire

    def require_no_errors(self, dialect: Dialect) -> PreflightResult[OrderT]:
        if self.errors:
            raise preflight_error(self.errors, self.wire(dialect))
        return self


@attrs.define(eq=False, repr=False)
class Preflight:
    """Checks orders before they are accepted."""

    _catalogue: Catalogue
    _prices: Prices
    _margin_calculator: MarginCalculator
    _order_store: OrderStore
    _has: Callable[[str], bool]

    def legs(
        self, requested: Sequence[models.NewOrderLeg | models.MarginOrderLeg], terms: models.NewOrder, now: float
    ) -> tuple[list[Leg], list[PreflightMessageWire]]:
        """Return the legs of a request, and the problems of the instruments that they name."""
        legs: list[Leg] = []
        problems: list[PreflightMessageWire] = []
        for leg in requested:
            instrument = self._catalogue.instrument(leg.instrument_type, leg.symbol)
            if instrument is None:
                known = self._catalogue.missing.get(leg.symbol)
                reason = known or f"{leg.symbol} is not a known {leg.instrument_type}"
                problems.append(notice("invalid_symbol", reason))
                continue
            quantity = leg.quantity
            if quantity is None:  # what the amount of money buys, none of an option that is worth nothing
                price, value = self._prices.price(instrument, now), terms.value or Decimal(0)
                quantity = (value / price).quantize(_NOTIONAL_PLACES) if price else Decimal(0)
            legs.append(Leg(instrument, leg.action, quantity, quantity))
        return legs, problems

    def draft(self, account: Account, requested: models.NewOrder, now: float) -> Order:
        """Return a requested order. Raise RefusedError for an instrument that is not served."""
        legs, problems = self.legs(requested.legs, requested, now)
        if problems:
            raise preflight_error(problems)
        return Order(number=0, account=account, legs=legs, terms=requested)

    def check(
        self, order: Order, now: float, *, deferred: bool = False, freed: Decimal | int = 0
    ) -> PreflightResult[Order]:
        """Check a whole order, which has the buying power that was ``freed`` by the order that it replaces.

        One that is ``deferred`` until another order is filled needs neither position nor buying power yet.
        """
        warnings = [] if deferred or order.replaces is not None else self.reopen(order)
        impact = self.impact(order, now)
        impact = attrs.evolve(impact, current=impact.current + freed) if freed else impact
        strict = order.is_strict and not deferred and order.replaces is None
        errors = list(self._errors(order, now, strict_effects=strict))
        is_open = self.working_hours(order, now)[0] <= now
        if not deferred:
            errors += self._position_errors(order)
            is_market = order.terms.order_type in (models.OrderType.MARKET, models.OrderType.NOTIONAL_MARKET)
            opens_at_once = is_market and order.opens and order.terms.rules is None
            needs_a_market = opens_at_once and self._has("opening_market_orders_need_an_open_market")
            if needs_a_market and not is_open:
                text = "Opening market orders not allowed when market closed."
                errors.append(notice(models.PreflightCode.TIF_NO_AFTER_HOURS_OPENING_MARKET_ORDERS, text))
        # An order that takes no buying power, such as one that closes a position, is always possible.
        if impact.new < 0 and impact.change < 0 and not deferred:
            errors.append(notice("margin_check_failed", "Insufficient buying power for this order"))
        if (reason := reject_reason(order)) is not None:
            warnings.append(notice("order_would_be_rejected", reason))
        if self._prices.silence:
            warnings.append(notice("waits_for_prices", f"The order waits for prices: {self._prices.silence}"))
        if not is_open:
            code = models.PreflightCode.TIF_NEXT_VALID_SESSION
            if not self._has("next_session_warning_is_dotted"):
                code = models.PreflightCode.TIF_NEXT_VALID_SESSSION
            warnings.append(notice(code, "Your order will begin working during next valid session."))
        for each in (*errors, *warnings):
            each.preflight_id = order.terms.preflight_id
        return PreflightResult(
            order=order,
            impact=impact,
            closing_fees=self._fees(order, now, closing=True),
            errors=errors,
            warnings=warnings,
            reserves=max(Decimal(0), -impact.change),
        )

    def working_hours(self, order: Order, now: float) -> tuple[float, float]:
        hours = calendar.hours_of(order.terms.time_in_force, self._has)
        return calendar.working_hours(order.legs[0].instrument.collection, now, hours)

    def impact(self, order: Order, now: float) -> BuyingPowerImpact:
        trades = [(leg.instrument, leg.signed) for leg in order.legs]
        return self._margin_calculator.impact(order.account, trades, self._fees(order, now), order.agreed, now)

    def reopen(self, order: Order) -> list[PreflightMessageWire]:
        """Let each leg open that closes a position which the account does not have. Return warnings of it."""
        if order.is_strict or not self._has("close_becomes_open"):
            return []
        warnings = []
        for leg in order.legs:
            symbol = leg.instrument.symbol
            if leg.action.endswith("to Close") and order.account.held(symbol) * leg.sign >= 0:
                leg.action = models.LegAction.BUY_TO_OPEN if leg.sign > 0 else models.LegAction.SELL_TO_OPEN
                warnings.append(notice("closing_with_no_position", f"There is no position in {symbol} to close"))
        return warnings if self._has("closing_with_no_position") else []

    def _fees(self, order: Order, now: float, *, closing: bool = False) -> Fees:
        total, agreed = Fees(), order.agreed
        for leg in order.legs:
            action = leg.action
            if closing:
                action = models.LegAction.SELL_TO_CLOSE if leg.sign > 0 else models.LegAction.BUY_TO_CLOSE
            price = agreed.get(leg.instrument.symbol) or self._prices.price(leg.instrument, now)
            total += fees_of(leg.instrument, action, leg.quantity, price)
        return total

    def _errors(self, order: Order, now: float, *, strict_effects: bool) -> Iterator[PreflightMessageWire]:
        """Yield errors of the legs, of the terms, and of orders for an amount of money or for parts of a share."""
        terms = order.terms
        if len({leg.instrument.underlying for leg in order.legs}) > 1:
            yield notice("legs_underlying_mismatch", "All legs must have the same underlying")
        yield from quantity_errors(order.legs)
        for leg in order.legs:
            instrument, symbol = leg.instrument, leg.instrument.symbol
            limit = LIMITS.get(instrument.instrument_type)
            if limit is not None and not leg.action.endswith("to Close"):  # a position can always be closed
                if leg.quantity > limit.order:
                    text = f"An order may have at most {limit.order} of {symbol}"
                    yield notice("size_limit_exceeded", text)
                if abs(order.account.held(symbol) + leg.signed) > limit.position:
                    text = f"A position in {symbol} may have at most {limit.position}"
                    yield notice("size_limit_exceeded", text)
            if instrument.expires_at is not None and instrument.expires_at <= now:
                yield notice("instrument_expired", f"{symbol} has expired")
            is_coin = instrument.instrument_type is models.InstrumentType.CRYPTOCURRENCY
            if is_coin and self._has("cryptocurrency_orders_are_off"):
                yield notice("cryptocurrency_orders_disabled", "Cryptocurrency orders are off since 2026-06-29")
            if instrument.closing_only and not leg.action.endswith("to Close"):
                yield notice("instrument_closing_only", f"{symbol} can only be closed")
            held = order.account.held(symbol) * leg.sign
            closes = held < 0 and abs(held) >= leg.quantity
            fits = closes if leg.action.endswith("to Close") else held >= 0 or not leg.action.endswith("to Open")
            if strict_effects and not fits:
                yield notice("invalid_position_effect", f"{leg.action} does not fit the position in {symbol}")
        if len(order.legs) == 1:
            effect = terms.price_effect if order.is_limited else terms.value_effect
            if order.buys and effect is models.PriceEffect.CREDIT:
                yield notice("cant_buy_for_credit", "You cannot buy for a credit.")
            if not order.buys and effect is models.PriceEffect.DEBIT:
                yield notice("cant_sell_for_debit", "You cannot sell for a debit")
        if any(amount is not None and amount < 0 for amount in attrgetter(*AMOUNTS)(terms)):
            yield notice("invalid_price", "Prices and values must be unsigned; the effect gives the direction")
        today = local_date(now)
        if terms.gtc_date is not None and not today <= terms.gtc_date <= today + _HORIZON:
            yield notice("invalid_gtc_date", "The GTD date has passed or is too far in the future")
        times = (order.rules.route_after, order.rules.cancel_at)
        if any(time is not None and time.timestamp() > now + _HORIZON.total_seconds() for time in times):
            yield notice("invalid_rule_time", "The times of the order's rules are too far in the future")
        for leg in order.legs if self._has("fractions_are_small_market_orders") else ():
            instrument, is_notional = leg.instrument, terms.order_type is models.OrderType.NOTIONAL_MARKET
            whole = leg.quantity == leg.quantity.to_integral_value()
            if instrument.instrument_type is not models.InstrumentType.EQUITY or (whole and not is_notional):
                continue
            ask = self._prices.market(instrument, now).ask
            value = terms.value or leg.quantity * ask
            if not instrument.fractional:
                text = f"{instrument.symbol} is traded in whole shares only"
                yield notice("fractional_quantity_not_supported", text)
            elif not (is_notional or (terms.order_type == "Market" and terms.time_in_force == "Day")):
                yield notice("fractional_quantity_not_supported", "Fractions are for Market orders of the day only")
            if value < _MIN_NOTIONAL and (is_notional or leg.opens):
                yield notice("notional_value_not_supported", f"The value must be at least {_MIN_NOTIONAL} dollars")
            elif is_notional and value >= ask:
                yield notice("notional_value_not_supported", f"The value must be below the price of a share, {ask:f}")

    def _position_errors(self, order: Order) -> Iterator[PreflightMessageWire]:
        """Yield errors of legs that would put both sides of a symbol into the account."""
        for leg in order.legs if self._has("no_account_holds_both_sides") else ():
            symbol = leg.instrument.symbol
            held = order.account.held(symbol)
            others = [
                (other, each)
                for other in self._order_store.of([order.account])
                if not (other.is_terminal or other.status == "Cancel Requested" or other.is_held)
                if other is not order.replaces  # nor of the same complex order
                if other.complex_order is None or other.complex_order is not order.complex_order
                for each in other.legs
                if each.instrument.symbol == symbol
            ]
            if any(each.sign != leg.sign for _, each in others):
                text = "Cannot buy and sell against the same symbol."
                yield notice(models.PreflightCode.ILLEGAL_BUY_AND_SELL_ON_SAME_SYMBOL, text)
            if leg.opens and held * leg.sign < 0:
                text = f"{leg.action} is against the position in {symbol}"
                yield notice("cannot_open_against_existing_position", text)
            if leg.action.endswith("to Close") and held * leg.sign < 0:
                # An OCO closes once.
                working = {id(other.complex_order or other): each.remaining for other, each in others}
                if leg.quantity + sum(working.values()) > abs(held):
                    text = "You cannot close more than the existing position, counting the closing orders that work."
                    yield notice(models.PreflightCode.CANNOT_CLOSE_AGAINST_MORE_THAN_EXISTING_POSITION, text)


def quantity_errors(legs: Iterable[Leg]) -> Iterator[PreflightMessageWire]:
    """Yield an error for each quantity that is not positive, or has fractions of a contract."""
    for leg in legs:
        instrument, quantity = leg.instrument, leg.quantity
        whole_only = instrument.is_option or instrument.is_future
        if quantity <= 0 or (whole_only and quantity != quantity.to_integral_value()):
            yield notice("invalid_quantity", f"{quantity:f} is not a valid quantity for {instrument.symbol}")


def reject_reason(order: Order) -> str | None:
    """Return why the exchange rejects an order, None if it accepts it."""
    for leg in order.legs:
        if leg.instrument.halted:
            return "Trading in the instrument is halted"
        if leg.instrument.hard_to_borrow and leg.action is models.LegAction.SELL_TO_OPEN:
            return "No shares available to borrow"
    return None


def preflight_error(
    messages: Sequence[PreflightMessageWire], data: PlacedOrderResponseWire | None = None
) -> RefusedError:
    entries = [ErrorDetailWire(code=message.code, message=message.message) for message in messages]
    text = "One or more preflight checks failed"
    return RefusedError(422, "preflight_check_failure", text, errors=entries, data=data)
