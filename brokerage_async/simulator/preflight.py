"""What is looked at before an order is taken: problems refuse it, warnings say that it would not get far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import attrs

from .accounts import Account
from .calendar import local_date
from .catalogue import Catalogue
from .exchange import reject_reason
from .fees import Fees, fees_of
from .instrument import Instrument
from .intake import decimal_of, epoch_of
from .margin import Impact, MarginDesk
from .market import Market
from .orders import Leg, Order, Terms
from .wire import Dialect, money

__all__ = ["Message", "Preflight", "Preview"]

_HORIZON = timedelta(days=3 * 366)
_NOTIONAL_PLACES = Decimal("0.00001")


@attrs.frozen
class Message:
    """An error or a warning of a preflight."""

    code: str
    message: str

    def wire(self, preflight_id: str | None) -> dict[str, str]:
        """As it is sent, tied to the order's transient identifier where it has one."""
        fields = {"code": self.code, "message": self.message}
        return fields if preflight_id is None else fields | {"preflight-id": preflight_id}


@attrs.frozen(kw_only=True)
class Preview:
    """What taking an order would mean."""

    order: Order
    impact: Impact
    closing_fees: Fees
    errors: tuple[Message, ...]
    warnings: tuple[Message, ...]

    def wire(self, dialect: Dialect) -> dict[str, Any]:
        """The placed-order response."""
        transient = self.order.terms.preflight_id
        return {
            "order": self.order.wire(dialect),
            "warnings": [warning.wire(transient) for warning in self.warnings],
            "errors": [error.wire(transient) for error in self.errors],
            "notes": [],
            "buying-power-effect": self.impact.wire(),
            "fee-calculation": self.impact.fees.wire(),
            "closing-fee-calculation": money(self.closing_fees.total),
            "order-costs": money(self.impact.fees.total),
        }


def terms_of(body: Mapping[str, Any]) -> Terms:
    """The terms of an order or edit body that was checked."""

    def amount(key: str) -> Decimal | None:
        value = body.get(key)
        return None if value is None else decimal_of(value)

    return Terms(
        order_type=body["order-type"],
        time_in_force=body["time-in-force"],
        price=amount("price"),
        price_effect=body.get("price-effect"),
        stop_trigger=amount("stop-trigger"),
        value=amount("value"),
        value_effect=body.get("value-effect"),
        gtc_date=body.get("gtc-date"),
        external_identifier=body.get("external-identifier"),
        preflight_id=body.get("preflight-id"),
        source=body.get("source"),
        rules=body.get("rules"),
    )


class Preflight:
    """Looks at orders before they are taken."""

    def __init__(self, catalogue: Catalogue, market: Market, margin: MarginDesk) -> None:
        self._catalogue = catalogue
        self._market = market
        self._margin = margin

    def legs(self, asked: Sequence[Mapping[str, Any]], terms: Terms, now: float) -> tuple[list[Leg], list[Message]]:
        """The legs of a body, and what is wrong with the instruments that they name."""
        legs: list[Leg] = []
        problems: list[Message] = []
        for leg in asked:
            symbol = leg["symbol"]
            instrument = self._catalogue.instrument(leg["instrument-type"], symbol)
            if instrument is None:
                problems.append(Message("invalid_symbol", f"{symbol} is not a known {leg['instrument-type']}"))
                continue
            quantity = self._quantity(leg, instrument, terms, now)
            legs.append(Leg(instrument, leg["action"], quantity, quantity))
        return legs, problems

    def _quantity(self, leg: Mapping[str, Any], instrument: Instrument, terms: Terms, now: float) -> Decimal:
        if leg.get("quantity") is not None:
            return decimal_of(leg["quantity"])
        price = self._market.price(instrument, now)
        return ((terms.value or Decimal(0)) / price).quantize(_NOTIONAL_PLACES)

    def preview(
        self,
        order: Order,
        now: float,
        *,
        strict_effects: bool = False,
        freed: Decimal = Decimal(0),
    ) -> Preview:
        """Look at a whole order; ``freed`` is the buying power that the order it replaces would give back."""
        agreed = self._agreed_prices(order)
        impact = self._impact(order, agreed, freed, now)
        errors = [*self._leg_errors(order, strict_effects, now), *self._term_errors(order, now)]
        # Taking on no more margin is always possible, such as closing a position.
        if impact.new < 0 and impact.change < 0:
            errors.append(Message("margin_check_failed", "Insufficient buying power for this order"))
        return Preview(
            order=order,
            impact=impact,
            closing_fees=self._fees(order, agreed, now, closing=True),
            errors=tuple(errors),
            warnings=tuple(self._warnings(order, now)),
        )

    def _impact(self, order: Order, agreed: Mapping[str, Decimal], freed: Decimal, now: float) -> Impact:
        trades = [(leg.instrument, leg.signed) for leg in order.legs]
        impact = self._margin.impact(order.account, trades, self._fees(order, agreed, now), agreed, now)
        return attrs.evolve(impact, current=impact.current + freed) if freed else impact

    def _agreed_prices(self, order: Order) -> dict[str, Decimal]:
        """The limit price stands in for the market price where it is the price of one instrument."""
        if len(order.legs) > 1 or not order.terms.is_limited or order.terms.price is None:
            return {}
        return {order.legs[0].instrument.symbol: order.terms.price}

    def _fees(self, order: Order, agreed: Mapping[str, Decimal], now: float, *, closing: bool = False) -> Fees:
        total = Fees()
        for leg in order.legs:
            action = leg.action
            if closing:
                action = "Sell to Close" if leg.sign > 0 else "Buy to Close"
            price = agreed.get(leg.instrument.symbol) or self._market.price(leg.instrument, now)
            total += fees_of(leg.instrument, action, leg.quantity, price)
        return total

    def _leg_errors(self, order: Order, strict_effects: bool, now: float) -> Iterator[Message]:
        today = local_date(now)
        if len({leg.instrument.underlying for leg in order.legs}) > 1:
            yield Message("legs_underlying_mismatch", "All legs must have the same underlying")
        for leg in order.legs:
            instrument, symbol = leg.instrument, leg.instrument.symbol
            fraction = leg.quantity != leg.quantity.to_integral_value()
            whole_only = instrument.is_option or instrument.is_future
            if leg.quantity <= 0 or (fraction and whole_only):
                yield Message("invalid_quantity", f"{leg.quantity:f} is no quantity for {symbol}")
            if instrument.expires is not None and instrument.expires < today:
                yield Message("instrument_expired", f"{symbol} has expired")
            if instrument.closing_only and not leg.action.endswith("to Close"):
                yield Message("instrument_closing_only", f"{symbol} can only be closed")
            if strict_effects and not self._effect_is_valid(order.account, leg):
                yield Message("invalid_position_effect", f"{leg.action} does not fit the position in {symbol}")

    def _effect_is_valid(self, account: Account, leg: Leg) -> bool:
        held = account.held(leg.instrument.symbol)
        if leg.action.endswith("to Close"):
            return held * leg.sign < 0 and abs(held) >= leg.quantity
        return not leg.action.endswith("to Open") or held * leg.sign >= 0

    def _term_errors(self, order: Order, now: float) -> Iterator[Message]:
        terms = order.terms
        if len(order.legs) == 1 and terms.is_limited:
            if order.buys and terms.price_effect == "Credit":
                yield Message("cant_buy_for_credit", "You cannot buy for a credit")
            if not order.buys and terms.price_effect == "Debit":
                yield Message("cant_sell_for_debit", "You cannot sell for a debit")
        if any(amount is not None and amount < 0 for amount in (terms.price, terms.stop_trigger, terms.value)):
            yield Message("invalid_price", "Prices and values carry no sign; the effect says which way the money goes")
        today = local_date(now)
        if terms.gtc_date is not None and not today <= date.fromisoformat(terms.gtc_date) <= today + _HORIZON:
            yield Message("invalid_gtc_date", "The GTD date has passed, or is too far away")
        times = [(terms.rules or {}).get(name) for name in ("route-after", "cancel-at")]
        if any(time and epoch_of(time) > now + _HORIZON.total_seconds() for time in times):
            yield Message("invalid_rule_time", "The times of the order's rules are too far away")

    def _warnings(self, order: Order, now: float) -> Iterator[Message]:
        reason = reject_reason(order)
        if reason is not None:
            yield Message("order_would_be_rejected", reason)
        if not self._market.is_open(order.legs[0].instrument, now, extended=order.terms.is_extended):
            yield Message("tif_next_valid_sesssion", "Your order will begin working during next valid session.")


def refusal_entries(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Preflight errors as entries of an error body."""
    return [message.wire(None) for message in messages]
