"""Guard of order entry: caps and lists that bind every order."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any, cast

import attrs

from .._arguments import check_count, check_seconds, validator
from .._decimals import Amount, exact
from ..errors import ConfigurationError, InvalidRequestError
from ..journal.caps import DAY


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


def _check_amount(name: str, value: Any) -> None:
    try:
        is_valid = exact(name, value) >= 0
    except InvalidRequestError as error:
        raise ConfigurationError(str(error)) from None
    if not is_valid:
        raise ConfigurationError(f"{name} must be at least 0, got {value}")


def _check_names(name: str, value: Any) -> None:
    if not isinstance(value, frozenset) or not all(isinstance(each, str) for each in value):
        raise ConfigurationError(f"{name} must be a collection of names, got {value!r}")


def _check_rule(name: str, value: Any) -> None:
    if not isinstance(value, tuple) or len(value) != 2:
        raise ConfigurationError(f"{name} must be a number of outcomes and seconds, such as (3, 60.0), got {value!r}")
    check_count(name, value[0])
    if check_seconds(name, value[1]) > DAY:  # earlier outcomes may have been pruned
        raise ConfigurationError(f"{name} must look back {DAY:.0f} seconds at most, got {value[1]}")


AMOUNT = validator(_check_amount, optional=True)
NAMES = validator(_check_names, optional=True)
RULE = validator(_check_rule, optional=True)
COUNT = validator(check_count, optional=True, minimum=0)


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

    max_order_value: Decimal | None = attrs.field(default=None, converter=_amount, validator=AMOUNT)
    max_order_quantity: Decimal | None = attrs.field(default=None, converter=_amount, validator=AMOUNT)
    max_value_per_minute: Decimal | None = attrs.field(default=None, converter=_amount, validator=AMOUNT)
    max_value_per_day: Decimal | None = attrs.field(default=None, converter=_amount, validator=AMOUNT)
    max_orders_per_minute: int | None = attrs.field(default=None, validator=COUNT)
    max_orders_per_day: int | None = attrs.field(default=None, validator=COUNT)
    max_net_quantity: Decimal | None = attrs.field(default=None, converter=_amount, validator=AMOUNT)
    symbols: frozenset[str] | None = attrs.field(default=None, converter=_names, validator=NAMES)
    instrument_types: frozenset[str] | None = attrs.field(default=None, converter=_names, validator=NAMES)
    halt_after_unknown: tuple[int, float] | None = attrs.field(default=None, validator=RULE)
    halt_after_refusals: tuple[int, float] | None = attrs.field(default=None, validator=RULE)

    @property
    def values_orders(self) -> bool:
        """Whether a cap needs the value of an order."""
        return any(cap is not None for cap in (self.max_order_value, self.max_value_per_minute, self.max_value_per_day))
