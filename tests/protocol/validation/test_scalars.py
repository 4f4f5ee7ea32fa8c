"""Valid and invalid single values of a request."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from brokerage_async.operation import BodyField, Parameter
from brokerage_async.protocol.validation.scalars import problem_of, wrong_type
from tests.tables import for_each

DAY, MOMENT = date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)

SOUND: list[tuple[str, Any]] = [
    ("string", ""),
    ("string", "BRK/B"),
    ("string", "\U0001f600"),
    ("integer", 0),
    ("integer", -(2**63) + 1),
    ("identifier", "me"),
    ("identifier", 2**127),
    ("boolean", False),
    ("date", DAY),
    ("date-time", MOMENT),
    ("decimal", 7),
    ("decimal", Decimal("-0.00")),
    ("decimal", Decimal("1E+64")),
    ("object", {}),
]
UNSOUND: list[tuple[str, Any, str]] = [
    ("string", 5, "wrong_type"),
    ("string", "\ud800", "not_text"),
    ("integer", True, "wrong_type"),
    ("integer", 1.0, "wrong_type"),
    ("integer", "1", "wrong_type"),
    ("integer", 2**63, "out_of_range"),
    ("identifier", True, "wrong_type"),
    ("identifier", "\ud800", "not_text"),
    ("identifier", 2**128, "out_of_range"),
    ("boolean", 1, "wrong_type"),
    ("date", MOMENT, "wrong_type"),
    ("date", "2026-01-02", "wrong_type"),
    ("date-time", DAY, "wrong_type"),
    ("date-time", datetime(2026, 1, 2), "naive_date_time"),  # noqa: DTZ001
    ("decimal", 0.1, "wrong_type"),
    ("decimal", "0.1", "wrong_type"),
    ("decimal", True, "wrong_type"),
    ("decimal", Decimal("NaN"), "not_finite"),
    ("decimal", Decimal("-Infinity"), "not_finite"),
    ("decimal", Decimal("1E+65"), "out_of_range"),
    ("decimal", Decimal("1E-65"), "out_of_range"),
    ("object", [], "wrong_type"),
]


def field(kind: str, **more: Any) -> BodyField:
    return BodyField(name="it", wire="it", kind=kind, **more)


@for_each("kind, value", SOUND)
def test_what_is_sound(kind: str, value: Any) -> None:
    assert problem_of(field(kind), value) is None


@for_each("kind, value, code", UNSOUND)
def test_what_is_not(kind: str, value: Any, code: str) -> None:
    problem = problem_of(field(kind), value)
    assert problem[0] == code
    assert code != "wrong_type" or problem[1].endswith(f", got {type(value).__name__}")


@for_each(
    "value, message",
    [(-1, "must be at least 0, got -1"), (0, None), (200, None), (201, "must be at most 200, got 201")],
)
def test_bounds_are_included(value: int, message: str | None) -> None:
    parameter = Parameter(name="it", wire="it", location="query", kind="integer", minimum=0, maximum=200)
    assert problem_of(parameter, value) == (None if message is None else ("out_of_range", message))
    assert problem_of(field("integer", minimum=0, maximum=200), value) == problem_of(parameter, value)


def test_a_value_of_the_wrong_kind_is_that_and_nothing_more() -> None:
    assert problem_of(field("integer", minimum=2), True) == wrong_type("an int", True)
