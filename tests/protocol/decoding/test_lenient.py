"""A value that does not fit is kept, reported once, and costs nothing around it. The fields of wire structs."""

import json
import logging
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import attrs
import pytest

from brokerage_async import errors, models
from brokerage_async._generated import converters
from brokerage_async._generated import operations as ops
from brokerage_async._generated.converters import WIRES, Wire
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import REGISTRY, DecoderRegistry
from brokerage_async.protocol.decoding.fields import wire_fields
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.decoding.lenient import structure_one, structure_rows, structure_steps
from tests.protocol.bodies import decode
from tests.protocol.values import pairs, raised
from tests.tables import for_each

SEARCH = ops.ORDERS_SEARCH
orders_of = partial(decode, SEARCH)


# Invalid values of a field as JSON, of which nothing is left
INVALID = {
    "price": ["cheap", "NaN", {"amount": 1}, True], "symbol-is-unknown": [1], "account-number": [["5"], 1.5],
    "cancellable": ["yes", "true", 1], "gtc-date": ["2026-02-30", 20260101], "received-at": ["yesterday", 5],
    "updated-at": [10**30], "status": [4], "ext-global-order-number": ["4.5", "7.0", 7.5, True],
    "legs": [{"symbol": "A"}], "order-rule": [[]],
}  # fmt: skip
IN_PART = ("legs", [{"symbol": "A"}, "B"], "legs[1]", (models.OrderLeg(symbol="A"),))


@for_each("key, raw, path, value", [*((key, raw, key, None) for key, raw in pairs(INVALID)), IN_PART])
def test_an_invalid_value_is_kept_raw_and_reported(key: str, raw: Any, path: str, value: Any, caplog: Any) -> None:
    REGISTRY.reset()
    caplog.clear()
    good = {"id": "1", "size": "5"}
    before, order, after = orders_of(good, {**good, key: raw}, good)
    assert before == after == models.Order(id="1", size=Decimal(5))
    assert (order.id, order.size, order.extra) == ("1", Decimal(5), {key: raw})
    assert getattr(order, key.replace("-", "_"), None) == value
    assert models.converter.unstructure(order) == {"id": "1", "size": "5", key: raw}
    if key == "symbol-is-unknown":
        assert not caplog.records
        return
    [(name, level, said)] = caplog.record_tuples
    assert (name, level) == ("brokerage_async.decode", logging.WARNING)
    assert said.startswith(f"orders.search: $.data.items[].{path.replace('[1]', '[]')}: expected ")
    assert not raw or str(raw) not in said
    error = raised(errors.ResponseDecodeError, orders_of, good, {**good, key: raw}, good, strict=True)
    assert error.json_path == f"$.data.items[1].{path}"
    assert error.operation == "orders.search"


MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@for_each(
    "key, raw, value",
    [
        ("account-number", 5, "5"),
        *(("price", number, Decimal(str(number))) for number in (5, 1.25)),
        ("size", 0.5, Decimal("0.5")),
        *(("ext-global-order-number", raw, int(raw)) for raw in ("45", "-7", 45.0)),
        *(("received-at", raw, MOMENT) for raw in ("2026-01-02T03:04:05", "2026-01-02 03:04:05Z")),
        ("status", "", models.OrderStatus("")),
    ],
)
def test_another_type_is_converted_without_a_warning(key: str, raw: Any, value: Any, caplog: Any) -> None:
    REGISTRY.reset()
    for _ in range(3):  # unknown, learned, decoded in C
        [order] = orders_of({key: raw}, strict=True)
        assert getattr(order, key.replace("-", "_")) == value
        assert not order.extra
    assert not caplog.records


def test_digits_of_any_number_are_kept() -> None:
    [order] = codec.decode(SEARCH, b'{"data":{"items":[{"price":1.10,"value":100000000000000000000.01}]}}').value
    assert (str(order.price), str(order.value)) == ("1.10", "100000000000000000000.01")
    [order] = codec.decode(SEARCH, b'{"data":{"items":[{"ext-global-order-number":1e9999999}]}}').value
    assert order == models.Order(extra={"ext-global-order-number": Decimal("1e9999999")})


@for_each("number", ["1e99999999999999999999", "-1e-99999999999999999999", "7" * 5_000])
@for_each("key", ["price", "ext-global-order-number", "cancellable", "unknown"])
def test_a_number_that_python_cannot_hold_is_kept_as_a_string(key: str, number: str) -> None:
    order, other = codec.decode(SEARCH, f'{{"data":{{"items":[{{"{key}":{number}}},{{"id":"1"}}]}}}}'.encode()).value
    assert order == models.Order(extra={key: number}) or order.price == Decimal(number)
    assert other == models.Order(id="1")


def test_invalid_utf_8_is_not_json() -> None:
    for body in (b'\xef\xbb\xbf{"data":{"items":[]}}', b'{"data":{"items":[{"id":"\xff"},{"id":"\\ud800"}]}}'):
        raised(errors.ResponseDecodeError, codec.decode, SEARCH, body, match="not JSON")


def test_an_invalid_value_deep_inside_a_row_costs_only_itself() -> None:
    raw = {"legs": [{"symbol": 7, "fills": [{"fill-price": "?", "filled-at": None}, {"fill-price": "1"}]}]}
    [order] = orders_of(raw)
    [leg] = order.legs or ()
    assert leg.symbol == "7"
    assert leg.fills == (models.Fill(extra={"fill-price": "?"}), models.Fill(fill_price=Decimal(1)))
    assert not order.extra
    error = raised(errors.ResponseDecodeError, orders_of, {}, raw, strict=True)
    assert error.json_path == "$.data.items[1].legs[0].fills[0].fill-price"
    rows = [{"legs": [{"symbol": "A"}, 7]}, {"legs": [{"symbol": "B"}, {"symbol": "C"}]}]
    assert [[leg.symbol for leg in order.legs] for order in orders_of(*rows)] == [["A"], ["B", "C"]]
    steps = structure_steps(models.Order, [{}] * 1000 + [7], "$", Issues("a.b", strict=True), 5)
    assert raised(errors.ResponseDecodeError, list, steps).json_path == "$[1005]"


def test_rows_that_are_not_objects_are_left_out_and_each_path_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    assert orders_of({"id": 1}, None, 5, "x", [], {"id": 2}) == [models.Order(id="1"), models.Order(id="2")]
    assert caplog.messages == ["orders.search: $.data.items[]: expected an object, got null; left out"]
    caplog.clear()
    rows = [{"price": "?", "value": "?"} for _ in range(50)]
    for operation, reported in ((SEARCH, 2), (SEARCH, 2), (ops.ORDERS_LIVE, 4)):
        decode(operation, *rows)
        assert len(caplog.records) == reported


NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
RULE, OTHER = {"cancel-at": "2026-01-01T00:00:00Z"}, {"route-after": "2026-01-02T00:00:00Z", "new": None}


@for_each(
    "row, extra",
    [
        ({"rules": RULE}, {}),
        ({"rules": OTHER, "order-rule": RULE}, {"rules": OTHER}),
        ({"rules": OTHER, "order-rule": RULE, "price": "?"}, {"rules": OTHER, "price": "?"}),
        ({"rules": RULE, "order-rule": "?"}, {"rules": RULE, "order-rule": "?"}),
    ],
)
def test_the_proper_key_wins_over_its_alias(row: dict[str, Any], extra: dict[str, Any]) -> None:
    REGISTRY.reset()
    for _ in range(3):  # unknown, learned, decoded in C
        [order] = orders_of(row)
        assert order == models.Order(order_rule=models.OrderRule(cancel_at=NEW_YEAR), extra=extra)
        assert models.converter.unstructure(order) == {"order-rule": RULE, **extra}


def test_declared_wire_forms_are_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    def read(operation: Any, data: Any) -> Any:
        return codec.decode(operation, json.dumps({"data": data}).encode(), strict=True).value

    entries = [{"close-price": "NaN", "fixing-price": "1.0"}]
    report = read(ops.MARGIN_REQUIREMENTS, {"groups": [{}, {"position-entries": entries}]})
    [entry] = report.groups[1].position_entries
    assert (entry.close_price, entry.fixing_price, entry.extra) == (None, Decimal("1.0"), {"close-price": "NaN"})
    day = {"maturity-date": "2026-09-18 00:00:00 UTC"}
    [option] = read(ops.INSTRUMENTS_FUTURES_OPTION_CHAIN, {"items": [{"symbol": "./ESU6", **day}]})
    assert (option.maturity_date, option.extra) == (date(2026, 9, 18), day)
    holidays = {"market-holidays": {"2026-12-25": "Christmas"}, "market-half-days": ["2026-12-24"]}
    calendar = read(ops.MARKET_TIME_EQUITY_HOLIDAYS, holidays)
    assert calendar.market_holidays == (date(2026, 12, 25),)
    assert models.converter.unstructure(calendar) == holidays
    assert not caplog.records


@for_each(
    "operation, key, values, kept",
    [
        (ops.INSTRUMENTS_FUTURE_PRODUCTS, "listed-months", ["F", ["?"], "Z"], ("F", "Z")),
        (ops.INSTRUMENTS_FUTURE_PRODUCTS, "listed-months", [["?"]], ()),
        (ops.INSTRUMENTS_FUTURE_PRODUCTS, "listed-months", ["F", None], ("F",)),
        (ops.MARKET_TIME_EQUITY_HOLIDAYS, "market-half-days", ["2026-12-24", 5, "soon"], (date(2026, 12, 24),)),
    ],
)
def test_bad_item_does_not_cost_its_list_before_and_after_the_field_was_widened(
    operation: Any, key: str, values: list[Any], kept: tuple[Any, ...]
) -> None:
    registry = DecoderRegistry()
    for _ in range(3):
        registry.warned.clear()
        [found] = structure_rows(operation.result, [{key: values}], "$.x", Issues("a.b", registry=registry))
        assert (getattr(found, key.replace("-", "_")), found.extra) == (kept, {key: values})
        assert [path for _, path in registry.warned] == [f"$.x[].{key}[]"]


def test_one_object_that_fits_is_not_searched_for_new_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(DecoderRegistry, "adapt")
    order = structure_one(models.Order, {"price": "1.5", "legs": [{"symbol": "A"}]}, "$", Issues("x", strict=True))
    assert order == models.Order(price=Decimal("1.5"), legs=(models.OrderLeg(symbol="A"),))


@for_each("raw", [{}, {"quantity": 1}, {"symbol": None, "quantity": 1}, {"symbol": "", "quantity": ["?"]}])
def test_row_without_what_every_answer_has_reads_empty_and_warns(raw: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()
    row = {"account-number": "A1", **raw}
    [one] = structure_rows(models.Position, [row], "$", Issues("a.b", registry=DecoderRegistry()))
    assert (one.symbol, one.account_number) == ("", "A1")
    assert [shown for shown in (one.to_dict(wire=True), one.to_dict(), repr(one)) if "symbol" in shown] == []
    assert "symbol: missing; read as an empty string" in caplog.text
    assert "account-number" not in caplog.text
    issues, reason = Issues("a.b", strict=True, registry=DecoderRegistry()), "symbol: missing|quantity: expected"
    raised(errors.ResponseDecodeError, structure_rows, models.Position, [row], "$", issues, match=reason)


def test_value_of_another_type_is_reported_alone(caplog: pytest.LogCaptureFixture) -> None:
    row = {"account-number": "A1", "symbol": {"odd": 1}}
    for _ in range(2):  # before and after the field was widened
        [one] = structure_rows(models.Position, [row], "$", Issues("a.b", registry=DecoderRegistry()))
        assert (one.symbol, one.extra) == ("", {"symbol": {"odd": 1}})
        assert one.to_dict(wire=True)["symbol"] == {"odd": 1}
    assert "missing" not in caplog.text


ORDER, OPTION = wire_fields(converters.OrderWire), wire_fields(converters.EquityOptionWire)


@for_each("model, wire", WIRES.items())
def test_wire_fields_are_those_of_the_struct_and_of_the_model(model: type[Any], wire: type[Wire]) -> None:
    fields, names = wire_fields(wire), {field.name for field in attrs.fields(model)}
    assert [field.attribute for field in fields.values()] == list(wire.__struct_fields__)
    assert list(fields) == list(wire.__struct_encode_fields__)
    for key, field in fields.items():
        assert field.key == key
        assert field.target in names
        assert field.alias_of is None or fields[field.alias_of].target == field.target


@for_each(
    "fields, key, expected",
    [
        (ORDER, "price", {"scalars": {"decimal"}, "settled": False}),
        (ORDER, "gtc-date", {"scalars": {"date"}, "settled": True}),
        (ORDER, "cancellable", {"scalars": {"bool"}, "settled": True}),
        (ORDER, "status", {"scalars": set(), "settled": True}),
        (ORDER, "updated-at", {"scalars": {"datetime", "int"}}),
        (ORDER, "legs", {"child": converters.OrderLegWire, "many": True}),
        (ORDER, "order-rule", {"child": converters.OrderRuleWire, "many": False, "alias_of": None}),
        (ORDER, "rules", {"child": converters.OrderRuleWire, "target": "order_rule", "alias_of": "order-rule"}),
        (OPTION, "days-to-expiration", {"scalars": {"int"}, "settled": True}),
        (OPTION, "strike-price", {"settled": False}),
        (wire_fields(converters.PositionWire), "symbol", {"scalars": {"str"}, "settled": True, "always": True}),
        (wire_fields(converters.PositionWire), "quantity", {"always": False}),
        (wire_fields(converters.FutureProductWire), "listed-months", {"many": True, "settled": False}),
    ],
)
def test_fields_know_their_types(fields: Any, key: str, expected: dict[str, Any]) -> None:
    assert {name: getattr(fields[key], name) for name in expected} == expected
