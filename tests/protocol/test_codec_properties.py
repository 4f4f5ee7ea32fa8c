"""Bodies built from the schema, with everything that a service might do to them: nothing is ever lost."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from typing import Any

import attrs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokerage_async import errors, models
from brokerage_async._generated.converters import WIRES, Wire
from brokerage_async.operation import Effect, Operation, Shape
from brokerage_async.protocol.decoding import adaptive as learning
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding import lenient as tolerance
from brokerage_async.protocol.decoding.fields import Slot, layout

ENCODER = msgspec.json.Encoder(decimal_format="number")


@pytest.fixture(autouse=True)
def _nothing_learned() -> Iterator[None]:
    tolerance.logger.setLevel(logging.CRITICAL)
    yield
    tolerance.logger.setLevel(logging.NOTSET)
    learning.forget()
    tolerance._told.clear()


# -- bodies from the schema -------------------------------------------------------------------------------------------

numbers = st.integers(-(10**20), 10**20) | st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9
)
decimals = numbers.map(str)
days = st.dates().map(str)
moments = st.datetimes(
    min_value=datetime(1950, 1, 1),  # noqa: DTZ001
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-4)), timezone(timedelta(hours=5, minutes=30))]),
).map(datetime.isoformat)
naive_moments = st.datetimes(min_value=datetime(1950, 1, 1)).map(datetime.isoformat)  # noqa: DTZ001
epochs = st.integers(-(10**12), 10**13)
anything = st.recursive(
    st.none()
    | st.booleans()
    | numbers
    | st.text(max_size=8)
    | st.sampled_from(["", "NaN", "0", "true", "2026-01-01 x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)

SCALARS = {
    "str": st.text(max_size=8),
    "int": st.integers(-(2**60), 2**60),
    "bool": st.booleans(),
    "decimal": decimals,
    "date": days,
    "datetime": moments,
}
ODDITIES = numbers | decimals | days | moments | naive_moments | epochs | st.booleans() | anything


@cache
def values_for(slot: Slot, depth: int) -> st.SearchStrategy[Any]:
    """What belongs there mostly, sometimes something else."""
    if slot.child is not None:
        child = rows(slot.child, depth - 1) if depth else st.just({})
        fitting: st.SearchStrategy[Any] = st.lists(child, max_size=2) if slot.many else child
    else:
        fitting = st.one_of([SCALARS[name] for name in sorted(slot.scalars)] or [st.text(max_size=8)])
        if slot.array:
            fitting = st.lists(fitting, max_size=3)
    return st.one_of(fitting, fitting, fitting, st.none(), ODDITIES)


@cache
def rows(wire: type[Wire], depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Some keys of the struct with some value each, and now and then keys that it does not know."""
    known = [st.tuples(st.just(key), values_for(slot, depth)) for key, slot in layout(wire).items()]
    unknown = st.tuples(st.sampled_from(["new-key", "newer", "id_", ""]), anything)
    return st.lists(st.one_of(*known, unknown), max_size=6).map(dict)


MODELS = sorted(WIRES, key=lambda model: model.__name__)
cases = st.sampled_from(MODELS).flatmap(
    lambda model: st.tuples(st.just(model), st.lists(rows(WIRES[model]), max_size=2))
)


def operation_of(model: type[Any]) -> Operation[list[Any]]:
    return Operation(
        name=f"test.{model.__name__}", method="GET", path="/", effect=Effect.READ, shape=Shape.MANY, result=model
    )


# -- what it means to lose nothing ------------------------------------------------------------------------------------


def carried(wire: type[Wire], raw: dict[str, Any], written: dict[str, Any], path: str = "$") -> None:
    """Every leaf of ``raw`` is in ``written``, equal in value, under its key or under the one it is an alias of."""
    slots = layout(wire)
    keys = {slot.target: key for key, slot in slots.items() if slot.attribute == slot.target}
    for key, value in raw.items():
        slot, place = slots.get(key), f"{path}.{key}"
        if slot is None:
            assert written[key] == value, place
        elif value is None or (key in written and written[key] == value):
            continue
        else:
            there = written[key if key in written else keys[slot.target]]
            if slot.child is None:
                assert same(value, there), (place, value, there)
            else:
                some = value if slot.many else [value]
                others = there if slot.many else [there]
                assert len(some) == len(others), place
                for one, other in zip(some, others, strict=True):
                    carried(slot.child, one, other, place)


def same(raw: Any, written: Any) -> bool:
    """Whether two JSON values stand for the same: numbers, text of numbers, moments."""
    if isinstance(raw, list):
        return len(raw) == len(written) and all(map(same, raw, written))
    if isinstance(raw, str) and raw.removeprefix("-").isdecimal():
        at = moment(int(raw))
        if at is not None and at == moment(written):
            return True  # milliseconds that arrived as text
    return raw == written or any(read(raw) is not None and read(raw) == read(written) for read in (number, moment))


def number(raw: Any) -> Any:
    try:
        return None if isinstance(raw, bool) else Decimal(str(raw))
    except ArithmeticError:
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
    """The value, and the paths that were told."""
    tolerance._told.clear()
    value = codec.decode(operation, body).value
    return value, sorted(path for _, path in tolerance._told)


def first_problem(operation: Operation[Any], body: bytes) -> str | None:
    """Where strict mode raises, as a pattern; None when it does not."""
    try:
        codec.decode(operation, body, strict=True)
    except errors.ResponseDecodeError as error:
        return re.sub(r"\[\d+\]", "[]", error.json_path or "")
    return None


# -- the properties ---------------------------------------------------------------------------------------------------


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases)
def test_nothing_is_lost(case: tuple[type[Any], list[dict[str, Any]]]) -> None:
    model, items = case
    learning.forget()
    operation = operation_of(model)
    body = ENCODER.encode({"data": {"items": items}})
    raw = tolerance.parse(body)["data"]["items"]

    decoded, told = decode(operation, body)

    assert len(decoded) == len(raw)
    for row, one in zip(raw, decoded, strict=True):
        written = models.converter.unstructure(one)
        carried(WIRES[model], row, written)
        assert models.converter.structure(written, model) == one

    # Bytes and dicts take the same road, before anything is learned and after.
    assert decode(operation, body)[0] == decoded
    assert models.converter.structure(raw, list[model]) == decoded  # type: ignore[valid-type]
    learning.forget()
    assert models.converter.structure(raw, list[model]) == decoded  # type: ignore[valid-type]
    assert [models.converter.structure(row, model) for row in raw] == decoded

    # Strict mode raises exactly where lenient mode tells something: at one of those places.
    problem = first_problem(operation, body)
    assert problem in told if told else problem is None


@settings(max_examples=150)
@given(case=cases)
def test_built_models_are_values(case: tuple[type[Any], list[dict[str, Any]]]) -> None:
    model, items = case
    decoded = codec.decode(operation_of(model), ENCODER.encode({"data": {"items": items}})).value
    for one in decoded:
        fields = {name: getattr(one, name) for name in model.__slots__}
        assert type(one) is model
        if all(fields[field.name] is not None for field in attrs.fields(model) if field.default is attrs.NOTHING):
            assert one == model(**fields)
            assert hash(one) == hash(model(**fields))
