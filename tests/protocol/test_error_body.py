"""Bodies that are errors of the service, and their parsed content."""

import json
from typing import Any

from brokerage_async.errors import ErrorDetail
from brokerage_async.protocol.response import MAX_ERRORS, MAX_PARSED, ErrorBody, parse_error_body
from tests.tables import for_each


def failed(detail: dict[str, str]) -> dict[str, Any]:
    return {"code": "failed", "message": "m", "errors": [detail]}


@for_each(
    "body, expected",
    [
        (
            {"error": failed({"code": "c", "message": "n"}), "data": {"order": {}}},
            ErrorBody("failed", "m", (ErrorDetail("c", "n"),), {"order": {}}, in_envelope=True),
        ),
        (
            {"error": failed({"domain": "to-date", "reason": "missing"})},
            ErrorBody("failed", "m", (ErrorDetail(None, "missing", "to-date"),), in_envelope=True),
        ),
        ({"error": {"code": None, "errors": "none", "message": ["x"]}}, ErrorBody(None, None)),
        ({"error": {"code": "c", "errors": [5, None, {}]}}, ErrorBody("c", None, (ErrorDetail(),), in_envelope=True)),
        ({"error_code": "invalid_grant", "error_description": "d"}, ErrorBody("invalid_grant", "d")),
        ({"error": "invalid_client"}, ErrorBody("invalid_client", None)),
        *((other, None) for other in ({"message": "?"}, [], "text")),
    ],
)
def test_parse_error_body_known_forms(body: Any, expected: Any) -> None:
    assert parse_error_body(json.dumps(body).encode(), 422) == expected


def test_parse_error_body_not_json_or_larger_than_the_bound_returns_none() -> None:
    largest = b'{"error":{"code":"x"}}'.ljust(MAX_PARSED)
    assert parse_error_body(largest, 422) is not None
    for body in (b"", b"<html>", b"\xff", b"{", b"[" * 100_000, largest + b" "):
        assert parse_error_body(body, 422) is None


@for_each(
    "status, code, expected",
    [
        (422, "validation_error", True),
        *((406, code, True) for code in (406, "gone")),
        *((406, code, False) for code in (403, True)),
        *((403, code, False) for code in (403, "", "  ", None, ["x"], {"code": "x"})),
    ],
)
def test_in_envelope_needs_the_code_of_the_service(status: int, code: Any, expected: bool) -> None:
    body = parse_error_body(json.dumps({"error": {"code": code, "message": "m"}}).encode(), status)
    assert body.in_envelope is expected


def test_parse_error_body_many_errors_keeps_the_first_and_counts_the_rest() -> None:
    entries = [{"message": str(number)} for number in range(3000)]
    body = parse_error_body(json.dumps({"error": {"code": "x", "errors": entries}}).encode(), 422)
    assert [detail.message for detail in body.errors] == [str(number) for number in range(MAX_ERRORS)]
    assert body.left_out == 3000 - MAX_ERRORS
