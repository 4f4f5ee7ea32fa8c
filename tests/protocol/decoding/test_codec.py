# ruff: noqa: E501
"""Bodies to models and back: the envelopes, the errors, the requests."""

import json
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async._generated import operations as ops
from brokerage_async.errors import InvalidRequestError, ResponseDecodeError
from brokerage_async.operation import Operation, Shape
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import DecoderRegistry
from tests.protocol.values import operation, pairs, raised
from tests.tables import for_each


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


DIVIDENDS, WARRANT = ops.MARKET_METRICS_DIVIDENDS, ops.INSTRUMENTS_WARRANT
ORDERS, TOKEN = ops.ORDERS_LIST, ops.OAUTH_TOKEN
BARE_WARRANTS, BARE_NAMES = (operation("a.b", "/a", Shape.BARE_MANY, result=result) for result in (models.Warrant, str))


def test_a_bare_list_is_read_within_an_envelope_as_well() -> None:
    rows = [{"symbol": "ABCW", "new": 1}, {"active": True}]
    expected = [models.Warrant(symbol="ABCW", extra={"new": 1}), models.Warrant(active=True)]
    for content in (rows, {"data": {"items": rows}}, {"data": rows}):
        assert codec.decode(BARE_WARRANTS, body(content)).value == expected
    odd = body([{"symbol": "ABCW", "active": "often"}])
    assert codec.decode(BARE_WARRANTS, odd).value == [models.Warrant(symbol="ABCW", extra={"active": "often"})]
    raised(ResponseDecodeError, codec.decode, BARE_WARRANTS, odd, strict=True, match="active")
    assert codec.decode(BARE_NAMES, body(["a", 7])).value == ["a", "7"]
    assert codec.decode(BARE_NAMES, b"[]").value == []


def test_decoders_of_more_operations_than_are_kept_decode_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_READERS", 2)
    registry = DecoderRegistry()
    for number in range(3):
        once = operation(f"a.b{number}", "/a", Shape.MANY, result=models.Warrant)
        found = codec.decode(once, body({"data": {"items": [{"symbol": "ABCW"}]}}), registry=registry)
        assert found.value == [models.Warrant(symbol="ABCW")]
    assert [each.name for each in registry.readers] == ["a.b0", "a.b1"]


def test_resource_in_a_list_of_one_is_read_after_an_answer_whose_list_was_null() -> None:
    registry, row = DecoderRegistry(), {"symbol": "ABCW"}
    for content, value in (
        ({"items": None}, models.Warrant(extra={"items": None})),
        ({"items": [row]}, models.Warrant(symbol="ABCW")),
        (row, models.Warrant(symbol="ABCW")),
    ):
        assert codec.decode(WARRANT, body({"data": content}), registry=registry).value == value


@for_each(
    "operation, data, expected",
    [
        (ops.QUOTE_ALERTS_LIST, {"symbol": "A"}, [models.QuoteAlert(symbol="A")]),
        (ops.QUOTE_ALERTS_LIST, {"items": [{"symbol": "A"}]}, [models.QuoteAlert(symbol="A")]),
        (ops.MARKET_TIME_EQUITY_HOLIDAYS, {"items": [{"market-holidays": []}]}, models.HolidayCalendar(market_holidays=())),
        (ops.MARKET_TIME_EQUITY_HOLIDAYS, {"market-holidays": []}, models.HolidayCalendar(market_holidays=())),
        (ops.MARKET_TIME_CURRENT_SESSIONS, {"state": "Open"}, [models.CurrentMarketSession(state=models.MarketState.OPEN)]),
        (ops.MARKET_TIME_EQUITY_SESSION, {"state": "Pre-market"}, models.CurrentMarketSession(state=models.MarketState.PRE_MARKET)),
    ],
)  # fmt: skip
def test_both_forms_are_decoded_without_a_warning(operation: Any, data: Any, expected: Any, caplog: Any) -> None:
    assert codec.decode(operation, body({"data": data}), strict=True).value == expected
    assert not caplog.records


BAD_STATUS, BAD_LEGS = models.Order(extra={"status": [1]}), models.Order(legs=(), extra={"legs": [7]})


@for_each(
    "operation, answer, value, issue, outcome",
    [
        (ORDERS, {"data": {"items": [{"status": [1]}]}}, [BAD_STATUS], "$.data.items[].status: expected str, got a list", "kept as raw JSON in extra"),
        (ORDERS, {"data": {"items": [{"legs": [7]}]}}, [BAD_LEGS], "$.data.items[].legs[]: expected an object, got a number", "left out"),
        (ORDERS, {"data": {"items": [7]}}, [], "$.data.items[]: expected an object, got a number", "left out"),
        (ORDERS, {"data": {"items": None}}, [], "$.data.items: expected a list, got null", "read as an empty list"),
        (DIVIDENDS, {"data": [{"amount": "1"}]}, [models.Dividend(amount=Decimal(1))], "$.data: expected an object with items, got a list", "read all the same"),
        (DIVIDENDS, {"items": [{"amount": "1"}]}, [models.Dividend(amount=Decimal(1))], "$: the items are not under data", "read all the same"),
        (ORDERS, {"data": {"items": []}, "context": 7}, [], "$.context: expected a string, got a number", "ignored"),
        (ORDERS, {"data": {"items": []}, "pagination": []}, [], "$.pagination: expected an object, got a list", "ignored"),
        (WARRANT, {"symbol": "ABCW"}, models.Warrant(symbol="ABCW"), "$: the resource is not under data", "read all the same"),
    ],
)  # fmt: skip
def test_unusual_answer_costs_only_a_warning_that_names_its_outcome(
    operation: Operation[Any], answer: Any, value: Any, issue: str, outcome: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    found = codec.decode(operation, body(answer), registry=DecoderRegistry())
    assert (found.value, found.pagination, found.context) == (value, None, None)
    error = raised(ResponseDecodeError, codec.decode, operation, body(answer), strict=True, registry=DecoderRegistry())
    assert error.message == f"{issue.replace('[]', '[0]')}; rejected in strict mode"
    assert caplog.messages == [f"{operation.name}: {issue}; {outcome}"]


NOT_OBJECTS = [
    b"", b"<html></html>", b"[]", b"null", b'"text"', b"7", b'{"data": {"items": [', b"{" * 5000, b"\xff\xfe",
]  # fmt: skip
EMPTY: dict[tuple[Operation[Any], str], list[Any]] = {
    (WARRANT, "$.data"): [{}, {"data": None}, {"data": None, "symbol": "A"}],
    (WARRANT, "$.data.items"): [{"data": {"items": []}}],
    (WARRANT, "$.data.items[0]"): [{"data": {"items": [7]}}],
    (DIVIDENDS, "$.data.items"): [{}, *({"data": data} for data in (None, {}, {"items": {"a": 1}}))],
}


def test_an_empty_answer_is_never_made_up(caplog: pytest.LogCaptureFixture) -> None:
    """Orders that are merely not found in a broken body must not seem to be absent."""
    misread = [(operation, "$", text) for operation in (WARRANT, DIVIDENDS, ORDERS, TOKEN) for text in NOT_OBJECTS]
    misread += [(operation, path, body(answer)) for (operation, path), answer in pairs(EMPTY)]
    for called, path, text in misread:
        error = raised(ResponseDecodeError, codec.decode, called, text)
        assert (error.json_path, error.operation) == (path, called.name), text
    for place, rows in (("data", [{"amount": ["?"]}]), ("items", [{"amount": ["?"]}])):
        codec.decode(DIVIDENDS, body({place: rows}), registry=DecoderRegistry())
        assert f"$.{place}[].amount: expected decimal" in caplog.text
    page = raised(ResponseDecodeError, codec.decode, ORDERS, b"\n<!doctype html><title>Welcome</title>")
    assert page.message == "$: an HTML page came back instead of JSON: check base_url"
    for called in (BARE_NAMES, BARE_WARRANTS):
        for text in (b"{}", b'{"data": null}', b'[["a"]]', b"<html>", b'["a"', b"null"):
            raised(ResponseDecodeError, codec.decode, called, text, strict=True)


def test_json_that_only_the_standard_library_reads() -> None:
    text = b'{"data": {"items": [{"description": "\\ud83d", "price": NaN, "id": 12345678901234567890123}]}}'
    [transaction] = codec.decode(ops.TRANSACTIONS_LIST, text).value
    assert (transaction.description, transaction.price) == ("\ud83d", None)
    assert transaction.extra["price"] == "NaN"
    assert transaction.id == "12345678901234567890123"


def new_order(**fields: Any) -> models.NewOrder:
    leg = models.NewOrderLeg(action="Buy to Open", instrument_type="Equity", symbol="AAPL", quantity=Decimal("1E+2"))
    return models.NewOrder(order_type="Limit", time_in_force="Day", legs=[leg], **fields)


def test_encode_adds_what_is_extra_writes_no_exponent_and_rejects_what_cannot_be_sent() -> None:
    order = new_order(extra={"new-key": [Decimal("1.50"), None], "order-type": "Other"})
    sent = json.loads(codec.encode(order), parse_float=Decimal)
    assert (sent["new-key"], sent["order-type"]) == ([Decimal("1.50"), None], "Other")
    assert sent["legs"][0]["quantity"] == "100"
    for price in (Decimal("NaN"), Decimal("Infinity"), 1.5, "1.5"):
        raised(InvalidRequestError, codec.encode, new_order(price=price), match="NewOrder cannot be sent")
    raised(InvalidRequestError, codec.encode, {"order-type": "Limit"}, match="expected a model, got dict")
    watchlist = models.NewWatchlist(name="n", watchlist_entries=["AAPL"])  # type: ignore[list-item]
    raised(InvalidRequestError, codec.encode, watchlist, match="cannot be sent")


def test_a_short_body_is_decoded_in_one_step_and_as_strictly() -> None:
    text = body({"data": {"items": [{"price": ["?"]}]}})
    raised(ResponseDecodeError, next, codec.decode_chunks(ORDERS, text, strict=True), match="price")
    end = raised(StopIteration, next, codec.decode_chunks(ORDERS, text))
    assert end.value.value[0].extra == {"price": ["?"]}


@for_each("more", [{}, {"new": 1}, {"active": ["?"]}])
def test_an_error_beside_the_data_is_kept_however_the_data_is_read(more: dict[str, Any]) -> None:
    error = {"code": "cannot_update_order", "message": "no"}
    for called, data in ((WARRANT, {"symbol": "A", **more}), (DIVIDENDS, {"items": [{"amount": "1", **more}]})):
        assert codec.decode(called, body({"data": data, "error": error})).error == error
    assert codec.decode(WARRANT, body({"symbol": "A", "error": error})).error is None  # a field, not an envelope
