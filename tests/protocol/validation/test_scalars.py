"""Valid and invalid single values of a request."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from brokerage_async.operation import BodyField, Parameter
from brokerage_async.protocol.validation.scalars import problem_of, wrong_type
from tests.tables import for_each

DAY, MOMENT = date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)

SOUND: list[tuple[str, Any]] = [
    *(("string", value) for value in ("", "BRK/B", "\U0001f600")),
    *(("integer", value) for value in (0, -(2**63) + 1)),
    *(("identifier", value) for value in ("me", 2**127)),
    ("boolean", False),
    ("date", DAY),
    ("date-time", MOMENT),
    *(("decimal", value) for value in (5, 7)),
    *(("decimal", Decimal(digits)) for digits in ("-0", "-0.00", "0", "1E+3", "-1.5", "1e-20", "1E+64")),
    ("object", {}),
]
UNSOUND: list[tuple[str, Any, str]] = [
    *(("string", value, "wrong_type") for value in (5, b"Trade")),
    ("string", "\ud800", "not_text"),
    *(("integer", value, "wrong_type") for value in (True, 1.0, "1")),
    ("integer", 2**63, "out_of_range"),
    *(("identifier", value, "wrong_type") for value in (True, 1.5)),
    ("identifier", "\ud800", "not_text"),
    *(("identifier", value, "out_of_range") for value in (2**128, 10**5000)),
    *(("boolean", value, "wrong_type") for value in (1, "true")),
    *(("date", value, "wrong_type") for value in (MOMENT, "2026-01-02")),
    ("date-time", DAY, "wrong_type"),
    ("date-time", datetime(2026, 1, 2), "naive_date_time"),  # noqa: DTZ001
    *(("decimal", value, "wrong_type") for value in (0.1, "0.1", True)),
    *(("decimal", Decimal(digits), "not_finite") for digits in ("NaN", "sNaN", "Infinity", "-Infinity")),
    *(("decimal", Decimal(digits), "out_of_range") for digits in ("1E+65", "1E-65", "1E+999999", "1E-999999")),
    ("object", [], "wrong_type"),
]


def field(kind: str, **more: Any) -> BodyField:
    return BodyField(name="it", wire="it", kind=kind, **more)


def test_problem_of_sound_and_unsound_values() -> None:
    assert [(kind, value) for kind, value in SOUND if problem_of(field(kind), value) is not None] == []
    assert problem_of(field("integer", minimum=2), True) == wrong_type("an int", True)
    for kind, value, code in UNSOUND:
        problem = problem_of(field(kind), value)
        assert problem is not None, (kind, value)
        assert problem[0] == code, (kind, value)
        assert code != "wrong_type" or problem[1].endswith(f", got {type(value).__name__}")


@for_each(
    "value, message",
    [(-1, "must be at least 0, got -1"), (0, None), (200, None), (201, "must be at most 200, got 201")],
)
def test_bounds_are_included(value: int, message: str | None) -> None:
    parameter = Parameter(name="it", wire="it", location="query", kind="integer", minimum=0, maximum=200)
    assert problem_of(parameter, value) == (None if message is None else ("out_of_range", message))
    assert problem_of(field("integer", minimum=0, maximum=200), value) == problem_of(parameter, value)
