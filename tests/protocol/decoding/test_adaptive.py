"""Unknown keys and undocumented types are adapted to: the second body takes the fast path again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from brokerage_async import models
from brokerage_async._generated import operations as ops
from brokerage_async._generated.converters import EquityWire, OrderLegWire, OrderWire, TickSizeWire
from brokerage_async.protocol.decoding import adaptive, codec
from brokerage_async.protocol.decoding.adaptive import MAX_KEY_LENGTH, MAX_KEYS, REGISTRY, DecoderRegistry


@pytest.fixture(autouse=True)
def _fresh_registry() -> Iterator[None]:
    REGISTRY.reset()
    yield
    REGISTRY.reset()


def decode(*rows: Any) -> list[models.Order]:
    return codec.decode(ops.ORDERS_SEARCH, json.dumps({"data": {"items": rows}}).encode()).value


@pytest.fixture
def slow_paths(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations whose bodies were parsed as untyped JSON."""
    taken: list[str] = []
    untyped = codec._decode_untyped

    def noting(operation: Any, *arguments: Any) -> Any:
        taken.append(operation.name)
        return untyped(operation, *arguments)

    monkeypatch.setattr(codec, "_decode_untyped", noting)
    return taken


def test_an_unknown_key_takes_the_slow_path_once(slow_paths: list[str]) -> None:
    row = {"id": "1", "new": {"a": 1.5}, "legs": [{"symbol": "A", "newer": None}]}
    first, second, third = decode(row), decode(row, {}), decode({"id": "2"})
    assert len(slow_paths) == 1
    assert first == [second[0]]
    assert second[0].extra == {"new": {"a": 1.5}}
    assert (second[0].legs or ())[0].extra == {"newer": None}
    assert second[1] == models.Order()
    assert not third[0].extra
    assert REGISTRY.learned_keys(OrderWire) == {"new"}
    assert REGISTRY.learned_keys(OrderLegWire) == {"newer"}


def test_another_type_takes_the_slow_path_once(slow_paths: list[str]) -> None:
    row = {"account-number": 5, "price": 1.10, "legs": [{"symbol": 7}]}
    orders = [
        *decode(row),
        *decode(row, row),
        *decode({"account-number": "5", "price": "1.1", "legs": [{"symbol": "7"}]}),
    ]
    assert len(slow_paths) == 1
    assert len(set(orders)) == 1
    assert (orders[0].account_number, str(orders[1].price)) == ("5", "1.1")


def test_a_widened_field_keeps_values_that_do_not_fit(slow_paths: list[str]) -> None:
    decode({"account-number": 5})
    [order] = decode({"account-number": {"a": 1}})
    assert order == models.Order(extra={"account-number": {"a": 1}})
    assert len(slow_paths) == 1


def test_structs_that_contain_an_adapted_one_are_adapted_with_it(slow_paths: list[str]) -> None:
    """Order legs occur in orders, those in complex orders, and those in dry-runs."""
    decode({"legs": [{"new": 1}]})
    answer = {"data": {"complex-order": {"orders": [{"legs": [{"new": 2}]}]}, "order": {"legs": [{"new": 3}]}}}
    placed = codec.decode(ops.ORDERS_DRY_RUN, json.dumps(answer).encode()).value
    assert models.converter.unstructure(placed) == answer["data"]
    assert slow_paths == ["orders.search"]


def test_learned_keys_stand_where_they_were_seen() -> None:
    decode({"id": "1", "after-id": 1, "account-number": "5", "at-the-end": 2})
    fields = [field.encode_name for field in msgspec.structs.fields(REGISTRY.plan(OrderWire).variant)]
    assert fields[:3] == ["id", "after-id", "account-number"]
    assert fields.index("at-the-end") == fields.index("account-number") + 1


def test_learned_keys_are_bounded_in_number() -> None:
    rows = [{f"key-{number}": number} for number in range(200)]
    orders = decode(*rows)
    assert [order.extra for order in orders] == rows
    assert len(REGISTRY.learned_keys(OrderWire)) == MAX_KEYS
    assert [order.extra for order in decode(*rows)] == rows


def test_a_long_key_is_kept_but_not_learned() -> None:
    """What is learned is bounded in bytes as well: 64 keys of 128 characters for each type."""
    long, short = "k" * (MAX_KEY_LENGTH + 1), "k" * MAX_KEY_LENGTH
    for _ in range(2):
        [order] = decode({long: 1, short: 2})
        assert order.extra == {long: 1, short: 2}
    assert REGISTRY.learned_keys(OrderWire) == {short}


def test_raw_values_that_are_kept_and_learned_keys_go_together() -> None:
    chain = {"data": {"items": [{"maturity-date": "2026-09-18 x", "new": 1}]}}
    for _ in range(2):
        [option] = codec.decode(ops.INSTRUMENTS_FUTURES_OPTION_CHAIN, json.dumps(chain).encode()).value
        assert option.extra == {"maturity-date": "2026-09-18 x", "new": 1}


def test_a_key_that_is_both_unknown_and_like_an_attribute() -> None:
    for _ in range(2):
        [order] = decode({"order_type": 1, "build": 2, "extra": 3, "legs__alias": 4, "": 5, "__class__": 6})
        assert order.extra == {"order_type": 1, "build": 2, "extra": 3, "legs__alias": 4, "": 5, "__class__": 6}


def test_keys_that_cannot_name_a_field_are_kept() -> None:
    row = {'a"b': 1, "a\\b": 2, "a\nb": 3, "new": 4}
    for _ in range(2):
        [order] = decode(row)
        assert order.extra == row
    assert REGISTRY.learned_keys(OrderWire) == {"new"}


def test_a_shared_model_never_takes_the_extra_of_one_row(slow_paths: list[str]) -> None:
    tick = {"value": "0.01", "threshold": "1.0"}
    rows = [{"tick-sizes": [tick]}, {"tick-sizes": [{**tick, "new": 1}]}, {"tick-sizes": [{**tick, "value": []}]}]
    for items in (rows[:1], rows[:2], rows, rows):
        answer = {"data": {"items": items}}
        equities = codec.decode(ops.INSTRUMENTS_EQUITIES, json.dumps(answer).encode()).value
        assert [models.converter.unstructure(equity) for equity in equities] == items
    assert equities[0].tick_sizes is not None
    again = codec.decode(ops.INSTRUMENTS_EQUITIES, json.dumps({"data": {"items": rows[:1]}}).encode()).value
    assert again[0].tick_sizes[0] is equities[0].tick_sizes[0]


def test_the_order_of_the_keys_is_adopted_once() -> None:
    row = {"symbol": "A", "new": 1, "active": True, "tick-sizes": [{"threshold": "1", "value": "2"}]}
    rows = [{**row, "symbol": f"S{number}", "description": "x" * 100} for number in range(600)]
    equities = codec.decode(ops.INSTRUMENTS_EQUITIES, json.dumps({"data": {"items": rows}}).encode()).value
    assert [models.converter.unstructure(equity) for equity in equities] == rows
    assert REGISTRY.is_reordered(EquityWire)
    keys = [field.encode_name for field in msgspec.structs.fields(REGISTRY.plan(EquityWire).variant)]
    assert keys[:5] == ["symbol", "new", "active", "tick-sizes", "description"]
    assert sorted({*keys} - {"new"}) == sorted(field.encode_name for field in msgspec.structs.fields(EquityWire))
    inner = [field.encode_name for field in msgspec.structs.fields(REGISTRY.plan(TickSizeWire).variant)]
    assert inner == ["threshold", "value", "symbol"]


def test_registries_share_nothing() -> None:
    one, other = DecoderRegistry(), DecoderRegistry()
    body = json.dumps({"data": {"items": [{"new": 1, "price": "?"}]}}).encode()
    codec.decode(ops.ORDERS_SEARCH, body, registry=one)
    assert one.learned_keys(OrderWire) == {"new"}
    assert one.warned_paths() == ["$.data.items[].price"]
    for untouched in (other, REGISTRY):
        assert untouched.plan(OrderWire).variant is OrderWire
        assert not untouched.warned_paths()


def test_an_adaptation_that_is_switched_off_changes_nothing(slow_paths: list[str]) -> None:
    registry = DecoderRegistry(learns=False, widens=False, reorders=False)
    body = json.dumps({"data": {"items": [{"new": 1, "price": "?"}]}}).encode()
    for _ in range(2):
        [order] = codec.decode(ops.ORDERS_SEARCH, body, registry=registry).value
        assert order.extra == {"new": 1, "price": "?"}
    assert registry.plan(OrderWire).variant is OrderWire
    assert registry.is_reordered(OrderWire)
    assert len(slow_paths) == 2


def test_warnings_beyond_the_bound_are_repeated_rather_than_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "MAX_WARNED", 2)
    registry = DecoderRegistry()
    first = [registry.is_first_warning("test", f"$.{number}") for number in (1, 1, 2, 3, 3)]
    assert first == [True, False, True, True, True]
    assert registry.warned_paths() == ["$.1", "$.2"]


def test_reset_returns_to_the_schema() -> None:
    decode({"new": 1, "legs": [{"new": 1}]})
    assert REGISTRY.plan(OrderWire).variant is not OrderWire
    REGISTRY.reset()
    assert REGISTRY.plan(OrderWire).variant is OrderWire
    assert REGISTRY.plan(OrderLegWire).variant is OrderLegWire
    assert not REGISTRY.learned_keys(OrderWire)


def test_learn_returns_whether_anything_was_learned() -> None:
    registry = DecoderRegistry()
    assert registry.learn(OrderWire, [{"id": "1", "new": 1}])
    assert not registry.learn(OrderWire, [{"id": "1", "new": 2}])
    assert not registry.learn(OrderWire, [])
    assert not DecoderRegistry(learns=False).learn(OrderWire, [{"new": 1}])
