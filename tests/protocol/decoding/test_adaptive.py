"""Unknown keys and undocumented types are adapted to: the second body takes the fast path again."""

import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async._generated import operations as ops
from brokerage_async._generated.converters import (
    OptionExpirationWire,
    OptionStrikeWire,
    OrderLegWire,
    OrderWire,
)
from brokerage_async._wire import Wire
from brokerage_async.protocol.decoding import adaptive, codec
from brokerage_async.protocol.decoding.adaptive import MAX_KEY_LENGTH, MAX_KEYS, REGISTRY, SPARE, DecoderRegistry
from tests.protocol.bodies import read_by_value
from tests.tables import for_each


def decode(*rows: Any) -> list[models.Order]:
    return codec.decode(ops.ORDERS_SEARCH, json.dumps({"data": {"items": rows}}).encode()).value


def learned_keys(wire: type[Wire], registry: DecoderRegistry = REGISTRY) -> set[str]:
    """Return the keys beyond the schema that are decoded in C."""
    fields = msgspec.structs.fields(registry.plan(wire).variant)
    return {field.encode_name for field in fields} - {*wire.__struct_encode_fields__, SPARE}


def test_an_unknown_key_takes_the_slow_path_once(slow_paths: list[str]) -> None:
    row = {"id": "1", "new": {"a": 1.5}, "legs": [{"symbol": "A", "newer": None}]}
    first, second, third = decode(row), decode(row, {}), decode({"id": "2"})
    assert len(slow_paths) == 1
    assert first == [second[0]]
    assert second[0].extra == {"new": {"a": 1.5}}
    assert (second[0].legs or ())[0].extra == {"newer": None}
    assert second[1] == models.Order()
    assert not third[0].extra
    assert learned_keys(OrderWire) == {"new"}
    assert learned_keys(OrderLegWire) == {"newer"}


def test_another_type_takes_the_slow_path_once(slow_paths: list[str]) -> None:
    row = {"account-number": 5, "price": 1.10, "legs": [{"symbol": 7}]}
    usual = {"account-number": "5", "price": "1.1", "legs": [{"symbol": "7"}]}
    orders = [*decode(row), *decode(row, row), *decode(usual)]
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


def test_learned_keys_are_bounded_in_number_and_length() -> None:
    """Learning is bounded in bytes as well: 64 keys of 128 characters for each type."""
    long, short = "k" * (MAX_KEY_LENGTH + 1), "k" * MAX_KEY_LENGTH
    for _ in range(2):
        [order] = decode({long: 1, short: 2})
        assert order.extra == {long: 1, short: 2}
    assert learned_keys(OrderWire) == {short}
    REGISTRY.reset()
    rows = [{f"key-{number}": number} for number in range(200)]
    for _ in range(2):
        assert [order.extra for order in decode(*rows)] == rows
        assert len(learned_keys(OrderWire)) == MAX_KEYS


def test_raw_values_that_are_kept_and_learned_keys_go_together() -> None:
    chain = {"data": {"items": [{"maturity-date": "2026-09-18 x", "new": 1}]}}
    for _ in range(2):
        [option] = codec.decode(ops.INSTRUMENTS_FUTURES_OPTION_CHAIN, json.dumps(chain).encode()).value
        assert option.extra == {"maturity-date": "2026-09-18 x", "new": 1}


@for_each(
    "row, learned",
    [
        ({"order_type": 1, "build": 2, "extra": 3, "legs__alias": 4, "": 5, "__class__": 6}, None),
        ({'a"b': 1, "a\\b": 2, "a\nb": 3, "new": 4}, {"new"}),
    ],
)
def test_keys_like_attributes_or_that_cannot_name_a_field_are_kept(row: Any, learned: set[str] | None) -> None:
    REGISTRY.reset()
    for _ in range(2):
        [order] = decode(row)
        assert order.extra == row
    assert learned in (None, learned_keys(OrderWire))


def test_a_shared_model_never_takes_the_extra_of_one_row(slow_paths: list[str]) -> None:
    tick = {"value": "0.01", "threshold": "1.0"}
    rows = [{"tick-sizes": [tick]}, {"tick-sizes": [{**tick, "new": 1}]}, {"tick-sizes": [{**tick, "value": []}]}]
    for items in (rows[:1], rows[:2], rows, rows):
        answer = {"data": {"items": items}}
        equities = codec.decode(ops.INSTRUMENTS_EQUITIES, json.dumps(answer).encode()).value
        assert [models.converter.unstructure(equity) for equity in equities] == items
    assert equities[0].tick_sizes is not None
    slow_paths.clear()
    body = json.dumps({"data": {"items": rows}}).encode()
    again = codec.decode(ops.INSTRUMENTS_EQUITIES, body).value
    assert not slow_paths
    assert again == equities


def is_as_generated(registry: DecoderRegistry, wire: type[Wire]) -> bool:
    """Return whether a plan has exactly the generated fields, and none of them widened."""
    plan = registry.plan(wire)
    keys = [[field.encode_name for field in msgspec.structs.fields(each)] for each in (plan.variant, wire)]
    return keys[0] == keys[1] and plan.is_typed


def test_registries_share_nothing_and_reset_returns_to_the_schema() -> None:
    one, other = DecoderRegistry(), DecoderRegistry()
    body = json.dumps({"data": {"items": [{"new": 1, "price": "?", "legs": [{"new": 1}]}]}}).encode()
    codec.decode(ops.ORDERS_SEARCH, body, registry=one)
    assert learned_keys(OrderWire, one) == learned_keys(OrderLegWire, one) == {"new"}
    assert [path for _, path in one._warned] == ["$.data.items[].price"]
    assert not is_as_generated(one, OrderWire)
    one.reset()
    for registry in (other, REGISTRY, one):
        assert is_as_generated(registry, OrderWire)
        assert is_as_generated(registry, OrderLegWire)
        assert not registry._warned


def test_keys_that_are_not_learned_are_kept_at_every_depth() -> None:
    long = "k" * (MAX_KEY_LENGTH + 1)
    leg = {"symbol": "A", long: [2], "fills": [{SPARE: 3, long: None}]}
    row = {"id": "1", SPARE: {long: 5}, long: 1, "legs": [leg, "B"], "new": 4}
    for _ in range(2):
        [order] = decode(row)
        assert order == read_by_value(OrderWire, row)
        assert models.converter.unstructure(order) == row
    assert learned_keys(OrderWire) == {"new"}


def test_warnings_beyond_the_bound_are_repeated_rather_than_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "MAX_WARNED", 2)
    registry = DecoderRegistry()
    first = [registry.is_first_warning("test", f"$.{number}") for number in (1, 1, 2, 3, 3)]
    assert first == [True, False, True, True, True]
    assert sorted(path for _, path in registry._warned) == ["$.1", "$.2"]


def strikes_of(registry: DecoderRegistry, body: bytes) -> Any:
    [chain] = codec.decode(ops.OPTION_CHAINS_NESTED, body, registry=registry).value
    [expiration] = chain.expirations
    return expiration.strikes


def chain_body(*strikes: dict[str, Any]) -> bytes:
    return json.dumps({"data": {"items": [{"expirations": [{"strikes": strikes}]}]}}).encode()


def test_a_nested_value_that_does_not_fit_costs_itself_and_is_read_later_on(slow_paths: list[str]) -> None:
    registry = DecoderRegistry()
    body = chain_body({"strike-price": "45.0", "call": "C"}, {"strike-price": "cheap", "put": "P"})
    for _ in range(2):
        first, second = strikes_of(registry, body)
        assert (first.strike_price, first.call, first.extra) == (Decimal("45.0"), "C", {})
        assert (second.strike_price, second.put, second.extra) == (None, "P", {"strike-price": "cheap"})
    assert len(slow_paths) == 1
    assert not registry.plan(OptionExpirationWire).is_typed  # Its structs are looked at before they are built.


def test_an_unknown_nested_key_is_learned_beside_those_without_it(slow_paths: list[str]) -> None:
    registry = DecoderRegistry()
    body = chain_body({"strike-price": "45.0", "new": {"a": 1}}, {"strike-price": "50.0"}, {"new": None})
    for _ in range(2):
        assert [strike.extra for strike in strikes_of(registry, body)] == [{"new": {"a": 1}}, {}, {"new": None}]
    assert len(slow_paths) == 1


NESTED_ROW: dict[str, Any] = {
    "strike-price": st.sampled_from(["45.0", "0", "1E+2", "", "NaN", 45, 4.5, None, True]),
    "call": st.sampled_from(["C", "", None, 5, []]),
    "new": st.sampled_from([None, 1, {"a": []}]),
}


@given(st.lists(st.fixed_dictionaries({}, optional=NESTED_ROW), max_size=4), st.booleans())
def test_nested_rows_are_the_same_however_they_are_decoded(strikes: list[dict[str, Any]], learned: bool) -> None:
    """The rows as they are read value by value."""
    registry = DecoderRegistry()
    if learned:
        strikes_of(registry, chain_body(*strikes, {"new": 1, "call": 5}))
    body = chain_body(*strikes)
    by_rows = tuple(read_by_value(OptionStrikeWire, row) for row in strikes)
    assert strikes_of(registry, body) == strikes_of(registry, body) == by_rows


def test_nested_rows_with_new_keys_are_kept_in_a_field_that_was_seen_in_another_form() -> None:
    row = {"legs": [{"symbol": "A", "new": 1}]}
    expected = models.Order(legs=(models.OrderLeg(symbol="A", extra={"new": 1}),))
    decode({"legs": {"symbol": "A"}})
    assert [decode(row), decode(row)] == [[expected], [expected]]


def test_adapt_returns_whether_anything_changed() -> None:
    registry = DecoderRegistry()
    rows: list[dict[str, Any]] = [{"id": "1", "new": 1}, {"price": "?"}]
    for widen, some, grown in (
        (False, rows[:1], True), (False, rows, False), (False, [], False),
        (True, rows[:1], False), (True, rows[1:], True), (True, rows, False),
    ):  # fmt: skip
        assert registry.adapt(OrderWire, some, widen=widen) is grown
