"""Guard of order entry: caps and lists that bind every order, and how an order is measured by them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

import attrs

from .._arguments import check_count, check_seconds
from .._generated.models import NewComplexOrder, NewOrder, NewOrderLeg, Order, OrderLeg
from .._terms import Amount, exact
from ..errors import ConfigurationError, ErrorDetail, InvalidRequestError
from ..journal.caps import DAY
from .orders import asked_components

CLOSING = ("Buy to Close", "Sell to Close")


def _amount(amount: Amount | None) -> Decimal | None:
    """Return an amount as a Decimal. Leave an invalid one to its validator, which knows its name."""
    try:
        return None if amount is None else exact("amount", amount)
    except InvalidRequestError:
        return cast("Decimal", amount)


def _names(names: Collection[str] | None) -> frozenset[str] | None:
    """Return names as a set. Leave invalid ones to their validator."""
    if names is None or isinstance(names, str) or not isinstance(names, Collection):
        return cast("frozenset[str] | None", names)
    return frozenset(names)


def _check_amount(guard: object, field: attrs.Attribute[Any], value: Any) -> None:
    name = f"OrderGuard.{field.name}"
    try:
        is_valid = value is None or exact(name, value) >= 0
    except InvalidRequestError as error:
        raise ConfigurationError(str(error)) from None
    if not is_valid:
        raise ConfigurationError(f"{name} must be at least 0, got {value}")


def _check_names(guard: object, field: attrs.Attribute[Any], value: Any) -> None:
    if value is not None and not (isinstance(value, frozenset) and all(isinstance(each, str) for each in value)):
        raise ConfigurationError(f"OrderGuard.{field.name} must be a collection of names, got {value!r}")


def _check_number(guard: object, field: attrs.Attribute[Any], value: object) -> None:
    if value is not None:
        check_count(f"OrderGuard.{field.name}", value, minimum=0)


def _check_rule(guard: object, field: attrs.Attribute[Any], value: object) -> None:
    name = f"OrderGuard.{field.name}"
    if value is None:
        return
    if not isinstance(value, tuple) or len(value) != 2:
        raise ConfigurationError(f"{name} must be a number of outcomes and seconds, such as (3, 60.0), got {value!r}")
    check_count(name, value[0])
    if check_seconds(name, value[1]) > DAY:  # earlier outcomes may have been pruned
        raise ConfigurationError(f"{name} must look back {DAY:.0f} seconds at most, got {value[1]}")


@attrs.frozen(kw_only=True)
class OrderGuard:
    """Caps that no order passes. None does not limit. Amounts are a Decimal, an int or a str, never a float.

    The value of an order is its quantity times multiplier times price. Without a price it is the far side of the quote,
    which is requested once, and an order without one is refused. Sums are kept by the journal, over all orders of its
    environment that were placed under a guard, whichever process placed them: give each process the same guard. An
    order that is refused or provably not sent gives its share back. One of unknown outcome keeps it.

    Attributes:
        max_order_value: dollars of one order.
        max_order_quantity: shares or contracts of one leg.
        max_value_per_minute, max_value_per_day: dollars within any 60 seconds, and any 24 hours. A replacement counts
            with the value that it adds.
        max_orders_per_minute, max_orders_per_day: orders, complex orders and replacements within the same times.
        max_net_quantity: shares and contracts that an account may be long or short in one underlying, at worst: its
            positions, and the orders of either side that may still be filled. The instrument of an option is read once:
            its root may differ from its underlying.
        symbols: symbols that may be traded, or their underlyings, the roots of options.
        instrument_types: instrument types that may be traded, such as ``Equity``.
        halt_after_unknown, halt_after_refusals: a number of orders of unknown outcome, or of refusals, and the seconds
            within which as many halt the whole journal. See `OrderEntry.halt`.

    Raises:
        ConfigurationError: a value is invalid.
    """

    max_order_value: Decimal | None = attrs.field(default=None, converter=_amount, validator=_check_amount)
    max_order_quantity: Decimal | None = attrs.field(default=None, converter=_amount, validator=_check_amount)
    max_value_per_minute: Decimal | None = attrs.field(default=None, converter=_amount, validator=_check_amount)
    max_value_per_day: Decimal | None = attrs.field(default=None, converter=_amount, validator=_check_amount)
    max_orders_per_minute: int | None = attrs.field(default=None, validator=_check_number)
    max_orders_per_day: int | None = attrs.field(default=None, validator=_check_number)
    max_net_quantity: Decimal | None = attrs.field(default=None, converter=_amount, validator=_check_amount)
    symbols: frozenset[str] | None = attrs.field(default=None, converter=_names, validator=_check_names)
    instrument_types: frozenset[str] | None = attrs.field(default=None, converter=_names, validator=_check_names)
    halt_after_unknown: tuple[int, float] | None = attrs.field(default=None, validator=_check_rule)
    halt_after_refusals: tuple[int, float] | None = attrs.field(default=None, validator=_check_rule)

    @property
    def values_orders(self) -> bool:
        """Whether a cap needs the value of an order."""
        return any(cap is not None for cap in (self.max_order_value, self.max_value_per_minute, self.max_value_per_day))


def at_risk(order: NewOrder | NewComplexOrder) -> Sequence[NewOrder]:
    """Return the orders that count: of a complex order those that open something, or the largest if none does.

    The exits of a bracket work after its entry was filled, and exits that exclude each other are filled once.
    """
    if isinstance(order, NewOrder):
        return (order,)
    parts = asked_components(order)
    opening = [each for each in parts if any(leg.action not in CLOSING for leg in each.legs)]
    return opening or [max(parts, key=lambda each: max(leg.quantity or Decimal(0) for leg in each.legs))]


def underlying_of(symbol: str) -> str:
    """Return the underlying of a symbol: ``AAPL`` of its options, ``/ES`` of ``/ESZ6`` and its options."""
    first, *rest = symbol.split()
    if first.startswith((".", "/")) and len(first) > 3:
        return f"/{first.lstrip('./')[:-2]}"
    if not rest and len(first) > 15 and first[-15:-9].isdigit():  # an OCC symbol whose root has six characters
        return first[:-15]
    return first


def quantity_of(leg: NewOrderLeg, order: NewOrder, prices: Mapping[str, Decimal]) -> Decimal:
    """Return the quantity of a leg. Of an order for an amount of money, how much that buys at the far side."""
    if leg.quantity is not None:
        return leg.quantity
    price = prices.get(leg.symbol)
    return (order.value or Decimal(0)) / price if price else Decimal(0)


def value_of(order: NewOrder, multipliers: Mapping[str, Decimal], prices: Mapping[str, Decimal]) -> Decimal:
    """Return the value of an order in dollars. ``prices``: the far side of the quote of each leg, if it has no price.

    The price of several legs is for the smallest set of them that the order holds a whole number of.
    """
    if order.value is not None:
        return abs(order.value)
    quantities = [leg.quantity or Decimal(0) for leg in order.legs]
    if order.price is None:
        legs = zip(order.legs, quantities, strict=True)
        return sum((abs(n) * multipliers[leg.symbol] * prices[leg.symbol] for leg, n in legs), Decimal(0))
    if len(quantities) == 1:
        return abs(quantities[0] * multipliers[order.legs[0].symbol] * order.price)
    ratios = [abs(each).as_integer_ratio() for each in quantities]
    unit = math.lcm(*(denominator for _, denominator in ratios))
    sets = Decimal(math.gcd(*(number * unit // denominator for number, denominator in ratios))) / unit
    return sets * max(multipliers[leg.symbol] for leg in order.legs) * abs(order.price)


def priced_by_quote(order: NewOrder, guard: OrderGuard) -> bool:
    """Return True if the far side of the quote is needed to measure an order."""
    measures = guard.max_order_quantity is not None or guard.max_net_quantity is not None
    if order.value is not None:
        return measures and any(leg.quantity is None for leg in order.legs)
    return order.price is None and guard.values_orders


def net_of(legs: Sequence[NewOrderLeg | OrderLeg], quantities: Sequence[Decimal]) -> Decimal:
    """Return what legs add to the net position once they are filled: bought less sold."""
    signed = (n if str(leg.action or "").startswith("Buy") else -n for leg, n in zip(legs, quantities, strict=True))
    return sum(signed, Decimal(0))


def refused_by(
    guard: OrderGuard, orders: Sequence[NewOrder], values: Sequence[Decimal], quantities: Sequence[Decimal]
) -> Iterator[ErrorDetail]:
    """Yield a detail for each list, and each cap on one order, that orders do not keep."""
    for name, allowed in (("symbols", guard.symbols), ("instrument_types", guard.instrument_types)):
        if allowed is None:
            continue
        for leg in (leg for order in orders for leg in order.legs):
            what = leg.symbol if name == "symbols" else str(leg.instrument_type)
            if what not in allowed and (name != "symbols" or underlying_of(what) not in allowed):
                yield ErrorDetail(name, f"{what} must be one of {', '.join(sorted(allowed)) or 'none'}", name)
    for name, cap, sizes, unit in (
        ("max_order_value", guard.max_order_value, values, "dollars"),
        ("max_order_quantity", guard.max_order_quantity, quantities, "shares or contracts"),
    ):
        largest = max(sizes, default=Decimal(0))
        if cap is not None and largest > cap:
            text = f"{largest.normalize():f} {unit} in one order, {cap:f} are allowed: it can never have as much"
            yield ErrorDetail(name, text, name)


def as_new_order(original: Order, **terms: Any) -> NewOrder | None:
    """Return the order that replaces ``original`` with these ``terms``, None if the original does not show its legs."""
    legs = [
        NewOrderLeg(action=leg.action, instrument_type=leg.instrument_type, symbol=leg.symbol, quantity=leg.quantity)
        for leg in original.legs or ()
        if leg.action and leg.instrument_type and leg.symbol
    ]
    if not legs or len(legs) != len(original.legs or ()):
        return None
    known = {"order_type": original.order_type or "Limit", "time_in_force": original.time_in_force or "Day"}
    return NewOrder(**known, **terms, legs=tuple(legs))  # type: ignore[arg-type]
