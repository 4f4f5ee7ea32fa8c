"""Checks before a call: of arguments, with attrs validators built from them, of terms of orders, and of the event loop.

Every check of an argument is called as ``check(name, value)``, and raises an error of the form
``<name> must be <rule>, got <value>``.
Settings raise ConfigurationError. Arguments that become part of a request raise InvalidRequestError.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias, TypeGuard, TypeVar

import attrs

from ._decimals import finite, read_decimal
from .errors import ConfigurationError, InvalidRequestError

T = TypeVar("T")

NO_LOOP = (
    "no asyncio event loop is running here: start the program with asyncio.run(main()), or with anyio.run(main, "
    "backend='asyncio'); trio's own loop is not supported"
)
OTHER_LOOP = (
    "a client belongs to the event loop that used it first: make one client per loop and per asyncio.run(), or pass "
    "the call to its loop with asyncio.run_coroutine_threadsafe(coroutine, loop)"
)


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: object) -> TypeGuard[float]:
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # an integer larger than any float
        return False


def check_number(name: str, value: object, *, maximum: float = math.inf) -> float:
    if not _is_finite(value) or not 0 <= value <= maximum:
        rule = "a finite number of at least 0" if maximum == math.inf else f"a number from 0 to {maximum:g}"
        raise ConfigurationError(f"{name} must be {rule}, got {value!r}")
    return value


def check_positive(name: str, value: object) -> float:
    if not is_number(value) or not value > 0:
        raise ConfigurationError(f"{name} must be a number greater than 0, got {value!r}")
    return value


def check_seconds(name: str, value: object, end: str = "") -> float:
    if not _is_finite(value) or value <= 0:
        raise ConfigurationError(f"{name} must be a number of seconds greater than 0{end}, got {value!r}")
    return value


def check_timeout(name: str, value: object) -> float | None:
    return None if value is None else check_seconds(name, value, ", or None")


def check_count(name: str, value: object, *, minimum: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise ConfigurationError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    return value


def check_flag(name: str, value: object) -> bool:
    """Return ``value`` if it is a bool. The string ``"false"`` is not."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} must be True or False, got {value!r}")
    return value


def check_type(name: str, value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise ConfigurationError(f"{name} must be of type {kind.__name__}, got {type(value).__name__}")
    return value


def check_function(name: str, value: object) -> Callable[..., Any]:
    if not callable(value):
        raise ConfigurationError(f"{name} must be a function, got {value!r}")
    if inspect.iscoroutinefunction(value):
        raise ConfigurationError(f"{name} must be a plain function, not a coroutine function: it is never awaited")
    return value


def check_methods(name: str, value: object, *methods: str) -> object:
    if isinstance(value, type) or not all(callable(getattr(value, method, None)) for method in methods):
        needed = f"{', '.join(methods[:-1])} and {methods[-1]}"
        raise ConfigurationError(f"{name} must be an object with {needed}, got {value!r}")
    return value


def check_rates(name: str, value: object) -> Mapping[str, float]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{name} must map operation names to rates, got {value!r}")
    for key, rate in value.items():
        check_positive(f"{name}[{key!r}]", rate)
    return value


def check_date(name: str, value: object) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise InvalidRequestError(f"{name} must be a datetime.date, got {value!r}")
    return value


def check_order_id(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        raise InvalidRequestError(f"{name} must be a non-empty str or an int, got {value!r}")
    return str(value)


def validator(
    check: Callable[..., object], *, optional: bool = False, **options: object
) -> Callable[[Any, attrs.Attribute[Any], Any], None]:
    """Build an attrs validator from a check. It names the field ``Class.field``."""

    def validate(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is not None or not optional:
            check(f"{type(instance).__name__}.{attribute.name}", value, **options)

    return validate


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the running event loop. Raise ConfigurationError if there is none, as in a program on trio."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigurationError(NO_LOOP) from None


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
