"""Unknown keys and other JSON types are learned: the second body takes the fast road again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from brokerage_async import models
from brokerage_async._generated import operations as ops
from brokerage_async._generated.converters import EquityWire, OrderLegWire, OrderWire, TickSizeWire
from brokerage_async.protocol.decoding import adaptive as learning
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding import lenient as tolerance


@pytest.fixture(autouse=True)
def _nothing_learned() -> Iterator[None]:
    learning.forget()
    tolerance._told.clear()
    yield
    learning.forget()


def decode(*rows: Any) -> list[models.Order]:
    return codec.decode(ops.ORDERS_SEARCH, json.dumps({"data": {"items": rows}}).encode()).value


@pytest.fixture
def slow_roads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The bodies that had to be looked at untyped."""
    taken: list[str] = []
    untyped = codec._decode_untyped

    def noting(operation: Any, *arguments: Any) -> Any:
        taken.append(operation.name)
        return untyped(operation, *arguments)

    monkeypatch.setattr(codec, "_decode_untyped", noting)
    return taken


def test_an_unknown_key_takes_the_slow_road_once(slow_roads: list[str]) -> None:
    row = {"id": "1", "new": {"a": 1.5}, "legs": [{"symbol": "A", "newer": None}]}
    first, second, third = decode(row), decode(row, {}), decode({"id": "2"})
    assert len(slow_roads) == 1
    assert first == [second[0]]
    assert second[0].extra == {"new": {"a": 1.5}}
    assert (second[0].legs or ())[0].extra == {"newer": None}
    assert second[1] == models.Order()
    assert not third[0].extra
    assert learning.learned_keys(models.Order) == {"new"}
    assert learning.learned_keys(models.OrderLeg) == {"newer"}


def test_another_type_takes_the_slow_road_once(slow_roads: list[str]) -> None:
    row = {"account-number": 5, "price": 1.10, "legs": [{"symbol": 7}]}
    orders = [
        *decode(row),
        *decode(row, row),
        *decode({"account-number": "5", "price": "1.1", "legs": [{"symbol": "7"}]}),
    ]
    assert len(slow_roads) == 1
    assert len(set(orders)) == 1
    assert (orders[0].account_number, str(orders[1].price)) == ("5", "1.1")


def test_a_learned_type_still_refuses_what_is_not_the_same(slow_roads: list[str]) -> None:
    decode({"account-number": 5})
    [order] = decode({"account-number": {"a": 1}})
    assert order == models.Order(extra={"account-number": {"a": 1}})
    assert len(slow_roads) == 2


def test_what_nests_a_learned_type_learns_with_it(slow_roads: list[str]) -> None:
    """Order legs occur in orders, those in complex orders, and those in dry-runs."""
    decode({"legs": [{"new": 1}]})
    answer = {"data": {"complex-order": {"orders": [{"legs": [{"new": 2}]}]}, "order": {"legs": [{"new": 3}]}}}
    placed = codec.decode(ops.ORDERS_DRY_RUN, json.dumps(answer).encode()).value
    assert models.converter.unstructure(placed) == answer["data"]
    assert slow_roads == ["orders.search"]


def test_learned_keys_stand_where_they_were_seen() -> None:
    decode({"id": "1", "after-id": 1, "account-number": "5", "at-the-end": 2})
    fields = [field.encode_name for field in msgspec.structs.fields(learning.current(OrderWire))]
    assert fields[:3] == ["id", "after-id", "account-number"]
    assert fields.index("at-the-end") == fields.index("account-number") + 1


def test_keys_that_are_data_are_not_learned_without_end() -> None:
    rows = [{f"key-{number}": number} for number in range(200)]
    orders = decode(*rows)
    assert [order.extra for order in orders] == rows
    assert len(learning.learned_keys(models.Order)) == learning.MOST_KEYS
    assert [order.extra for order in decode(*rows)] == rows


def test_raw_values_that_are_kept_and_learned_keys_go_together() -> None:
    chain = {"data": {"items": [{"maturity-date": "2026-09-18 x", "new": 1}]}}
    for _ in range(2):
        [option] = codec.decode(ops.INSTRUMENTS_FUTURES_OPTION_CHAIN, json.dumps(chain).encode()).value
        assert option.extra == {"maturity-date": "2026-09-18 x", "new": 1}


def test_a_key_that_is_both_unknown_and_like_an_attribute() -> None:
    for _ in range(2):
        [order] = decode({"order_type": 1, "build": 2, "extra": 3, "legs__alias": 4, "": 5, "__class__": 6})
        assert order.extra == {"order_type": 1, "build": 2, "extra": 3, "legs__alias": 4, "": 5, "__class__": 6}


def test_keys_that_cannot_name_a_field_are_kept_all_the_same() -> None:
    row = {'a"b': 1, "a\\b": 2, "a\nb": 3, "new": 4}
    for _ in range(2):
        [order] = decode(row)
        assert order.extra == row
    assert learning.learned_keys(models.Order) == {"new"}


def test_what_is_shared_between_rows_never_takes_the_extra_of_one(slow_roads: list[str]) -> None:
    tick = {"value": "0.01", "threshold": "1.0"}
    rows = [{"tick-sizes": [tick]}, {"tick-sizes": [{**tick, "new": 1}]}, {"tick-sizes": [{**tick, "value": []}]}]
    for items in (rows[:1], rows[:2], rows, rows):
        answer = {"data": {"items": items}}
        equities = codec.decode(ops.INSTRUMENTS_EQUITIES, json.dumps(answer).encode()).value
        assert [models.converter.unstructure(equity) for equity in equities] == items
    assert equities[0].tick_sizes is not None
    again = codec.decode(ops.INSTRUMENTS_EQUITIES, json.dumps({"data": {"items": rows[:1]}}).encode()).value
    assert again[0].tick_sizes[0] is equities[0].tick_sizes[0]


def test_the_order_of_the_keys_is_taken_over_once() -> None:
    row = {"symbol": "A", "new": 1, "active": True, "tick-sizes": [{"threshold": "1", "value": "2"}]}
    rows = [{**row, "symbol": f"S{number}", "description": "x" * 100} for number in range(600)]
    equities = codec.decode(ops.INSTRUMENTS_EQUITIES, json.dumps({"data": {"items": rows}}).encode()).value
    assert [models.converter.unstructure(equity) for equity in equities] == rows
    assert learning.is_arranged(models.Equity)
    keys = [field.encode_name for field in msgspec.structs.fields(learning.current(EquityWire))]
    assert keys[:5] == ["symbol", "new", "active", "tick-sizes", "description"]
    assert sorted({*keys} - {"new"}) == sorted(field.encode_name for field in msgspec.structs.fields(EquityWire))
    inner = [field.encode_name for field in msgspec.structs.fields(learning.current(TickSizeWire))]
    assert inner == ["threshold", "value"]


def test_forgetting_goes_back_to_the_schema() -> None:
    decode({"new": 1, "legs": [{"new": 1}]})
    assert learning.current(OrderWire) is not OrderWire
    learning.forget()
    assert learning.current(OrderWire) is OrderWire
    assert learning.current(OrderLegWire) is OrderLegWire
    assert not learning.learned_keys(models.Order)
