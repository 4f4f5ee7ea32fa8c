"""Terms of orders: exact amounts, and the terms that each type of order takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

from ._decimals import finite, read_decimal
from .errors import InvalidRequestError

T = TypeVar("T")

Amount: TypeAlias = Decimal | int | str

PRICED = frozenset({"Limit", "Stop Limit", "Marketable Limit"})
TRIGGERED = frozenset({"Stop", "Stop Limit"})
VALUED = frozenset({"Notional Market"})
TAKEN_BY = {"price": PRICED, "price_effect": PRICED, "stop_trigger": TRIGGERED, "value": VALUED, "value_effect": VALUED}
"""Types of order that a term goes with."""

KNOWN_TYPES = PRICED | TRIGGERED | VALUED | {"Market"}
REQUIRED = ("order_type", "time_in_force")
AMOUNTS = ("price", "stop_trigger", "value")
MAX_DIGITS = 64  # most digits of an amount before the point, and most zeros behind it
NO_EFFECT = "None"  # effect that the service reports for an amount of zero; it is not accepted in requests


def exact(name: str, amount: Amount) -> Decimal:
    """Return ``amount`` exactly. A str must hold a plain finite number, as JSON would write it. Floats are refused."""
    if isinstance(amount, bool) or not isinstance(amount, Decimal | int | str):
        raise InvalidRequestError(f"{name} must be a Decimal, an int or a str, got {amount!r}")
    try:
        number = finite(amount) if isinstance(amount, Decimal) else read_decimal(amount)
    except ValueError:
        raise InvalidRequestError(f"{name} must be a plain number such as '187.50', got {amount!r}") from None
    if abs(number.adjusted()) > MAX_DIGITS:  # arithmetic would overflow, and written out it could be gigabytes
        raise InvalidRequestError(
            f"{name} must have at most {MAX_DIGITS} digits before and after the point, got {number:.3E}"
        )
    return number


def restate(
    make: Callable[..., T], order: object, sources: tuple[type[Any], ...], changes: Mapping[str, Any | None]
) -> T:
    """Build an edit with the terms of ``order``, overridden by every entry of ``changes`` that is not None.

    Terms that do not go with a new type of order or time in force are left out.
    """
    if not isinstance(order, sources):
        names = " or ".join(source.__name__ for source in sources)
        raise InvalidRequestError(f"order must be of type {names}, got {type(order).__name__}")
    given = {name: value for name, value in changes.items() if value is not None}
    given |= {name: exact(name, given[name]) for name in AMOUNTS if name in given}
    kept = {name: value for name in changes if (value := getattr(order, name)) is not None and value != NO_EFFECT}
    terms = {name: value for name, value in kept.items() if _goes_with(name, given)} | given
    if missing := [name for name in REQUIRED if name in changes and name not in terms]:
        raise InvalidRequestError(f"order {getattr(order, 'id', None)} shows no {' or '.join(missing)}: state it")
    return make(**terms)


def _goes_with(name: str, given: Mapping[str, Any]) -> bool:
    """Return whether a term of the order goes with a new type or time in force, if there is one."""
    if name == "gtc_date":
        return "time_in_force" not in given or bool(given["time_in_force"] == "GTD")
    order_type = given.get("order_type")
    return name not in TAKEN_BY or order_type not in KNOWN_TYPES or order_type in TAKEN_BY[name]
