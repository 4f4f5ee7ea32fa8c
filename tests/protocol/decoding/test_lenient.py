"""A value that does not fit is kept, reported once, and costs nothing around it."""

import json
import logging
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from brokerage_async import errors, models
from brokerage_async._generated import operations as ops
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import REGISTRY, DecoderRegistry
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.decoding.lenient import structure_one, structure_rows
from tests.protocol.bodies import decode
from tests.protocol.values import raised
from tests.tables import for_each

SEARCH = ops.ORDERS_SEARCH
orders_of = partial(decode, SEARCH)


# Invalid values: field, JSON, JSON path below the row, value of the field afterwards
INVALID: list[tuple[str, Any, str, Any]] = [
    ("price", "cheap", "price", None),
    ("price", "NaN", "price", None),
    ("price", {"amount": 1}, "price", None),
    ("price", True, "price", None),
    ("symbol-is-unknown", 1, "", None),
    ("account-number", ["5"], "account-number", None),
    ("account-number", 1.5, "account-number", None),
    ("cancellable", "yes", "cancellable", None),
    ("cancellable", 1, "cancellable", None),
    ("gtc-date", "2026-02-30", "gtc-date", None),
    ("gtc-date", 20260101, "gtc-date", None),
    ("received-at", "yesterday", "received-at", None),
    ("received-at", 5, "received-at", None),
    ("updated-at", 10**30, "updated-at", None),
    ("status", 4, "status", None),
    ("ext-global-order-number", "4.5", "ext-global-order-number", None),
    ("legs", {"symbol": "A"}, "legs", None),
    ("legs", [{"symbol": "A"}, "B"], "legs[1]", (models.OrderLeg(symbol="A"),)),
    ("order-rule", [], "order-rule", None),
]


@for_each("key, raw, path, value", INVALID)
def test_an_invalid_value_is_kept_raw_and_reported(
    key: str, raw: Any, path: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    REGISTRY.reset()
    caplog.clear()
    good = {"id": "1", "size": "5"}
    before, order, after = orders_of(good, {**good, key: raw}, good)
    assert before == after == models.Order(id="1", size=Decimal(5))
    assert (order.id, order.size) == ("1", Decimal(5))
    assert order.extra == {key: raw}
    assert getattr(order, key.replace("-", "_"), None) == value
    assert models.converter.unstructure(order) == {"id": "1", "size": "5", key: raw}
    if not path:
        assert not caplog.records
        return
    pattern = f"$.data.items[].{path.replace('[1]', '[]')}"
    [record] = caplog.records
    assert (record.name, record.levelno) == ("brokerage_async.decode", logging.WARNING)
    assert record.getMessage().startswith(f"orders.search: {pattern}: expected ")
    assert not raw or str(raw) not in record.getMessage()
    error = raised(errors.ResponseDecodeError, orders_of, good, {**good, key: raw}, good, strict=True)
    assert error.json_path == f"$.data.items[1].{path}"
    assert error.operation == "orders.search"


# The same value in another JSON type: field, JSON, value
EQUIVALENTS: list[tuple[str, Any, Any]] = [
    ("account-number", 5, "5"),
    ("price", 5, Decimal(5)),
    ("price", 1.25, Decimal("1.25")),
    ("size", 0.5, Decimal("0.5")),
    ("ext-global-order-number", "45", 45),
    ("ext-global-order-number", 45.0, 45),
    ("received-at", "2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    ("received-at", "2026-01-02 03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    ("status", "", models.OrderStatus("")),
]


@for_each("key, raw, value", EQUIVALENTS)
def test_the_same_value_in_another_type_is_converted_without_a_warning(
    key: str, raw: Any, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
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


@for_each("body", [b'\xef\xbb\xbf{"data":{"items":[]}}', b'{"data":{"items":[{"id":"\xff"},{"id":"\\ud800"}]}}'])
def test_invalid_utf_8_is_not_json(body: bytes) -> None:
    with pytest.raises(errors.ResponseDecodeError, match="not JSON"):
        codec.decode(SEARCH, body)


def test_an_invalid_value_deep_inside_a_row_costs_only_itself() -> None:
    raw = {"legs": [{"symbol": 7, "fills": [{"fill-price": "?", "filled-at": None}, {"fill-price": "1"}]}]}
    [order] = orders_of(raw)
    [leg] = order.legs or ()
    assert leg.symbol == "7"
    assert leg.fills == (models.Fill(extra={"fill-price": "?"}), models.Fill(fill_price=Decimal(1)))
    assert not order.extra
    error = raised(errors.ResponseDecodeError, orders_of, {}, raw, strict=True)
    assert error.json_path == "$.data.items[1].legs[0].fills[0].fill-price"


def test_rows_that_are_not_objects_are_left_out_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    assert orders_of({"id": 1}, None, 5, "x", [], {"id": 2}) == [models.Order(id="1"), models.Order(id="2")]
    assert [record.getMessage() for record in caplog.records] == [
        "orders.search: $.data.items[]: expected an object, got null; left out"
    ]


def test_each_path_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"price": "?", "value": "?"} for _ in range(50)]
    orders_of(*rows)
    orders_of(*rows)
    assert len(caplog.records) == 2
    codec.decode(ops.ORDERS_LIVE, json.dumps({"data": {"items": rows}}).encode())
    assert len(caplog.records) == 4


def test_the_proper_key_wins_over_its_alias() -> None:
    rule, other = {"cancel-at": "2026-01-01T00:00:00Z"}, {"route-after": "2026-01-02T00:00:00Z"}
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert orders_of({"rules": rule}) == [models.Order(order_rule=models.OrderRule(cancel_at=moment))]
    for row in ({"rules": other, "order-rule": rule}, {"rules": other, "order-rule": rule, "price": "?"}):
        [order] = orders_of(row)
        assert order.order_rule == models.OrderRule(cancel_at=moment)
        assert order.extra["rules"] == other
    for _ in range(3):
        [order] = orders_of({"order-rule": rule, "rules": {**other, "new": None}, "price": "?"})
        assert order.extra == {"rules": {**other, "new": None}, "price": "?"}
        assert models.converter.unstructure(order)["order-rule"] == rule
    [order] = orders_of({"rules": rule, "order-rule": "?"})
    assert order.order_rule == models.OrderRule(cancel_at=moment)
    assert order.extra == {"order-rule": "?", "rules": rule}


def test_declared_wire_forms_are_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    margin = {"data": {"groups": [{}, {"position-entries": [{"close-price": "NaN", "fixing-price": "1.0"}]}]}}
    report = codec.decode(ops.MARGIN_REQUIREMENTS, json.dumps(margin).encode(), strict=True).value
    [entry] = (report.groups or ())[1].position_entries or ()
    assert (entry.close_price, entry.fixing_price, entry.extra) == (None, Decimal("1.0"), {"close-price": "NaN"})
    chain = {"data": {"items": [{"symbol": "./ESU6", "maturity-date": "2026-09-18 00:00:00 UTC"}]}}
    [option] = codec.decode(ops.INSTRUMENTS_FUTURES_OPTION_CHAIN, json.dumps(chain).encode(), strict=True).value
    assert option.maturity_date == date(2026, 9, 18)
    assert option.extra == {"maturity-date": "2026-09-18 00:00:00 UTC"}
    holidays = {"data": {"market-holidays": {"2026-12-25": "Christmas"}, "market-half-days": ["2026-12-24"]}}
    calendar = codec.decode(ops.MARKET_TIME_EQUITY_HOLIDAYS, json.dumps(holidays).encode(), strict=True).value
    assert calendar.market_holidays == (date(2026, 12, 25),)
    assert models.converter.unstructure(calendar) == holidays["data"]
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
        registry._warned.clear()
        [found] = structure_rows(operation.result, [{key: values}], "$.x", Issues("a.b", registry=registry))
        assert (getattr(found, key.replace("-", "_")), found.extra) == (kept, {key: values})
        assert [path for _, path in registry._warned] == [f"$.x[].{key}[]"]


def test_one_object_that_fits_is_not_searched_for_new_keys() -> None:
    class Settled(DecoderRegistry):
        def learn(self, *_: Any) -> bool:
            raise AssertionError("nothing is new in an object that fits")

    order = structure_one(models.Order, {"price": "1.5", "legs": [{"symbol": "A"}]}, "$", Issues("x", True, Settled()))
    assert order == models.Order(price=Decimal("1.5"), legs=(models.OrderLeg(symbol="A"),))


@for_each("raw", [{}, {"quantity": 1}, {"symbol": None, "quantity": 1}, {"symbol": "", "quantity": ["?"]}])
def test_row_without_what_every_answer_has_reads_empty_with_a_warning(
    raw: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    row = {"account-number": "A1", **raw}
    registry = DecoderRegistry()
    [one] = structure_rows(models.Position, [row], "$", Issues("a.b", registry=registry))
    warnings = [record.getMessage() for record in caplog.records]
    assert (one.symbol, one.account_number) == ("", "A1")
    assert "symbol" not in one.to_dict(wire=True)
    assert "symbol" not in one.to_dict()
    assert "symbol=" not in repr(one)
    assert any("symbol: missing; read as an empty string" in warning for warning in warnings)
    assert not any("account-number" in warning for warning in warnings)
    with pytest.raises(errors.ResponseDecodeError, match=r"symbol: missing|quantity: expected"):
        structure_rows(models.Position, [row], "$", Issues("a.b", strict=True, registry=DecoderRegistry()))


def test_value_of_another_type_is_reported_alone(caplog: pytest.LogCaptureFixture) -> None:
    row = {"account-number": "A1", "symbol": {"odd": 1}}
    for _ in range(2):  # before and after the field was widened
        [one] = structure_rows(models.Position, [row], "$", Issues("a.b", registry=DecoderRegistry()))
        assert (one.symbol, one.extra) == ("", {"symbol": {"odd": 1}})
        assert one.to_dict(wire=True)["symbol"] == {"odd": 1}
    assert not any("missing" in record.getMessage() for record in caplog.records)
