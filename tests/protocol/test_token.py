# ruff: noqa: E501
"""Requests to the token endpoint, and the meaning of its answers."""

import json
import pickle
from typing import Any

from brokerage_async.config import AuthorizationCode, RefreshToken, Secret
from brokerage_async.errors import PROXY_AUTHENTICATION, RequestNotSentError, TokenError
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.response import Response
from brokerage_async.protocol.token import LIFETIME, Lease, grant_request, read_grant, unreachable
from tests.protocol.values import raised
from tests.tables import for_each


def test_request_has_what_its_credentials_hold_and_shows_no_secret() -> None:
    refresh = {"client_secret": "s3cr3t", "refresh_token": "s3cr3t-rt"}
    more = {**refresh, "client_id": "id", "scope": "read trade"}
    code = {"client_id": "id", "client_secret": "s3cr3t", "redirect_uri": "https://a.example/b", "code": "s3cr3t-c"}
    for kind, held in (("refresh_token", refresh), ("refresh_token", more), ("authorization_code", code)):
        request = grant_request(AuthorizationCode(**held) if held is code else RefreshToken(**held))
        assert json.loads(codec.encode(request)) == {"grant_type": kind, **held}
        assert "s3cr3t" not in repr(request)


class TestGrant:
    def test_refresh_and_code(self) -> None:
        body = b'{"access_token":"abc","token_type":"Bearer","expires_in":900}'
        grant = read_grant(Response(status=200, body=body))
        assert (grant.access_token, grant.expires_in, grant.refresh_token) == (Secret("abc"), 900.0, None)
        assert "abc" not in repr(grant)
        body = b'{"access_token":"abc","refresh_token":"rt","id_token":"x.y.z","expires_in":900}'
        assert read_grant(Response(status=200, body=body)).refresh_token == Secret("rt")

    @for_each(
        "written, seconds",
        [*((text, LIFETIME) for text in ("null", "-5", "0", '"soon"', "[]", "1e300", '"Infinity"')), ('"60"', 60)],
    )
    def test_senseless_lifetime_is_the_documented_one(self, written: str, seconds: float) -> None:
        grant = read_grant(Response(status=200, body=b'{"access_token":"a","expires_in":%s}' % written.encode()))
        assert grant.expires_in == seconds


class TestRefusals:
    @for_each(
        "status, body, transient, code",
        [
            (400, b'{"error_code":"invalid_grant","error_description":"token s3cr3t"}', False, "invalid_grant"),
            (400, b'{"error":"invalid_client"}', False, "invalid_client"),
            (401, b'{"error":{"code":"unauthorized","message":"no"}}', False, "unauthorized"),
            (401, b"<html>no user agent</html>", False, None),
            (403, b"", False, None),
            (404, b"[]", False, None),
            *((status, b"", True, None) for status in (302, 408, 429, 504)),
            (500, b'{"error":{"code":"internal_server_error"}}', True, "internal_server_error"),
            (502, b"<html>Bad gateway</html>", True, None),
            (501, b"<html>Unsupported method</html>", False, None),
            *((200, body, True, None) for body in (b"", b"<html>Log in to the hotel wifi</html>", b'{"token":"x"}')),
            *((200, body, True, None) for body in (b'{"access_token":""}', b"[" * 100_000, b"\xff\xfe")),
            (200, b'{"access_token":"a\\r\\nX-Injected: 1"}', True, None),
        ],
    )
    def test_transient_or_terminal(self, status: int, body: Any, transient: bool, code: str | None) -> None:
        error = raised(TokenError, read_grant, Response(status=status, body=body))
        assert (error.transient, error.code, error.status) == (transient, code, status)
        assert "s3cr3t" not in str(error)
        assert (error.operation, error.method, error.path) == ("oauth.token", "POST", "/oauth/token")
        assert pickle.loads(pickle.dumps(error)).transient is transient
        if not transient:
            assert "new grant" in str(error) or "check " in str(error)

    @for_each("status, body, context, sentence", [
            (400, b'{"error_code":"invalid_client"}', {}, "refused the credentials with 400 (invalid_client): check client_secret"),
            (400, b'{"error_code":"invalid_client"}', {"with_client_id": True}, "refused the credentials with 400 (invalid_client): check client_secret and client_id (a refresh token works without one)"),
            (400, b'{"error_code":"invalid_grant"}', {}, "refused the credentials with 400 (invalid_grant): make a new grant in the customer profile and use its refresh token"),
            (401, b'{"error":{"code":"unauthorized"}}', {"base_url": "https://a.example/v1"}, "refused the credentials with 401 (unauthorized): check base_url, which has the path '/v1'"),
            (401, b'{"error":{"code":"unauthorized"}}', {"base_url": "https://a.example/"}, "refused the credentials with 401 (unauthorized): make a new grant in the customer profile and use its refresh token, or check client_secret"),
            (404, b"", {"base_url": "https://a.example"}, "was not found (404): check base_url"),
            (405, b"<p>", {"base_url": "https://a.example/docs"}, "was not found (405): check base_url, which has the path '/docs'"),
        ])  # fmt: skip
    def test_refusal_names_its_cause(self, status: int, body: bytes, context: dict[str, Any], sentence: str) -> None:
        error = raised(TokenError, read_grant, Response(status=status, body=body), **context)
        assert error.message == f"the token endpoint {sentence}"
        assert not error.transient
        page = Response(status=200, body=b"<html>Welcome</html>")
        error = raised(TokenError, read_grant, page, base_url="https://a.example")
        assert error.message == "the response of the token endpoint is an HTML page: check base_url"

    def test_retry_after_is_kept_and_a_date_counts_from_that_of_the_answer(self) -> None:
        dated = {"retry-after": "Wed, 10 Jun 2026 12:00:30 GMT", "date": "Wed, 10 Jun 2026 12:00:00 GMT"}
        answers = [Response(status=429, headers=headers) for headers in ({"retry-after": "7"}, dated)]
        assert [raised(TokenError, read_grant, each, now=0.0).retry_after for each in answers] == [7, 30]

    def test_login_at_a_proxy_is_final_and_keeps_its_code(self) -> None:
        """Repeated, a wrong password locks the account at the proxy."""
        error = raised(TokenError, read_grant, Response(status=407))
        withheld = unreachable(RequestNotSentError("login", code=PROXY_AUTHENTICATION))
        assert unreachable(RequestNotSentError("refused")).transient
        assert unreachable(OSError("refused")).code is None
        assert (error.code, error.transient) == (PROXY_AUTHENTICATION, False)
        assert (withheld.code, withheld.transient) == (PROXY_AUTHENTICATION, False)


class TestLease:
    def test_is_refreshed_before_it_ends(self) -> None:
        lease = Lease.start(Secret("abc"), 900, asked_at=1000)
        assert (lease.refresh_at, lease.expires_at) == (1780, 1890)
        assert lease.authorization == Secret("Bearer abc")
        assert "abc" not in repr(lease)
        for seconds in (0, -5, 0.1, 1, 5, 60, 900, 1e9):
            lease = Lease.start(Secret("abc"), seconds, asked_at=0)
            assert lease.refresh_at <= lease.expires_at <= max(seconds, 0), seconds
