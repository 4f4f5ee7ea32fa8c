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


@pytest.mark.parametrize("credentials", [RefreshToken(client_secret="cs", refresh_token="rt"), CODE])
def test_grants_are_exchanged(credentials: Any) -> None:
    made = source(credentials)
    assert isinstance(made, TokenManager)
    assert made.credentials == credentials


def test_other_tokens_come_from_their_provider() -> None:
    assert isinstance(source(StaticToken("t")), ProvidedTokens)


@pytest.mark.parametrize("credentials", ["t", None, StaticToken])
def test_anything_else_is_refused(credentials: Any) -> None:
    with pytest.raises(ConfigurationError, match="credentials must be a RefreshToken"):
        source(credentials)
