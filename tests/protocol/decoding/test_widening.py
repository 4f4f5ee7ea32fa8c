"""A field in an undocumented form slows down only that field, and gives the same values as reading one by one."""

import json
import logging
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brokerage_async import errors, models
from brokerage_async._generated import operations as ops
from brokerage_async._generated.converters import WIRES, OrderWire
from brokerage_async.operation import Operation
from brokerage_async.protocol.decoding import codec, fields
from brokerage_async.protocol.decoding.adaptive import DecoderRegistry
from brokerage_async.protocol.decoding.fields import Kept, WireField, read, readings, wire_fields
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.decoding.lenient import parse, structure_one, structure_rows
from tests.protocol.bodies import ENCODER, ODDITIES, cases, operation_of, read_by_value
from tests.tables import for_each

Case = tuple[type[Any], list[dict[str, Any]]]
Outcome = tuple[Any, list[str], str | None]


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("brokerage_async.decode"), "propagate", False)


def outcome(operation: Operation[Any], body: bytes, registry: DecoderRegistry) -> Outcome:
    """Return the models, the warnings, and the error of strict mode."""
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("brokerage_async.decode")
    logger.addHandler(handler)
    registry._warned.clear()
    try:
        value = codec.decode(operation, body, registry=registry).value
    finally:
        logger.removeHandler(handler)
    return value, sorted(records), strict_error(operation, body, registry)


def strict_error(operation: Operation[Any], body: bytes, registry: DecoderRegistry) -> str | None:
    try:
        codec.decode(operation, body, strict=True, registry=registry)
    except errors.ResponseDecodeError as error:
        return f"{error.json_path}: {error}"
    return None


def has_alias_pairs(wire: Any, row: Any) -> bool:
    """Return whether a key and its alias occur together, where the raw form in ``extra`` depends on other fields."""
    if not isinstance(row, dict):
        return False
    fields = wire_fields(wire)
    if any(field.alias_of in row and key in row for key, field in fields.items()):
        return True
    below = [(field.child, row.get(key)) for key, field in fields.items() if field.child is not None]
    return any(
        has_alias_pairs(child, each) for child, raw in below for each in (raw if isinstance(raw, list) else [raw])
    )


@example(case=(models.HolidayCalendar, [{"market-holidays": [""]}, {"market-holidays": 0}]), others=[])
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
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


@settings(max_examples=2000)
@given(kind=st.sampled_from(KINDS), raw=ODDITIES)
def test_values_read_alone_are_those_of_their_row(kind: tuple[Any, WireField], raw: Any) -> None:
    wire, field = kind
    raw = parse(ENCODER.encode(raw))
    if raw is None:
        return
    value = read(field, raw)
    expected = codec.decode(_one(wire), ENCODER.encode({field.key: raw}), registry=DecoderRegistry()).value
    if isinstance(value, Kept):
        assert expected.extra == value.extra == {field.key: raw}
        value = value.value
    assert getattr(wire(**{field.attribute: value}).build(), field.target) == getattr(expected, field.target)


def _one(wire: Any) -> Operation[Any]:
    [model] = [model for model, each in WIRES.items() if each is wire]
    return operation_of(model, bare=True)


FORMS: list[tuple[str, Any]] = [
    ("received-at", "2026-01-02T03:04:05"),
    ("received-at", "yesterday"),
    ("received-at", 5.5),
    ("cancellable", "true"),
    ("cancellable", 1),
    ("price", "N/A"),
    ("price", 1.25),
    ("price", {"amount": "1"}),
    ("underlying-symbol", {"symbol": "A"}),
    ("underlying-symbol", 7),
    ("status", 4),
    ("gtc-date", "tomorrow"),
    ("ext-global-order-number", "45"),
    ("order-rule", "none"),
    ("order-rule", 1.5),
    ("legs", {"symbol": "A"}),
    ("legs", [{"symbol": "A"}, None]),
    ("legs", [{"symbol": {"a": 1}, "fills": [{"fill-price": "?"}]}]),
]


@for_each("key, raw", FORMS)
def test_an_undocumented_form_takes_the_slow_path_once(key: str, raw: Any, slow_paths: list[str]) -> None:
    slow_paths.clear()
    registry = DecoderRegistry()
    rows = [{"id": str(number), key: raw, "size": "5"} for number in range(20)]
    body = json.dumps({"data": {"items": rows}}).encode()
    decoded = [codec.decode(ops.ORDERS_SEARCH, body, registry=registry).value for _ in range(4)]
    assert len(slow_paths) == 1
    assert decoded[0] == decoded[3]


def test_a_second_form_of_a_nested_model_takes_no_slow_path(slow_paths: list[str]) -> None:
    registry = DecoderRegistry()
    for raw in ("none", "none", 1.5, "none", 1.5, {"route-after": "2026-01-01T00:00:00Z"}):
        body = json.dumps({"data": {"items": [{"order-rule": raw}]}}).encode()
        [order] = codec.decode(ops.ORDERS_SEARCH, body, registry=registry).value
    assert len(slow_paths) == 1
    assert order.order_rule is not None
    assert not order.extra


def test_a_key_beside_its_alias_is_kept_raw() -> None:
    registry = DecoderRegistry()
    rule, other = {"cancel-at": "2026-01-01T00:00:00Z"}, {"route-after": "2026-01-02T00:00:00+00:00", "new": None}
    for _ in range(3):
        body = json.dumps({"data": {"items": [{"order-rule": rule, "rules": other, "price": "?"}]}}).encode()
        [order] = codec.decode(ops.ORDERS_SEARCH, body, registry=registry).value
        assert order.extra == {"rules": other, "price": "?"}
        assert models.converter.unstructure(order) == {"order-rule": rule, "rules": other, "price": "?"}


@for_each(
    "odd, row, expected",
    [
        ({"legs": {"symbol": "A"}}, {"legs": [{"symbol": "A", "new": 1}]},
         models.Order(legs=(models.OrderLeg(symbol="A", extra={"new": 1}),))),
        ({"order-rule": "none"}, {"order-rule": {"new": 1}},
         models.Order(order_rule=models.OrderRule(extra={"new": 1}))),
    ],
)  # fmt: skip
def test_new_keys_of_a_nested_model_are_learned_beside_another_form_of_its_field(
    odd: Any, row: Any, expected: models.Order, slow_paths: list[str]
) -> None:
    registry = DecoderRegistry()
    for raw in (odd, row, row):
        slow_paths.clear()
        body = json.dumps({"data": {"items": [raw]}}).encode()
        decoded = codec.decode(ops.ORDERS_SEARCH, body, registry=registry).value
    assert decoded == [expected]
    assert not slow_paths


def test_a_list_that_fits_is_read_whole_after_its_field_was_widened(slow_paths: list[str]) -> None:
    registry, seen = DecoderRegistry(), []
    for months in (["F", ["?"]], ["F", "G"]):
        body = json.dumps({"data": {"items": [{"listed-months": months}]}}).encode()
        [product] = codec.decode(ops.INSTRUMENTS_FUTURE_PRODUCTS, body, registry=registry).value
        seen.append(product)
    assert seen[1] == models.FutureProduct(listed_months=("F", "G"))
    assert len(slow_paths) == 1


def test_read_widened_date_times_and_numbers_keep_their_text() -> None:
    field = wire_fields(OrderWire)["received-at"]
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert [read(field, f"2026-01-02T03:04:05{offset}") for offset in ("", "Z", "+00:00")] == [moment] * 3
    field = wire_fields(OrderWire)["price"]
    assert [read(field, Decimal(digits)) for digits in ("1.1", "1.10", "1.100")] == ["1.1", "1.10", "1.100"]
    account = wire_fields(OrderWire)["account-number"]
    assert [read(account, 1), read(account, True).raw, read(account, Decimal(1)).raw] == ["1", True, Decimal(1)]


def test_values_that_are_remembered_are_bounded_in_number_and_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_READINGS", 2)
    field = wire_fields(OrderWire)["price"]
    remembered: Any = readings(field).__self__  # type: ignore[attr-defined]  # it is a method of a dict
    remembered.clear()
    for raw in ("x" * 1000, 1 << 1000, Decimal("1." + "0" * 1000), ["x"], {"x": "y"}):
        for _ in range(2):
            assert not isinstance(read(field, raw), Kept) or read(field, raw).extra == {"price": raw}
    assert not remembered
    for number in range(5):
        assert read(field, f"odd {number}") is read(field, f"odd {number}")
        assert len(remembered) <= 2
