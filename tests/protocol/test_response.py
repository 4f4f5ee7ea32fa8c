# ruff: noqa: E501
"""Which error a response is, how long it asks to wait, and how little of an unexpected body is shown."""

import json
import pickle
import time
from typing import Any

import attrs
from hypothesis import example, given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.errors import APIError, ErrorDetail
from brokerage_async.models import PlacedOrderResponse
from brokerage_async.protocol.response import MAX_PARSED, Response, deprecation_of, is_success, read_error, retry_after
from tests.protocol.values import json_values, pairs
from tests.tables import for_each

CANCEL = OPERATIONS["orders.cancel"]
DRY_RUN = OPERATIONS["orders.dry_run"]
BASE = "https://api.example.com"
JWT = "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJodHRwcyJ9.c2lnbmF0dXJl"


def refused(status: Any, body: Any = b"", *, operation: Any = CANCEL, headers: Any = None, **options: Any) -> Any:
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return read_error(operation, Response(status=status, headers=headers or {}, body=body), **options)


def envelope(code: str = "some_code", message: str = "said the service", **more: Any) -> Any:
    return {"error": {"code": code, "message": message, **more}}


class TestClass:
    @for_each(
        "status, expected",
        [
            (400, errors.BadRequestError), (401, errors.AuthenticationError),
            (403, errors.PermissionDeniedError), (404, errors.NotFoundError),
            (406, errors.VersionNotSupportedError), (422, errors.UnprocessableError),
            (429, errors.RateLimitError),
            *((status, errors.ServerError) for status in (500, 502, 503, 504, 599)),
            *((status, APIError) for status in (302, 405, 409, 418)),
        ],
    )  # fmt: skip
    @for_each(
        "body, code",
        [
            (envelope(), "some_code"),
            ({"error": 3}, "3"),
            *((body, None) for body in (b"", b"<html></html>", b"not json", b"[]", b"null", {"message": "?"})),
            ({"error": {"code": None, "errors": "none", "message": ["x"]}}, None),
        ],
    )
    def test_follows_the_status_where_the_code_says_nothing(
        self, status: int, expected: Any, body: Any, code: str | None
    ) -> None:
        error = refused(status, body)
        assert (type(error), error.status, error.code) == (expected, status, code)
        assert str(status) in str(error)
        assert "['x']" not in str(error), "a message is a text"

    @for_each(
        "expected, code",
        pairs(
            {
                errors.AuthenticationError: ["unauthorized", "token_invalid"],
                errors.PermissionDeniedError: ["not_permitted"],
                errors.NotFoundError: ["record_not_found"],
                errors.PreflightError: ["preflight_check_failure"],
                errors.OrderNotCancellableError: ["cannot_update_order"],
                errors.ServerError: ["internal_server_error", "timeout_error"],
            }
        ),
    )
    def test_follows_the_code_before_the_status_of_a_refusal(self, expected: Any, code: str) -> None:
        """A failing service is never taken for a refusal: it may have placed the order nevertheless."""
        refusals = [refused(status, envelope(code)) for status in (400, 403, 422, 451)]
        assert [(type(error), error.code) for error in refusals] == [(expected, code)] * 4
        assert [error.status for error in refusals] == [400, 403, 422, 451]
        for failing in (code, "x"):
            error = refused(500, envelope(failing))
            assert (type(error), error.code) == (errors.ServerError, failing)

    def test_only_2xx_is_a_success(self) -> None:
        assert [status for status in range(100, 600) if is_success(Response(status=status))] == list(range(200, 300))


class TestWhatItSays:
    def test_context_of_the_call(self) -> None:
        error = refused(422, envelope("cannot_update_order", "It is filled"), attempts=3)
        context = ("orders.cancel", "DELETE", "/accounts/{account_number}/orders/{id}", 3)
        assert (error.operation, error.method, error.path, error.attempts) == context
        assert str(error) == "orders.cancel: It is filled (status 422, code cannot_update_order)"
        error = refused(400, {"error_code": "invalid_grant", "error_description": "Grant revoked"}, operation=None)
        assert str(error) == "Grant revoked (status 400, code invalid_grant)"
        assert (error.operation, error.method, error.path) == (None, None, None)

    def test_every_single_problem_up_to_a_bound(self) -> None:
        several = [{"code": "a", "message": "first"}, {"domain": "price", "reason": "must be positive"}]
        error = refused(422, envelope(errors=[*several, {"code": 7, "message": None}, "text", None]))
        assert error.errors[:2] == (ErrorDetail("a", "first"), ErrorDetail(None, "must be positive", "price"))
        assert "  - price: must be positive" in str(error)
        error = refused(422, envelope(errors=[{"message": "no"}] * 130))
        assert len(error.errors) == 100
        assert error.message == "said the service (status 422, code some_code, 30 further errors left out)"
        for odd in (None, {}, "text", 3, [[]], [5, None, {}]):
            error = refused(422, envelope(errors=odd))
            assert (error.code, error.errors) == ("some_code", (ErrorDetail(),) * (odd == [5, None, {}]))

    def test_a_huge_body_does_not_block_the_loop(self) -> None:
        """Every entry used to be read, each by half a dozen regular expressions: seconds for 5 MB."""
        for entries in (1_000, 60_000):
            body = json.dumps(envelope(errors=[{"code": "c", "message": "Bearer x token=y " * 4}] * entries)).encode()
            began = time.process_time()
            error = refused(422, body)
            assert time.process_time() - began < 0.5
            assert isinstance(error, errors.UnprocessableError)
            assert len(str(error)) < 100_000

    def test_a_redirect_is_not_followed_and_says_so(self) -> None:
        error = refused(302, headers={"location": "https://elsewhere.example/login?token=abc"})
        assert type(error) is APIError
        assert "redirects are not followed" in str(error)
        assert "https://elsewhere.example/login" in str(error)
        assert "abc" not in str(error)

    def test_codes_stay_as_they_are_however_long(self) -> None:
        code = "account_is_restricted_to_closing_transactions_only_until_2026"
        error = refused(422, envelope(code, errors=[{"code": code, "domain": code}]))
        assert error.code == error.errors[0].code == error.errors[0].domain == code
        assert len(refused(422, envelope("x" * 100_000)).code) == 100


class TestPreview:
    def test_data_beside_an_error_is_a_model(self) -> None:
        body = envelope("preflight_check_failure") | {"data": {"order-costs": "1.5", "warnings": [{"code": "w"}]}}
        error = refused(422, body, operation=DRY_RUN)
        assert isinstance(error.data, PlacedOrderResponse)
        assert error.data.order_costs == "1.5"
        assert error.data.warnings[0].code == "w"

    def test_data_of_another_shape_or_without_a_result_stays_raw(self) -> None:
        for data in (3, "text", [], [1]):
            body = envelope("preflight_check_failure") | {"data": data}
            assert refused(422, body, operation=DRY_RUN).data == refused(422, body, operation=None).data == data
        bare = attrs.evolve(CANCEL, result=None)
        assert refused(422, envelope() | {"data": {"id": "1"}}, operation=bare).data == {"id": "1"}
        assert refused(422, envelope()).data is refused(422, b"").data is None


# 1994-11-06 08:49:37 UTC
NOW = 784111777.0


class TestRetryAfter:
    @for_each(
        "value, seconds",
        [
            ("0", 0.0), ("3", 3.0), (" 120 ", 120.0), ("1.5", 1.5), ("999999999999", 999999999999.0),
            ("Sun, 06 Nov 1994 08:49:47 GMT", 10.0), ("Sunday, 06-Nov-94 08:50:37 GMT", 60.0),
            ("Sun Nov  6 08:50:37 1994", 60.0), ("Sun, 06 Nov 1994 10:49:47 +0200", 10.0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0), ("Sun, 06 Nov 1994 08:00:00 GMT", 0.0),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ],
    )  # fmt: skip
    def test_both_forms(self, value: str, seconds: float) -> None:
        assert retry_after(value, NOW) == seconds
        assert refused(429, headers={"retry-after": value}, now=NOW).retry_after == seconds

    def test_nonsense_or_a_date_without_a_clock_counts_as_absent(self) -> None:
        numbers = ["", "-1", "soon", "nan", "inf", "1e9", "0x10", "1_000", "٣", "9" * 5000, "x" * 100_000]
        dates = ["Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT"]
        assert [value for value in (None, *numbers, *dates) if retry_after(value, NOW) is not None] == []
        assert retry_after("Sun, 06 Nov 1994 08:49:47 GMT") is None
        assert retry_after("3") == 3.0

    def test_a_date_counts_from_the_date_of_the_answer_whatever_this_machine_says(self) -> None:
        headers = {"retry-after": "Wed, 10 Jun 2026 12:00:30 GMT", "date": "Wed, 10 Jun 2026 12:00:00 GMT"}
        for now in (NOW, 0.0, None):
            assert refused(429, headers=headers, now=now).retry_after == 30.0
        assert refused(429, headers=headers | {"date": "noon"}, now=NOW).retry_after > 30.0

    @given(st.text(max_size=40))
    @example("Mon, 1 Jan 2000 00:00:00 -9999")
    @example("Mon, 1 Jan 1 00:00:00 +2359")
    def test_any_text_gives_seconds_or_nothing(self, value: str) -> None:
        seconds = retry_after(value, NOW)
        assert seconds is None or seconds >= 0.0


class TestSecrets:
    @for_each("text", [f"Authorization: Bearer {JWT}", f"expired: {JWT}", '{"refresh_token":"hunter2"}'])
    def test_error_shows_no_secret_of_its_body(self, text: str) -> None:
        entry = {"code": JWT, "message": text, "domain": f"Bearer {JWT}"}
        bodies: list[Any] = [text.encode(), envelope(message=text), envelope(code=JWT, message=JWT, errors=[entry])]
        for error in (refused(422, body) for body in bodies):
            assert not [secret for secret in ("hunter2", JWT, "eyJ") if secret in f"{error} {error!r} {vars(error)}"]
        assert error.code == "[redacted]"

    def test_error_shows_no_secret_of_its_headers(self) -> None:
        headers = {"Set-Cookie": "session=hunter2", "X-Api-Key": "hunter2", "X-Note": f"Bearer {JWT}"}
        error = refused(404, {"access_token": "hunter2 hunter2", "deep": f"see {JWT}"}, headers=headers)
        assert "hunter2" not in f"{vars(error)}"
        assert "c2lnbmF0dXJl" not in f"{vars(error)}"
        assert set(error.headers) == {"set-cookie", "x-api-key", "x-note"}


class TestAdvice:
    """One sentence for each cause, with the remedy."""

    @for_each("status, body, base_url, sentence", [
            (429, b"", BASE, "too many requests: wait, or send fewer at once (Limits) (status 429)"),
            (400, b"", BASE, "the body is empty; the service answers in JSON: check base_url (status 400)"),
            (404, b"", BASE, "the body is empty; the service answers in JSON: check base_url (status 404)"),
            (403, b"<p>Forbidden", BASE, "an HTML page came back: 'Forbidden'; the service answers in JSON: check base_url (status 403)"),
            (405, b"no", f"{BASE}/v1/", "an unexpected body came back: 'no'; the service answers in JSON: check base_url, which has the path '/v1' (status 405)"),
            (400, b"<h1>400</h1>The plain HTTP request was sent to HTTPS port", BASE, "the port expects https: base_url must start with https:// (status 400)"),
            (400, b"Client sent an HTTP request to an HTTPS server.\n", BASE, "the port expects https: base_url must start with https:// (status 400)"),
            (407, b"", BASE, "the proxy requires a user name and password: pass proxy='http://user:password@host:port' (status 407)"),
            (408, b"<p>Too slow", BASE, "an HTML page came back: 'Too slow' (status 408)"),
            (425, b"", BASE, "the body is empty (status 425)"),
            (401, b"<p>No agent", BASE, "an HTML page came back: 'No agent' (status 401)"),
            (502, b"<p>Bad gateway", BASE, "an HTML page came back: 'Bad gateway' (status 502)"),
            *((503, empty, BASE, "the body is empty (status 503)") for empty in (b"", b"  \n")),
            (502, b"<html><head><title>502 Bad Gateway</title></head><body><hr>nginx\x00\r\n</body></html>", BASE,
             "an HTML page came back: '502 Bad Gateway nginx' (status 502)"),
            (401, envelope("unauthorized", "No token"), f"{BASE}/v1", "No token; check base_url, which has the path '/v1' (status 401, code unauthorized)"),
            (401, envelope("unauthorized", "No token"), BASE, "No token (status 401, code unauthorized)"),
            (404, envelope("record_not_found", "No such order"), f"{BASE}/v1", "No such order (status 404, code record_not_found)"),
            (404, envelope("not_found", "No route"), f"{BASE}/v1", "No route; check base_url, which has the path '/v1' (status 404, code not_found)"),
        ])  # fmt: skip
    def test_message_names_the_cause_and_what_to_do(self, status: int, body: Any, base_url: str, sentence: str) -> None:
        assert refused(status, body, base_url=base_url).message == sentence
        assert str(refused(status, body, base_url=base_url)).startswith(f"orders.cancel: {sentence}")
        assert "an HTML page" in str(refused(502, b"Bad gateway", headers={"content-type": "text/html"}))


def test_deprecation_of_names_each_announcement_in_part() -> None:
    dated = {"deprecation": "@1767225600", "sunset": "x" * 100, "date": "now"}
    assert deprecation_of(dated) == f"deprecation: @1767225600, sunset: {'x' * 64}"
    assert deprecation_of({"sunset": "soon"}) == "sunset: soon"
    assert deprecation_of({"date": "now"}) is None


def test_body_and_headers_are_kept_do_not_show_in_the_message_and_can_be_pickled() -> None:
    body = envelope("preflight_check_failure", errors=[{"domain": "price", "reason": "too high"}]) | {"data": {}}
    headers = {"X-Request-Id": "0" * 40, "X-Seen": "there"}
    error = refused(422, body, operation=DRY_RUN, headers=headers)
    assert (json.loads(error.body), error.headers) == (body, {"x-request-id": "0" * 40, "x-seen": "there"})
    assert "there" not in f"{error} {error!r}"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is errors.PreflightError
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


JSON = json_values(["error", "code", "message", "errors", "data", "domain", "reason", "error_code", "items"])


@given(st.integers(100, 999), JSON | st.binary(max_size=64), st.sampled_from([CANCEL, DRY_RUN, None]))
@example(500, b"[" * 100_000, CANCEL)
@example(422, b'{"error":' * 100_000, CANCEL)
@example(422, b'{"error":{"code":"\\ud800"},"data":{}}', DRY_RUN)
@example(422, b'{"error":{"code":' + b"9" * 10_000 + b'},"data":{}}', DRY_RUN)
def test_any_response_becomes_an_error_that_can_be_shown(status: int, body: Any, operation: Any) -> None:
    error = refused(status, body, operation=operation)
    assert isinstance(error, APIError)
    assert error.status == status
    assert str(error).encode()
    assert error.code is None or isinstance(error.code, str)


def test_body_that_is_not_json_or_larger_than_the_bound_is_not_parsed() -> None:
    largest = b'{"error":{"code":"x"}}'.ljust(MAX_PARSED)
    assert refused(422, largest).code == "x"
    for body in (b"", b"<html>", b"\xff", b"{", b"[" * 100_000, largest + b" "):
        assert refused(422, body).code is None


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
    assert refused(status, {"error": {"code": code, "message": "m"}}).from_service is expected
