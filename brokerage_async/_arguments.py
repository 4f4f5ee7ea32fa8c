"""What an argument has to be, wherever it comes in: functions that pass it on, or say what is wrong with it."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Mapping
from typing import Any, TypeGuard

import attrs

from .errors import ConfigurationError

__all__ = [
    "a_count",
    "a_flag",
    "a_function",
    "at_least_one",
    "check_count",
    "check_flag",
    "check_function",
    "check_methods",
    "check_seconds",
    "is_number",
    "not_negative",
    "positive",
    "positive_rates",
]


def is_number(value: object) -> TypeGuard[float]:
    """Whether ``value`` is an integer or a float, and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_seconds(name: str, value: float | None) -> float | None:
    """``value`` if it is None or a finite number of seconds greater than 0."""
    if value is None:
        return None
    try:
        if is_number(value) and value > 0 and math.isfinite(value):
            return value
    except OverflowError:  # an integer larger than any float
        pass
    raise ConfigurationError(f"{name} must be a number of seconds greater than 0, or None, not {value!r}")


def check_count(name: str, value: object, least: int = 1) -> int:
    """``value`` if it is an integer of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigurationError(f"{name} must be an integer of at least {least}, not {value!r}")
    return value


def check_flag(name: str, value: object) -> bool:
    """``value`` if it is True or False, for a text such as ``"false"`` is neither."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} must be True or False, not {value!r}")
    return value


def check_function(name: str, value: object) -> None:
    """Refuse what cannot be called, and a coroutine function, which would be called but never awaited."""
    if not callable(value):
        raise ConfigurationError(f"{name} must be a function, not {type(value).__name__}")
    if inspect.iscoroutinefunction(value):
        raise ConfigurationError(f"{name} must be a plain function, not a coroutine function: nobody would await it")


def check_methods(name: str, value: object, *methods: str) -> None:
    """Refuse what lacks one of two or more ``methods``, and a class in place of an object of it."""
    if isinstance(value, type) or not all(callable(getattr(value, method, None)) for method in methods):
        needed = f"{', '.join(methods[:-1])} and {methods[-1]}"
        raise ConfigurationError(f"{name} must be an object with {needed}, not {value!r}")


# The same as validators of attrs classes.


def _field(instance: Any, attribute: attrs.Attribute[Any]) -> str:
    return f"{type(instance).__name__}.{attribute.name}"


def positive(instance: Any, attribute: attrs.Attribute[Any], value: float | None) -> None:
    """None, or a number greater than 0."""
    if value is not None and not (is_number(value) and value > 0):
        raise ConfigurationError(f"{_field(instance, attribute)} must be greater than 0, not {value!r}")


def positive_rates(instance: Any, attribute: attrs.Attribute[Any], rates: Mapping[str, float]) -> None:
    """Names with a number greater than 0 each."""
    if not isinstance(rates, Mapping):
        raise ConfigurationError(f"{attribute.name} must map names of operations to rates")
    for name, rate in rates.items():
        if not (is_number(rate) and rate > 0):
            raise ConfigurationError(f"the rate of {name} must be greater than 0, not {rate!r}")


def not_negative(instance: Any, attribute: attrs.Attribute[Any], value: float) -> None:
    """A finite number from 0 on."""
    if not (is_number(value) and 0 <= value <= sys.float_info.max):
        raise ConfigurationError(f"{_field(instance, attribute)} must be a finite number of at least 0, not {value!r}")


def at_least_one(instance: Any, attribute: attrs.Attribute[Any], value: int | None) -> None:
    """None, or an integer from 1 on."""
    if value is not None:
        check_count(_field(instance, attribute), value)


def a_count(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """An integer from 1 on."""
    check_count(_field(instance, attribute), value)


def a_flag(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """True or False."""
    check_flag(_field(instance, attribute), value)


def a_function(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """A plain function."""
    check_function(_field(instance, attribute), value)
