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


def test_checks_return_what_they_accept_and_name_what_is_wrong() -> None:
    assert arguments.check_timeout("wait", None) is None
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


SECONDS = functools.partial(arguments.check_seconds, "wait")
TIMEOUT = functools.partial(arguments.check_timeout, "wait")
SHARE = functools.partial(arguments.check_number, "share", maximum=1)
DELAY = functools.partial(arguments.check_number, "delay")
PAGES = functools.partial(arguments.check_count, "pages", minimum=2)


@for_each(
    "check, accepted, rejected, message",
    [
        (SECONDS, [1, 0.001, 1e9], [*NOT_SECONDS, None], "wait must be a number of seconds greater than 0"),
        (TIMEOUT, [1, 0.001, 1e9], NOT_SECONDS, "wait must be a number of seconds greater than 0, or None"),
        (SHARE, [0, 0.5, 1], [-0.1, 1.1, True, "0", None, float("nan")], "share must be a number from 0 to 1"),
        (DELAY, [0, 1e9], [-1, float("inf"), 10**400, None], "delay must be a finite number of at least 0"),
        (PAGES, [2, 3, 10**400], [1, 2.5, True, "2", None, float("inf")], "pages must be an integer of at least 2"),
    ],
)
def test_check_of_a_bound_returns_what_is_within_and_raises_otherwise(
    check: Any, accepted: list[Any], rejected: list[Any], message: str
) -> None:
    for value in accepted:
        assert check(value) is value
    for value in rejected:
        with pytest.raises(ConfigurationError, match=f"^{message}, got "):
            check(value)
