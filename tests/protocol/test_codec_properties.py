"""Bodies built from the schema, with everything that a service might do to them: nothing is ever lost."""

import logging
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings

from brokerage_async import errors, models
from brokerage_async._generated.converters import WIRES, Wire
from brokerage_async.operation import Operation
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import REGISTRY
from brokerage_async.protocol.decoding.fields import wire_fields
from brokerage_async.protocol.decoding.issues import logger
from brokerage_async.protocol.decoding.lenient import parse
from tests.protocol.bodies import ENCODER, cases, operation_of


@pytest.fixture(autouse=True)
def _fresh_registry() -> Iterator[None]:
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(logging.NOTSET)
    REGISTRY.reset()


def carried(wire: type[Wire], raw: dict[str, Any], written: dict[str, Any], path: str = "$") -> None:
    """Every leaf of ``raw`` is in ``written``, equal in value, under its key or under the one it is an alias of."""
    fields = wire_fields(wire)
    keys = {field.target: key for key, field in fields.items() if field.attribute == field.target}
    for key, value in raw.items():
        field, place = fields.get(key), f"{path}.{key}"
        if field is None:
            assert written[key] == value, place
        elif value is None or (key in written and written[key] == value):
            continue
        elif value in (0, "0") and key not in written and field.scalars in ({"int", "datetime"}, {"int", "date"}):
            continue  # in some fields 0 means no time
        elif value == "" and field.always:
            continue  # what every answer has is empty only where it is missing
        else:
            there = written[key if key in written else keys[field.target]]
            if field.child is None:
                assert same(value, there), (place, value, there)
            else:
                some = value if field.many else [value]
                others = there if field.many else [there]
                assert len(some) == len(others), place
                for one, other in zip(some, others, strict=True):
                    carried(field.child, one, other, place)


def same(raw: Any, written: Any) -> bool:
    """Return whether two JSON values mean the same number, number in a string, or time."""
    if isinstance(raw, list):
        return len(raw) == len(written) and all(map(same, raw, written))
    if isinstance(raw, str) and raw.removeprefix("-").isdecimal():
        for read in (moment, day):  # milliseconds or days that arrived as text
            if read(int(raw)) is not None and read(int(raw)) == read(written):
                return True
    return raw == written or any(read(raw) is not None and read(raw) == read(written) for read in (number, moment, day))


def number(raw: Any) -> Any:
    try:
        return None if isinstance(raw, bool) else Decimal(str(raw))
    except ArithmeticError:
        return None


def day(raw: Any) -> date | None:
    try:
        return date(1970, 1, 1) + timedelta(days=raw) if isinstance(raw, int) else date.fromisoformat(raw)
    except (OverflowError, TypeError, ValueError):
        return None


def moment(raw: Any) -> datetime | None:
    if isinstance(raw, int):
        try:
            return datetime.fromtimestamp(raw // 1000, UTC).replace(microsecond=raw % 1000 * 1000)
        except (ValueError, OverflowError, OSError):  # before the first year, or after the last
            return None
    try:
        read = datetime.fromisoformat(raw)
    except (TypeError, ValueError):
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def decode(operation: Operation[Any], body: bytes) -> tuple[Any, list[str]]:
    """Return the value and the reported paths."""
    REGISTRY._warned.clear()
    value = codec.decode(operation, body).value
    return value, sorted(path.removesuffix(" missing") for _, path in REGISTRY._warned)


def first_problem(operation: Operation[Any], body: bytes) -> str | None:
    """Where strict mode raises, as a pattern. None when it does not."""
    try:
        codec.decode(operation, body, strict=True)
    except errors.ResponseDecodeError as error:
        return re.sub(r"\[\d+\]", "[]", error.json_path or "")
    return None


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases)
@example(case=(models.Trade, [{"eventTime": 0}]))
@example(case=(models.Summary, [{"prevDayId": 0}, {"prevDayId": 1}]))
@example(case=(models.Trade, [{"dayId": "1"}]))
def test_nothing_is_lost(case: tuple[type[Any], list[dict[str, Any]]]) -> None:
    model, items = case
    REGISTRY.reset()
    operation = operation_of(model)
    body = ENCODER.encode({"data": {"items": items}})
    raw = parse(body)["data"]["items"]

    decoded, told = decode(operation, body)

    assert len(decoded) == len(raw)
    for row, one in zip(raw, decoded, strict=True):
        written = models.converter.unstructure(one)
        carried(WIRES[model], row, written)
        assert models.converter.structure(written, model) == one
        fields = {name: getattr(one, name) for name in model.__slots__}
        assert type(one) is model
        if all(fields[field.name] is not None for field in attrs.fields(model) if field.default is attrs.NOTHING):
            made = model(**fields)
            assert (one, hash(one)) == (made, hash(made))

    # Bytes and dicts decode alike, before and after keys are learned.
    assert decode(operation, body)[0] == decoded
    assert models.converter.structure(raw, list[model]) == decoded  # type: ignore[valid-type]
    REGISTRY.reset()
    assert models.converter.structure(raw, list[model]) == decoded  # type: ignore[valid-type]
    assert [models.converter.structure(row, model) for row in raw] == decoded

    # Strict mode raises if lenient mode reports anything, and names one of the reported paths.
    problem = first_problem(operation, body)
    assert problem in told if told else problem is None
