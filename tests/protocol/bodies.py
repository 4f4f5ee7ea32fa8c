"""Bodies built from the schema, with the values that a service might send in place of the documented ones."""

from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from brokerage_async._generated.converters import WIRES, Wire
from brokerage_async.operation import Effect, Operation, Shape
from brokerage_async.protocol.decoding.fields import WireField, wire_fields

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
        if field.array:
            fitting = st.lists(fitting, max_size=3)
    return st.one_of(fitting, fitting, fitting, st.none(), ODDITIES)


@cache
def rows(wire: type[Wire], depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Some keys of the struct with some value each, and now and then keys that it does not know."""
    known = [st.tuples(st.just(key), values_for(field, depth)) for key, field in wire_fields(wire).items()]
    unknown = st.tuples(st.sampled_from(["new-key", "newer", "id_", ""]), anything)
    return st.lists(st.one_of(*known, unknown), max_size=6).map(dict)


MODELS = sorted(WIRES, key=lambda model: model.__name__)
cases = st.sampled_from(MODELS).flatmap(
    lambda model: st.tuples(st.just(model), st.lists(rows(WIRES[model]), max_size=2))
)


def operation_of(model: type[Any], *, bare: bool = False) -> Operation[Any]:
    """Return an operation that answers with a list of the model, or with one without an envelope."""
    shape = Shape.BARE if bare else Shape.MANY
    return Operation(
        name=f"test.{model.__name__}", method="GET", path="/", effect=Effect.READ, shape=shape, result=model
    )
