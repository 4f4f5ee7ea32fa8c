"""Unknown keys and undocumented forms are adapted to: the second body takes the fast path again."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from brokerage_async import models
from brokerage_async._generated import operations as ops
from brokerage_async._generated.converters import WIRES, OptionExpirationWire, OrderLegWire, OrderWire
from brokerage_async._wire import Wire
from brokerage_async.protocol.decoding import adaptive, codec, fields, issues
from brokerage_async.protocol.decoding.adaptive import MAX_KEY_LENGTH, MAX_KEYS, REGISTRY, DecoderRegistry
from brokerage_async.protocol.decoding.fields import Kept, read, readings, wire_fields
from brokerage_async.protocol.decoding.issues import Issues
from tests.protocol.bodies import decode, read_by_value
from tests.protocol.values import pairs
from tests.tables import for_each

SEARCH = ops.ORDERS_SEARCH
orders_of = partial(decode, SEARCH)


def learned_keys(wire: type[Wire], registry: DecoderRegistry = REGISTRY) -> set[str]:
    """Return the keys beyond the schema that are decoded in C."""
    fields = msgspec.structs.fields(registry.plan(wire).variant)
    return {field.encode_name for field in fields} - {*wire.__struct_encode_fields__}


def test_unknown_key_takes_the_slow_path_once(slow_paths: list[str]) -> None:
    row = {"id": "1", "new": {"a": 1.5}, "legs": [{"symbol": "A", "newer": None}]}
    first, second, third = orders_of(row), orders_of(row, {}), orders_of({"id": "2"})
    assert len(slow_paths) == 1
    assert first == [second[0]]
    assert second[0].extra == {"new": {"a": 1.5}}
    assert second[0].legs[0].extra == {"newer": None}
    assert second[1] == models.Order()
    assert not third[0].extra
    assert learned_keys(OrderWire) == {"new"}
    assert learned_keys(OrderLegWire) == {"newer"}


FORMS = {
    "received-at": ["2026-01-02T03:04:05", "yesterday", 5.5], "cancellable": ["true", 1],
    "price": ["N/A", 1.25, {"amount": "1"}], "underlying-symbol": [{"symbol": "A"}, 7], "status": [4],
    "gtc-date": ["tomorrow"], "ext-global-order-number": ["45"], "order-rule": ["none", 1.5],
    "legs": [{"symbol": "A"}, [{"symbol": "A"}, None], [{"symbol": {"a": 1}, "fills": [{"fill-price": "?"}]}]],
}  # fmt: skip


@for_each("key, raw", pairs(FORMS))
def test_undocumented_form_takes_the_slow_path_once(key: str, raw: Any, slow_paths: list[str]) -> None:
    slow_paths.clear()
    registry = DecoderRegistry()
    rows = [{"id": str(number), key: raw, "size": "5"} for number in range(20)]
    decoded = [orders_of(*rows, registry=registry) for _ in range(4)]
    assert len(slow_paths) == 1
    assert decoded[0] == decoded[3]


@for_each(
    "operation, key, slow, forms",
    [
        (SEARCH, "account-number", 1, [5, {"a": 1}]),
        (SEARCH, "order-rule", 1, ["none", "none", 1.5, "none", 1.5, {"route-after": "2026-01-01T00:00:00Z"}]),
        (ops.INSTRUMENTS_FUTURE_PRODUCTS, "listed-months", 1, [["F", ["?"]], ["F", "G"]]),
        # a new key of the nested model is learned beside another form of its field
        (SEARCH, "legs", 2, [{"symbol": "A"}, *[[{"symbol": "A", "new": 1}]] * 2]),
        (SEARCH, "order-rule", 2, ["none", *[{"new": 1}] * 2]),
    ],
)
def test_second_form_of_a_widened_field_is_not_slow(
    operation: Any, key: str, slow: int, forms: list[Any], slow_paths: list[str]
) -> None:
    slow_paths.clear()
    registry = DecoderRegistry()
    [found] = [decode(operation, {key: raw}, registry=registry) for raw in forms][-1]
    assert found == read_by_value(WIRES[operation.result], {key: forms[-1]})
    assert len(slow_paths) == slow


def test_structs_that_contain_an_adapted_one_are_adapted_with_it(slow_paths: list[str]) -> None:
    """Order legs occur in orders, those in complex orders, and those in dry-runs."""
    orders_of({"legs": [{"new": 1}]})
    answer = {"data": {"complex-order": {"orders": [{"legs": [{"new": 2}]}]}, "order": {"legs": [{"new": 3}]}}}
    placed = codec.decode(ops.ORDERS_DRY_RUN, json.dumps(answer).encode()).value
    assert models.converter.unstructure(placed) == answer["data"]
    assert slow_paths == ["orders.search"]


SHORT, LONG = "k" * MAX_KEY_LENGTH, "k" * (MAX_KEY_LENGTH + 1)
ATTRIBUTES = {"order_type": 1, "build": 2, "extra": 3, "legs__alias": 4, "": 5, "__class__": 6}
LEG = {"symbol": "A", LONG: [2], "fills": [{"": 3, LONG: None}]}


@for_each(
    "rows, learned",
    [
        ([{LONG: 1, SHORT: 2}], {SHORT}),
        ([{f"key-{number}": number} for number in range(200)], {f"key-{number}" for number in range(MAX_KEYS)}),
        # like attributes, or that cannot name a field
        ([ATTRIBUTES], {*ATTRIBUTES}),
        ([{'a"b': 1, "a\\b": 2, "a\nb": 3, "new": 4}], {"new"}),
        # at every depth
        ([{"id": "1", "x" + LONG: {LONG: 5}, LONG: 1, "legs": [LEG, "B"], "new": 4}], {"new"}),
    ],
)
def test_keys_are_learned_within_bounds_and_the_others_kept(rows: list[dict[str, Any]], learned: set[str]) -> None:
    """Learning is bounded in bytes as well: 64 keys of 128 characters for each type."""
    REGISTRY.reset()
    for _ in range(2):
        orders = orders_of(*rows)
        assert orders == [read_by_value(OrderWire, row) for row in rows]
        assert [models.converter.unstructure(order) for order in orders] == rows
        assert learned_keys(OrderWire) == learned


def test_shared_model_never_takes_the_extra_of_one_row(slow_paths: list[str]) -> None:
    tick = {"value": "0.01", "threshold": "1.0"}
    rows = [{"tick-sizes": [tick]}, {"tick-sizes": [{**tick, "new": 1}]}, {"tick-sizes": [{**tick, "value": []}]}]
    for items in (rows[:1], rows[:2], rows, rows):
        equities = decode(ops.INSTRUMENTS_EQUITIES, *items)
        assert [models.converter.unstructure(equity) for equity in equities] == items
    slow_paths.clear()
    again = decode(ops.INSTRUMENTS_EQUITIES, *rows)
    assert not slow_paths
    assert again == equities


def is_as_generated(registry: DecoderRegistry, wire: type[Wire]) -> bool:
    """Return whether a plan has exactly the generated fields, and none of them widened."""
    plan = registry.plan(wire)
    keys = [[field.encode_name for field in msgspec.structs.fields(each)] for each in (plan.variant, wire)]
    return keys[0] == keys[1] and plan.variant is wire


def test_registries_share_nothing_and_reset_returns_to_the_schema() -> None:
    one, other = DecoderRegistry(), DecoderRegistry()
    orders_of({"new": 1, "price": "?", "legs": [{"new": 1}]}, registry=one)
    assert learned_keys(OrderWire, one) == learned_keys(OrderLegWire, one) == {"new"}
    assert [path for _, path in one.warned] == ["$.data.items[].price"]
    assert not is_as_generated(one, OrderWire)
    one.reset()
    for registry in (other, REGISTRY, one):
        assert is_as_generated(registry, OrderWire)
        assert is_as_generated(registry, OrderLegWire)
        assert not registry.warned


def test_warnings_beyond_the_bound_are_repeated_and_not_remembered(monkeypatch: Any, caplog: Any) -> None:
    monkeypatch.setattr(issues, "MAX_WARNED", 2)
    reports = Issues("test", registry=DecoderRegistry())
    for number in (1, 1, 2, 3, 3):
        reports.report(f"$.{number}", "odd", "kept")
    assert caplog.messages == [f"test: $.{n}: odd; kept" for n in (1, 2, 3, 3)]
    assert sorted(path for _, path in reports.registry.warned) == ["$.1", "$.2"]


def strikes_of(registry: DecoderRegistry, *strikes: dict[str, Any]) -> Any:
    [chain] = decode(ops.OPTION_CHAINS_NESTED, {"expirations": [{"strikes": strikes}]}, registry=registry)
    return chain.expirations[0].strikes


def test_nested_misfit_or_unknown_key_costs_itself_and_is_read_later_on(slow_paths: list[str]) -> None:
    one, other = DecoderRegistry(), DecoderRegistry()
    for _ in range(2):
        first, second = strikes_of(one, {"strike-price": "45.0", "call": "C"}, {"strike-price": "cheap", "put": "P"})
        assert (first.strike_price, first.call, first.extra) == (Decimal("45.0"), "C", {})
        assert (second.strike_price, second.put, second.extra) == (None, "P", {"strike-price": "cheap"})
        found = strikes_of(other, {"strike-price": "45.0", "new": {"a": 1}}, {"strike-price": "50.0"}, {"new": None})
        assert [strike.extra for strike in found] == [{"new": {"a": 1}}, {}, {"new": None}]
    assert len(slow_paths) == 2
    assert one.plan(OptionExpirationWire).nested  # Its structs are looked at before they are built.


def test_adapt_discards_the_plan_if_anything_is_new() -> None:
    registry = DecoderRegistry()
    rows: list[dict[str, Any]] = [{"id": "1", "new": 1}, {"price": "?"}, {"newer": 1}]
    for some, odd, discarded in (
        (rows[:1], rows[1], True), (rows[:2], rows[0], False), ([], rows[1], False), (rows[:2], rows[1], True),
        (rows[:2], rows[1], False), (rows, rows[0], True), (rows, rows[1], False),
    ):  # fmt: skip
        plan = registry.plan(OrderWire)
        registry.adapt(OrderWire, some, odd)
        assert (registry.plan(OrderWire) is not plan) is discarded


def test_adaptation_that_another_thread_was_first_with_is_used() -> None:
    class Raced(DecoderRegistry):
        def adapt(self, *where: Any) -> None:
            for _ in range(2):  # The second time nothing is new.
                super().adapt(*where)

    warrant = codec.decode(ops.INSTRUMENTS_WARRANT, b'{"data": {"new": 1, "active": "?"}}', registry=Raced()).value
    assert warrant.extra == {"new": 1, "active": "?"}


def test_one_thread_at_a_time_introduces_a_type_to_msgspec(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread that uses it half-built crashes the process."""
    lock, free = adaptive._LOCK, list[bool]()

    def introduce(call: Any, *args: Any, **options: Any) -> Any:
        with ThreadPoolExecutor() as others:
            free.append(others.submit(lambda: lock.acquire(blocking=False) and lock.release() is None).result())
        return call(*args, **options)

    watched = {name: partial(introduce, getattr(msgspec, name)) for name in ("convert", "defstruct")}
    watched["json"] = SimpleNamespace(Decoder=partial(introduce, msgspec.json.Decoder))
    monkeypatch.setattr(adaptive, "msgspec", SimpleNamespace(**{**vars(msgspec), **watched}))
    [order] = codec.decode(ops.ORDERS_SEARCH, b'{"data": {"items": [{"new": 1}]}}', registry=DecoderRegistry()).value
    assert (order.extra, {*free}) == ({"new": 1}, {False})


ORDER = wire_fields(OrderWire)


def test_read_widened_date_times_and_numbers_keep_their_text() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert [read(ORDER["received-at"], f"2026-01-02T03:04:05{end}") for end in ("", "Z", "+00:00")] == [moment] * 3
    numbers = ["1.1", "1.10", "1.100"]
    assert [read(ORDER["price"], Decimal(digits)) for digits in numbers] == numbers
    account = ORDER["account-number"]
    assert [read(account, 1), read(account, True).extra] == ["1", {"account-number": True}]


def test_values_that_are_remembered_are_bounded_in_number_and_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_READINGS", 2)
    readings.cache_clear()
    remembered: Any = readings(ORDER["price"])
    for raw in ("x" * 1000, 1 << 1000, Decimal("1." + "0" * 1000), ["x"], {"x": "y"}):
        for _ in range(2):
            value = read(ORDER["price"], raw)
            assert not isinstance(value, Kept) or value.extra == {"price": raw}
    assert not remembered.cache_info().currsize
    for number in range(5):
        assert read(ORDER["price"], f"odd {number}") is read(ORDER["price"], f"odd {number}")
        assert remembered.cache_info().currsize <= 2
    readings.cache_clear()
