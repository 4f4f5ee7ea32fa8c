"""What an argument has to be, and what is said of one that is something else."""

from __future__ import annotations

import functools
from decimal import Decimal

import pytest

from brokerage_async._arguments import check_count, check_flag, check_function, check_methods, check_seconds, is_number
from brokerage_async.errors import ConfigurationError


@pytest.mark.parametrize("value", [None, 1, 0.001, 1e9])
def test_seconds(value):
    assert check_seconds("wait", value) is value


@pytest.mark.parametrize(
    "value", [0, -1, True, "1", float("nan"), float("inf"), 10**400, Decimal(1), b"1", []], ids=lambda v: repr(v)[:12]
)
def test_no_seconds(value):
    with pytest.raises(ConfigurationError, match="wait must be a number of seconds greater than 0, or None, not "):
        check_seconds("wait", value)


@pytest.mark.parametrize("value", [2, 3, 10**400], ids=lambda v: repr(v)[:12])
def test_count(value):
    assert check_count("pages", value, least=2) is value


@pytest.mark.parametrize("value", [1, 2.5, True, "2", None, float("inf")])
def test_no_count(value):
    with pytest.raises(ConfigurationError, match="pages must be an integer of at least 2, not "):
        check_count("pages", value, least=2)


def test_flag():
    assert [check_flag("strict", value) for value in (True, False)] == [True, False]
    for value in (0, 1, None, "", "false"):
        with pytest.raises(ConfigurationError, match="strict must be True or False, not "):
            check_flag("strict", value)


def test_function():
    for value in (print, len, lambda: None, functools.partial(print), str):
        check_function("on_error", value)
    for value in (None, 5, "print"):
        with pytest.raises(ConfigurationError, match="on_error must be a function, not "):
            check_function("on_error", value)


def test_coroutine_function_is_none_that_anybody_awaits():
    async def hear(error): ...

    for value in (hear, functools.partial(hear)):
        with pytest.raises(ConfigurationError, match="on_error must be a plain function, not a coroutine function"):
            check_function("on_error", value)


def test_numbers():
    assert [is_number(value) for value in (1, 1.5, True, "1", Decimal(1))] == [True, True, False, False, False]


def test_methods():
    check_methods("door", {}, "get", "items")
    for wrong in (dict, None, [], object()):
        with pytest.raises(ConfigurationError, match="door must be an object with get, keys and items, not "):
            check_methods("door", wrong, "get", "keys", "items")
