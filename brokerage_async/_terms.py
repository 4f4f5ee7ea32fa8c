"""Terms of orders: exact amounts, and terms restated for an edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

from ._decimals import finite, read_decimal
from .errors import InvalidRequestError

T = TypeVar("T")

Amount: TypeAlias = Decimal | int | str

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
    make: Callable[..., T],
    order: object,
    sources: tuple[type[Any], ...],
    changes: Mapping[str, Any | None],
    takes: Mapping[Any, frozenset[str]],
) -> T:
    """Build an edit with the terms of ``order``, overridden by every entry of ``changes`` that is not None.

    Terms that do not go with a new type of order or time in force are left out. ``takes`` has the terms of each type.
    """
    if not isinstance(order, sources):
        names = " or ".join(source.__name__ for source in sources)
        raise InvalidRequestError(f"order must be of type {names}, got {type(order).__name__}")
    given = {name: value for name, value in changes.items() if value is not None}
    given |= {name: exact(name, given[name]) for name in AMOUNTS if name in given}
    dropped = {"gtc_date"} if given.get("time_in_force", "GTD") != "GTD" else set[str]()
    if (taken := takes.get(given.get("order_type"))) is not None:
        dropped |= {name for names in takes.values() for name in names} - taken
    kept = {
        name: value for name in changes.keys() - dropped if (value := getattr(order, name)) not in (None, NO_EFFECT)
    }
    terms = kept | given
    if missing := [name for name in REQUIRED if name in changes and name not in terms]:
        raise InvalidRequestError(f"order {getattr(order, 'id', None)} shows no {' or '.join(missing)}: state it")
    return make(**terms)
