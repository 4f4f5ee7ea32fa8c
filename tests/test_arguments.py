"""Argument checks: the values they accept, and the error that names the argument."""

from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import attrs
import pytest

from brokerage_async import _arguments as arguments
from brokerage_async.errors import ConfigurationError, InvalidRequestError
from tests.tables import for_each

NAN, INF = float("nan"), float("inf")
NOT_SECONDS: list[Any] = [0, -1, True, "1", NAN, INF, 10**400, Decimal(1), b"1", []]
TODAY = date(2026, 1, 1)


async def handle(error: Exception) -> None: ...


SECONDS, TIMEOUT = partial(arguments.check_seconds, "wait"), partial(arguments.check_timeout, "wait")
SHARE = partial(arguments.check_number, "share", maximum=1)
DELAY = partial(arguments.check_number, "delay")
PAGES = partial(arguments.check_count, "pages", minimum=2)
FLAG = partial(arguments.check_flag, "strict")
FUNCTION = partial(arguments.check_function, "on_error")
RATES = partial(arguments.check_rates, "rates")
DATE, ORDER_ID = partial(arguments.check_date, "start"), partial(arguments.check_order_id, "id")


@for_each(
    "check, accepted, rejected, rule",
    [
        (SECONDS, [1, 0.001, 1e9], [*NOT_SECONDS, None], "wait must be a number of seconds greater than 0, got"),
        (TIMEOUT, [1, 0.001, 1e9, None], NOT_SECONDS, "wait must be a number of seconds greater than 0, or None, got"),
        (SHARE, [0, 0.5, 1], [-0.1, 1.1, True, "0", None, NAN], "share must be a number from 0 to 1, got"),
        (DELAY, [0, 1e9], [-1, INF, 10**400, None], "delay must be a finite number of at least 0, got"),
        (PAGES, [2, 3, 10**400], [1, 2.5, True, "2", None, INF], "pages must be an integer of at least 2, got"),
        (FLAG, [True, False], [0, 1, None, "", "false"], "strict must be True or False, got"),
        (FUNCTION, [print, lambda: None, partial(print), str], [None, 5, "print"], "on_error must be a function, got"),
        (FUNCTION, [], [handle, partial(handle)], "on_error must be a plain function, not a coroutine function"),
        (RATES, [{"a": 1, "b": INF}], [[("a", 1)]], "rates must map operation names to rates, got"),
        (RATES, [], [{"a": 0}, {"a": "1"}, {"a": True}], r"rates\['a'\] must be a number greater than 0, got"),
        (DATE, [TODAY], ["2026-01-01", None, 20260101, datetime.now(UTC)], "start must be a datetime.date, got"),
        (ORDER_ID, ["7"], [None, True, 1.5, "", " ", b"7"], "id must be a non-empty str or an int, got"),
    ],
)
def test_check_returns_what_it_accepts_and_names_what_is_wrong(
    check: Any, accepted: list[Any], rejected: list[Any], rule: str
) -> None:
    for value in accepted:
        assert check(value) is value
    for value in rejected:
        with pytest.raises(InvalidRequestError if check in (DATE, ORDER_ID) else ConfigurationError, match=f"^{rule}"):
            check(value)


def test_checks_of_methods_numbers_and_fields_name_what_they_need() -> None:
    arguments.check_methods("store", {}, "get", "items")
    for wrong in (dict, None, [], object()):
        with pytest.raises(ConfigurationError, match=r"^store must be an object with get, keys and items, got "):
            arguments.check_methods("store", wrong, "get", "keys", "items")
    assert [value for value in (1, 1.5, True, "1", Decimal(1)) if arguments.is_number(value)] == [1, 1.5]
    assert arguments.check_order_id("id", 7) == "7"

    @attrs.frozen
    class Options:
        size: int = attrs.field(validator=arguments.validator(arguments.check_count, minimum=2))

    assert Options(2).size == 2
    with pytest.raises(ConfigurationError, match=r"^Options.size must be an integer of at least 2, got 1$"):
        Options(1)
