"""Argument checks: the values they accept, and the error that names the argument."""

import functools
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import _arguments as arguments
from brokerage_async.errors import ConfigurationError, InvalidRequestError
from tests.tables import for_each

NOT_SECONDS: list[Any] = [0, -1, True, "1", float("nan"), float("inf"), 10**400, Decimal(1), b"1", []]


def shortened(value: object) -> str:
    return repr(value)[:12]


@for_each("value", [1, 0.001, 1e9])
def test_check_seconds_valid_returns_it(value: float) -> None:
    assert arguments.check_seconds("wait", value) is value
    assert arguments.check_timeout("wait", value) is value


@for_each("value", NOT_SECONDS)
def test_check_seconds_invalid_raises(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^wait must be a number of seconds greater than 0, got "):
        arguments.check_seconds("wait", value)
    with pytest.raises(ConfigurationError, match=r"^wait must be a number of seconds greater than 0, or None, got "):
        arguments.check_timeout("wait", value)


def test_checks_return_what_they_accept() -> None:
    assert arguments.check_timeout("wait", None) is None
    with pytest.raises(ConfigurationError, match="got None"):
        arguments.check_seconds("wait", None)
    assert [arguments.check_flag("strict", value) for value in (True, False)] == [True, False]
    for value in (0, 1, None, "", "false"):
        with pytest.raises(ConfigurationError, match=r"^strict must be True or False, got "):
            arguments.check_flag("strict", value)
    for value in (print, len, lambda: None, functools.partial(print), str):
        arguments.check_function("on_error", value)
    for wrong in (None, 5, "print"):
        with pytest.raises(ConfigurationError, match=r"^on_error must be a function, got "):
            arguments.check_function("on_error", wrong)
    found = [arguments.is_number(value) for value in (1, 1.5, True, "1", Decimal(1))]
    assert found == [True, True, False, False, False]
    assert [arguments.check_order_id("id", value) for value in (7, "7")] == ["7", "7"]
    for wrong in (None, True, 1.5, "", " ", b"7"):
        with pytest.raises(InvalidRequestError, match=r"^id must be a non-empty str or an int, got "):
            arguments.check_order_id("id", wrong)


@for_each("value", [0, 0.5, 1])
def test_check_number_within_bounds_returns_it(value: float) -> None:
    assert arguments.check_number("share", value, maximum=1) is value


@for_each("value", [-0.1, 1.1, True, "0", None, float("nan")])
def test_check_number_out_of_bounds_raises(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^share must be a number from 0 to 1, got "):
        arguments.check_number("share", value, maximum=1)


@for_each("value", [-1, float("inf"), 10**400, None])
def test_check_number_without_maximum_must_be_finite(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^delay must be a finite number of at least 0, got "):
        arguments.check_number("delay", value)


@for_each("value", [2, 3, 10**400])
def test_check_count_of_at_least_minimum_returns_it(value: int) -> None:
    assert arguments.check_count("pages", value, minimum=2) is value


@for_each("value", [1, 2.5, True, "2", None, float("inf")])
def test_check_count_invalid_raises(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^pages must be an integer of at least 2, got "):
        arguments.check_count("pages", value, minimum=2)


def test_checks_name_what_is_wrong() -> None:
    arguments.check_methods("store", {}, "get", "items")
    for wrong in (dict, None, [], object()):
        with pytest.raises(ConfigurationError, match=r"^store must be an object with get, keys and items, got "):
            arguments.check_methods("store", wrong, "get", "keys", "items")
    assert arguments.check_rates("rates", {"a": 1, "b": float("inf")})
    for wrong in ({"a": 0}, {"a": "1"}, {"a": True}):
        with pytest.raises(ConfigurationError, match=r"^rates\['a'\] must be a number greater than 0, got "):
            arguments.check_rates("rates", wrong)
    with pytest.raises(ConfigurationError, match=r"^rates must map operation names to rates, got "):
        arguments.check_rates("rates", [("a", 1)])
    assert arguments.check_date("start", date(2026, 1, 1)) == date(2026, 1, 1)
    for wrong in ("2026-01-01", None, 20260101, datetime(2026, 1, 1, tzinfo=UTC)):
        with pytest.raises(InvalidRequestError, match=r"^start must be a datetime.date, got "):
            arguments.check_date("start", wrong)

    @attrs.frozen
    class Options:
        size: int = attrs.field(validator=arguments.validator(arguments.check_count, minimum=2))

    assert Options(2).size == 2
    with pytest.raises(ConfigurationError, match=r"^Options.size must be an integer of at least 2, got 1$"):
        Options(1)

    async def handle(error: Exception) -> None: ...

    for value in (handle, functools.partial(handle)):
        with pytest.raises(ConfigurationError, match="on_error must be a plain function, not a coroutine function"):
            arguments.check_function("on_error", value)
