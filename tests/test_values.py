"""Raw JSON beside a model, and how single values are read and written."""

import copy
import pickle
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import _values as values
from brokerage_async import models
from brokerage_async._generated.converters import WIRES
from brokerage_async._values import EMPTY, Extra
from brokerage_async.protocol.response import Response
from tests.tables import for_each


@for_each(
    "change",
    [
        lambda extra: extra.__setitem__("a", 2),
        lambda extra: extra.__delitem__("a"),
        lambda extra: extra.update(a=2),
        lambda extra: extra.pop("a"),
        lambda extra: extra.popitem(),
        lambda extra: extra.clear(),
        lambda extra: extra.setdefault("b", 1),
        lambda extra: extra.__ior__({"b": 1}),
    ],
)
def test_extra_cannot_be_changed(change: Any) -> None:
    extra = Extra(a=1)
    with pytest.raises(TypeError, match="immutable"):
        change(extra)
    assert extra == {"a": 1}


def test_extra_is_a_mapping_that_travels() -> None:
    extra = Extra({"a": [1, {"b": Decimal("1.10")}]})
    assert isinstance(extra, Mapping)
    assert pickle.loads(pickle.dumps(extra)) == extra == copy.deepcopy(extra)
    assert type(copy.deepcopy(extra)) is Extra
    assert copy.deepcopy(extra)["a"] is not extra["a"]
    assert copy.copy(extra) is extra
    assert extra.copy() is extra
    assert (extra | {"c": 2}) == {**extra, "c": 2}
    assert hash(extra) == hash(EMPTY)
    assert repr(Extra(a=1)) == "{'a': 1}"
    assert pickle.loads(pickle.dumps(EMPTY)) is EMPTY
    assert copy.deepcopy(EMPTY) is EMPTY
    assert values.raw_object({}) is EMPTY
    assert values.raw_object(EMPTY) is EMPTY


@for_each("swap", [True, False])
def test_maker_makes_the_same_frozen_value_as_the_constructor(swap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "CLASS_SWAP", swap)
    made = values.maker(Response)(status=200, headers={"date": "now"}, body=b"body")
    assert made == Response(status=200, headers={"date": "now"}, body=b"body")
    assert type(made) is Response
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.status = 500  # type: ignore[misc]  # that is the point


@given(st.integers(min_value=-(2**53), max_value=2**53))
def test_epoch_milliseconds(milliseconds: int) -> None:
    try:
        moment = values.read_epoch(milliseconds)
    except ValueError:
        assert not -62135596800000 <= milliseconds < 253402300800000
    else:
        assert moment - datetime(1970, 1, 1, tzinfo=UTC) == timedelta(milliseconds=milliseconds)


class Target:
    extra: Any = values.EMPTY


def test_minus_one_zero_and_nan_are_missing_values() -> None:
    halted = {"halt-start-time": -1, "halt-end-time": -1}
    wire = WIRES[models.MarketDataSnapshot]
    first, second = (msgspec.convert(halted, wire).build() for _ in range(2))
    assert first.extra == halted
    assert first.extra is second.extra
    other = msgspec.convert({"halt-end-time": -1}, wire).build()
    assert other.extra == {"halt-end-time": -1}
    builder = values.mutable_builder(models.MarketDataSnapshot)()
    for number in range(3):
        builder.extra = Extra({"new": number})
        assert values.epoch_or_keep(-1, builder, "halt-start-time") is None
        assert builder.extra == {"new": number, "halt-start-time": -1}
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert values.epoch_or_none(0) is None
    assert values.epoch_or_none(int(moment.timestamp() * 1000)) == moment
    assert values.epoch_or_none(moment) is moment
    assert values.day_of_epoch(0) is None
    assert values.day_of_epoch(20455) == values.day_of_epoch("2026-01-02") == moment.date()
    with pytest.raises(ValueError, match="not a day"):
        values.day_of_epoch(10**12)
    target = Target()
    assert values.none_or_keep(Decimal("NaN"), target, "bidPrice") is None
    assert target.extra == {}
    assert values.none_or_keep(Decimal("-Infinity"), target, "bidPrice") is None
    assert target.extra == {"bidPrice": "-Infinity"}
    assert values.read_moment("2026-01-02T03:04:05") == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert values.read_moment("2026-01-02T03:04:05-04:00").utcoffset() == timedelta(hours=-4)
    assert values.read_integer("-12") == -12


@for_each("text", ["", "-", "1_0", " 1", "1.0", "\u0661"])
def test_integers_as_strings_are_digits(text: str) -> None:
    with pytest.raises(ValueError, match="not an integer"):
        values.read_integer(text)
