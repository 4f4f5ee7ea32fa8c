"""Values of every kind that a caller may pass by mistake, operations made by hand, and what a call is refused for."""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import strategies as st

from brokerage_async.errors import InvalidRequestError
from brokerage_async.operation import Effect, Operation, Parameter, Shape

HUGE = ["x" * 100_000, 2**70, 2**4000, Decimal("1E+99999")]
NO_VALUES = [Decimal("NaN"), Decimal("-0"), float("nan"), "\ud800", b"\xff"]
OBJECTS: list[Any] = [object(), int, {}, frozenset({1}), range(3), iter(())]

ANYTHING: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.text(max_size=5),
    st.text(alphabet="./%\\ ", max_size=4),
    st.text(alphabet=st.characters(categories=["Cs", "Cc"]), min_size=1, max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(dt.UTC)),
    st.lists(st.one_of(st.integers(), st.text(max_size=3), st.none()), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from([*HUGE, *NO_VALUES, *OBJECTS]),
)


def json_values(keys: list[str], max_size: int = 4, words: Sequence[str] = ()) -> st.SearchStrategy[Any]:
    """Draw values of JSON whose objects have some of the keys, and whose strings are often some of the words."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["", *words]),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(keys), inner, max_size=max_size),
        max_leaves=12,
    )


def parameter(wire: str, kind: str = "string", location: Any = "query", **more: Any) -> Parameter:
    name = wire.removesuffix("[]").replace("-", "_")
    return Parameter(name=name, wire=wire, location=location, kind=kind, **more)


def operation(name: str, path: str, shape: Shape = Shape.MANY, method: str = "GET", **more: Any) -> Operation[Any]:
    return Operation(**{"name": name, "method": method, "path": path, "shape": shape, "effect": Effect.READ, **more})


def problems_in(call: Callable[..., Any], *args: Any, **options: Any) -> list[tuple[str | None, str | None]]:
    """Return the code and the place of each problem for which a call is refused."""
    try:
        call(*args, **options)
    except InvalidRequestError as error:
        return [(problem.code, problem.domain) for problem in error.errors]
    return []


def raised(kind: Any, call: Callable[..., Any], *args: Any, match: str | None = None, **options: Any) -> Any:
    """Return the error of a call that has to fail with one of this class."""
    with pytest.raises(kind, match=match) as caught:
        call(*args, **options)
    return caught.value


def pairs(table: dict[Any, Iterable[Any]]) -> list[tuple[Any, Any]]:
    """Return the rows of a table that has several values under each key."""
    return [(key, value) for key, values in table.items() for value in values]
