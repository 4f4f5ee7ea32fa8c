"""Bodies built from the schema, with the values that a service might send in place of the documented ones."""

import json
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from brokerage_async._generated.converters import WIRES, Wire
from brokerage_async._values import Extra
from brokerage_async.operation import Operation, Shape
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import REGISTRY, DecoderRegistry
from brokerage_async.protocol.decoding.fields import Kept, WireField, read, wire_fields
from tests.protocol.values import operation

ENCODER = msgspec.json.Encoder(decimal_format="number")

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
def values_for(field: WireField, depth: int) -> st.SearchStrategy[Any]:
    """Draw mostly valid values for a field, and sometimes others."""
    if field.child is not None:
        child = rows(field.child, depth - 1) if depth else st.just({})
        fitting: st.SearchStrategy[Any] = st.lists(child, max_size=2) if field.many else child
    else:
        fitting = st.one_of([SCALARS[name] for name in sorted(field.scalars)] or [st.text(max_size=8)])
        if field.many:
            fitting = st.lists(fitting, max_size=3)
    return st.one_of(fitting, fitting, fitting, st.none(), ODDITIES)


@cache
def rows(wire: type[Wire], depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Some keys of the struct with some value each, and now and then keys that it does not know."""
    known = [st.tuples(st.just(key), values_for(field, depth)) for key, field in wire_fields(wire).items()]
    unknown = st.tuples(st.sampled_from(["new-key", "newer", "id_", ""]), anything)
    return st.lists(st.one_of(*known, unknown), max_size=6).map(dict)


MODELS = sorted(WIRES, key=lambda model: model.__name__)
cases = st.sampled_from(MODELS).flatmap(lambda kind: st.tuples(st.just(kind), st.lists(rows(WIRES[kind]), max_size=2)))


def operation_of(model: type[Any], *, bare: bool = False) -> Operation[Any]:
    """Return an operation that answers with a list of the model, or with one without an envelope."""
    return operation(f"test.{model.__name__}", "/", Shape.BARE if bare else Shape.MANY, result=model)


def decode(called: Operation[Any], *rows: Any, registry: DecoderRegistry = REGISTRY, strict: bool = False) -> list[Any]:
    body = json.dumps({"data": {"items": rows}}).encode()
    models: list[Any] = codec.decode(called, body, registry=registry, strict=strict).value
    return models


def read_by_value(wire: type[Wire], row: dict[str, Any]) -> Any:
    """Return the model of a raw row, read value by value in Python: what the structs in C have to agree with."""
    fields = wire_fields(wire)
    values: dict[str, Any] = {}
    extra = {key: raw for key, raw in row.items() if key not in fields}
    for key, field in fields.items():  # Aliases come last, so that the proper key wins.
        if (raw := row.get(key)) is None:
            continue
        value, is_whole = _read_by_value(field, raw)
        if not is_whole or row.get(field.alias_of) is not None:
            extra[key] = raw
        if value is not None:
            values.setdefault(field.target, value)
    children = {field.target for field in fields.values() if field.child is not None}
    nested = {key: value for key, value in values.items() if key in children and not isinstance(value, str)}
    [model] = wire.build_new([wire(**{key: value for key, value in values.items() if key not in nested})])
    for target, value in nested.items():
        object.__setattr__(model, target, value)
    if extra:
        object.__setattr__(model, "extra", Extra({**model.extra, **extra}))
    return model


def _read_by_value(field: WireField, raw: Any) -> tuple[Any, bool]:
    """Return the part of a value that fits, and whether that is all of it."""
    if field.child is None:
        value = read(field, raw)
        return (value.value, False) if isinstance(value, Kept) else (value, True)
    if field.many and isinstance(raw, list):
        models = tuple([read_by_value(field.child, item) for item in raw if isinstance(item, dict)])
        return models, len(models) == len(raw)
    if not field.many and isinstance(raw, dict):
        return read_by_value(field.child, raw), True
    is_word = isinstance(raw, str) and "str" in field.scalars
    return raw if is_word else None, is_word
