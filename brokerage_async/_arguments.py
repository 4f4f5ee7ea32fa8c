"""Checks before a call: of arguments, with attrs validators built from them, and of the event loop it runs in.

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
from typing import Any, TypeGuard, TypeVar

import attrs

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
