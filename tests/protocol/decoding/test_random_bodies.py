"""Random bodies of all models: nothing is lost, and neither learning nor widening changes a value."""

import logging
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brokerage_async import errors, models
from brokerage_async._generated.converters import WIRES, Wire
from brokerage_async.operation import Operation
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import REGISTRY, DecoderRegistry
from brokerage_async.protocol.decoding.fields import Kept, WireField, read, wire_fields
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.decoding.lenient import parse, structure_one, structure_rows
from tests.protocol.bodies import ENCODER, ODDITIES, cases, operation_of, read_by_value

Case = tuple[type[Any], list[dict[str, Any]]]
Problem = tuple[str, str]
LOGGER = logging.getLogger("brokerage_async.decode")


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOGGER, "propagate", False)


def outcome(operation: Operation[Any], body: bytes, registry: DecoderRegistry) -> tuple[Any, list[str], Problem | None]:
    """Return the models, the warnings, and the error of strict mode."""
    registry.warned.clear()
    with patch.object(LOGGER, "warning") as warned:
        value = codec.decode(operation, body, registry=registry).value
    warnings = sorted(each.args[0] % each.args[1:] for each in warned.call_args_list)
    return value, warnings, strict_error(operation, body, registry)


def strict_error(operation: Operation[Any], body: bytes, registry: DecoderRegistry) -> Problem | None:
    try:
        codec.decode(operation, body, strict=True, registry=registry)
    except errors.ResponseDecodeError as error:
        return error.json_path or "", str(error)
    return None


def has_alias_pairs(wire: Any, row: Any) -> bool:
    """Return whether a key and its alias occur together, where the raw form in ``extra`` depends on other fields."""
    if not isinstance(row, dict):
        return False
    fields = wire_fields(wire)
    if any(field.alias_of in row and key in row for key, field in fields.items()):
        return True
    below = [(field.child, row.get(key)) for key, field in fields.items() if field.child is not None]
    return any(has_alias_pairs(child, one) for child, raw in below for one in (raw if isinstance(raw, list) else [raw]))


@example(case=(models.HolidayCalendar, [{"market-holidays": [""]}, {"market-holidays": 0}]), others=[])
@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(case=cases, others=st.lists(st.integers(0, 5), max_size=3))
def test_widened_fields_give_the_same_as_reading_value_by_value(case: Case, others: list[int]) -> None:
    model, rows = case
    rows = [row for row in rows if not has_alias_pairs(WIRES[model], row)]
    operation = operation_of(model)
    bodies = [ENCODER.encode({"data": {"items": items}}) for items in (rows, rows[:1], rows[1:], rows[::-1])]
    expected = [outcome(operation, body, DecoderRegistry()) for body in bodies]
    registry = DecoderRegistry()
    for _ in range(2):
        for body in bodies:
            codec.decode(operation, body, registry=registry)
    assert [outcome(operation, body, registry) for body in bodies] == expected
    for body, (value, _, _) in zip(bodies, expected, strict=True):  # Untyped values take the same path.
        raw = parse(body)["data"]["items"]
        assert structure_rows(model, raw, "$", Issues("test", registry=registry)) == value
        assert [read_by_value(WIRES[model], row) for row in raw] == value
        assert [structure_one(model, row, "$", Issues("test", registry=registry)) for row in raw] == value


SCALARS = [(wire, field) for wire in WIRES.values() for field in wire_fields(wire).values() if field.child is None]
#: One field of each type.
KINDS = list({str(field.type): (wire, field) for wire, field in SCALARS}.values())


@settings(max_examples=1000)
@given(kind=st.sampled_from(KINDS), raw=ODDITIES)
def test_values_read_alone_are_those_of_their_row(kind: tuple[Any, WireField], raw: Any) -> None:
    wire, field = kind
    raw = parse(ENCODER.encode(raw))
    if raw is None:
        return
    value = read(field, raw)
    [model] = [model for model, each in WIRES.items() if each is wire]
    row = ENCODER.encode({field.key: raw})
    expected = codec.decode(operation_of(model, bare=True), row, registry=DecoderRegistry()).value
    if isinstance(value, Kept):
        assert expected.extra == value.extra == {field.key: raw}
        value = value.value
    assert getattr(wire(**{field.attribute: value}).build(), field.target) == getattr(expected, field.target)


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
    meanings = [(read, raw) for read in (number, day, moment)]
    if isinstance(raw, str) and raw.removeprefix("-").isdecimal():
        meanings += [(read, int(raw)) for read in (day, moment)]  # days or milliseconds that arrived as text
    known = [(read, found) for read, one in meanings if (found := meaning(read, one)) is not None]
    return raw == written or any(meaning(read, written) == found for read, found in known)


def meaning(read: Callable[[Any], Any], raw: Any) -> Any:
    with suppress(ArithmeticError, OSError, TypeError, ValueError):
        return read(raw)


def number(raw: Any) -> Any:
    return None if isinstance(raw, bool) else Decimal(str(raw))


def day(raw: Any) -> date:
    return date(1970, 1, 1) + timedelta(days=raw) if isinstance(raw, int) else date.fromisoformat(raw)


def moment(raw: Any) -> datetime:
    if isinstance(raw, int):
        return datetime.fromtimestamp(raw // 1000, UTC).replace(microsecond=raw % 1000 * 1000)
    read = datetime.fromisoformat(raw)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


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
    decoded = codec.decode(operation, body).value
    warned = {path.removesuffix(" missing") for _, path in REGISTRY.warned}
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
    assert codec.decode(operation, body).value == decoded
    assert models.converter.structure(raw, list[model]) == decoded  # type: ignore[valid-type]
    REGISTRY.reset()
    assert models.converter.structure(raw, list[model]) == decoded  # type: ignore[valid-type]
    assert [models.converter.structure(row, model) for row in raw] == decoded

    # Strict mode raises if lenient mode reports anything, and names one of the reported paths.
    problem = strict_error(operation, body, REGISTRY)
    assert (problem and re.sub(r"\[\d+\]", "[]", problem[0])) in (warned or {None})
