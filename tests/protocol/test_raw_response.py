"""Raw responses and notes: headers, `repr`, `parse`, and the call that an error belongs to."""

from datetime import date
from decimal import Decimal
from typing import Any

from brokerage_async import RawResponse, errors
from brokerage_async._generated import operations as ops
from brokerage_async.errors import APIError, BrokerageError, ResponseLostError
from brokerage_async.models import GrantType, InstrumentType, TokenRequest
from brokerage_async.operation import Operation
from brokerage_async.protocol.custom_request import custom_call
from brokerage_async.protocol.response import MAX_LENGTH, Response, describe, holds_error, note_arguments
from brokerage_async.tickets import buy_to_open, limit
from tests.protocol.values import raised
from tests.tables import for_each

CUSTOM = custom_call("GET", "/x").operation


def raw(body: bytes, operation: Operation[Any] = CUSTOM, *, strict: bool = False, **headers: str) -> RawResponse[Any]:
    return RawResponse.of(operation, Response(status=200, headers=headers, body=body), strict=strict)


class TestParse:
    def test_unknown_endpoint_returns_json_with_exact_numbers(self) -> None:
        assert raw(b'{"data": [1, 0.1, "a", null]}').parse() == {"data": [1, Decimal("0.1"), "a", None]}
        assert raw(b"[1]").parse() == [1]
        assert raw(b" \n").parse() is raw(b"", ops.QUOTE_ALERTS_CANCEL).parse() is None

    @for_each("body", [b"<html>", b'{"a"', b"[" * 100_000, b"\xff"])
    def test_body_that_is_not_json_raises(self, body: bytes) -> None:
        answer = raw(body)
        error = raised(errors.ResponseDecodeError, answer.parse)
        assert (error.status, error.operation, error.json_path) == (200, "request.read", "$")
        assert (error.method, error.path) == (CUSTOM.method, CUSTOM.path)
        assert answer.body == body

    def test_known_endpoint_returns_its_model_or_raises(self) -> None:
        assert raw(b'{"data": {"symbol": "AAPLW"}}', ops.INSTRUMENTS_WARRANT).parse().symbol == "AAPLW"
        odd = raw(b'{"data": {"symbol": ["AAPLW"]}}', ops.INSTRUMENTS_WARRANT, strict=True)
        assert raised(errors.ResponseDecodeError, odd.parse).status == 200
        beside = b'{"data": {"id": "7"}, "error": {"code": "cannot_update_order", "message": "no"}}'
        error = raised(errors.OrderNotCancellableError, raw(beside, ops.ORDERS_CANCEL).parse)
        assert (error.operation, error.status) == ("orders.cancel", 200)


def test_headers_hold_no_secrets_and_repr_no_body() -> None:
    answer = raw(b'{"secret": 1}', **{"Set-Cookie": "sid=1", "X-Request-Id": "abc-123"})
    assert answer.headers == {"set-cookie": "[redacted]", "x-request-id": "abc-123"}
    assert repr(answer) == "RawResponse(status=200, body=<13 bytes>)"


@for_each(
    "body, held",
    [
        (b'{"error": {"code": "x", "message": "no"}}', True), (b'{"data": {}, "error": {"code": "x"}}', True),
        (b'{"data": {}, "error": null}', False), (b'{"data": {"error": {"code": "x"}}}', False),
        (b'{"error": "a word"}', False), (b'["error"]', False),
        (b'{"data": {}}', False),
    ],
)  # fmt: skip
def test_only_the_envelope_of_the_service_is_an_error(body: bytes, held: bool) -> None:
    assert holds_error(Response(status=200, body=body)) is held


WARRANT = ops.INSTRUMENTS_WARRANT.bind(symbol="NOPE")


def test_describe_writes_a_call_as_in_python() -> None:
    given = {"start_date": date(2026, 6, 1), "instrument_type": InstrumentType.EQUITY, "per_page": 5}
    written = "account_number='5WT1', per_page=5, start_date=2026-06-01, instrument_type='Equity'"
    assert describe(ops.TRANSACTIONS_LIST.bind(account_number="5WT1", **given)) == f"transactions.list({written})"
    symbols = ops.INSTRUMENTS_EQUITIES.bind(symbols=("AAPL", "BRK/B"))
    assert describe(symbols) == "instruments.equities(symbols=['AAPL', 'BRK/B'])"


def test_describe_shows_the_body_without_its_secrets_and_is_cut() -> None:
    order = limit(buy_to_open("AAPL", 1), price=Decimal(100))
    for body, shown in ((order, repr(order)), (b"{}", "<2 bytes>")):
        assert describe(ops.ORDERS_DRY_RUN.bind(account_number="5WT1", body=body)).endswith(f"'5WT1', {shown})")
    body = TokenRequest(grant_type=GrantType.REFRESH_TOKEN, client_secret="s3cr3t", refresh_token="s3cr3t")
    assert "s3cr3t" not in describe(ops.OAUTH_TOKEN.bind(body=body))
    shown = describe(ops.INSTRUMENTS_EQUITIES.bind(symbols=[f"S{number}" for number in range(10_000)]))
    assert (len(shown), shown[-1]) == (MAX_LENGTH, "…")
    assert describe(ops.INSTRUMENTS_WARRANT.bind(symbol="eyJhbGciOi.x.y")) == "instruments.warrant(symbol='[redacted]')"


@for_each(
    "error, noted",
    [
        *((APIError("x", status=status), True) for status in (404, 201)),
        *((error, False) for error in (APIError("x", status=500), APIError("x"), ResponseLostError("x", status=404))),
    ],
)
def test_note_arguments_is_for_answers_that_depend_on_them(error: BrokerageError, noted: bool) -> None:
    note_arguments(error, WARRANT)
    assert getattr(error, "__notes__", []) == (["called as instruments.warrant(symbol='NOPE')"] if noted else [])
