"""Credentials choose the source of tokens."""

from typing import Any

import pytest

from brokerage_async.auth.manager import ProvidedTokens, TokenManager, token_source
from brokerage_async.config import AuthorizationCode, Environment, Limits, RefreshToken, RetryPolicy, StaticToken
from brokerage_async.errors import ConfigurationError
from brokerage_async.http.limiter import Limiter
from brokerage_async.http.shared import Options, Tokens
from tests.fake_transport import FakeTransport

CODE = AuthorizationCode(client_id="id", client_secret="cs", redirect_uri="https://a.example", code="once")


def source(credentials: Any) -> Tokens:
    options = Options(timeout=1.0, deadline=None, retry=RetryPolicy(), headers={})
    environment = Environment.sandbox("https://api.example.com")
    return token_source(environment, credentials, FakeTransport(), Limiter(Limits()), options, None)


def test_credentials_choose_the_source_and_anything_else_is_refused() -> None:
    for credentials in (RefreshToken(client_secret="cs", refresh_token="rt"), CODE):
        made = source(credentials)
        assert isinstance(made, TokenManager)
        assert made.credentials == credentials
    assert isinstance(source(StaticToken("t")), ProvidedTokens)
    for wrong in ("t", None, StaticToken):
        with pytest.raises(ConfigurationError, match="credentials must be a RefreshToken"):
            source(wrong)
