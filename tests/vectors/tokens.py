"""The token endpoint. Its bodies are not dasherized, and its success is not wrapped in ``data``."""

from brokerage_async._generated.models import GrantType, TokenRequest
from tests.vectors.exchange import Exchange

EXCHANGES = (
    Exchange(
        name="a refresh returns no refresh token",
        operation="oauth.token",
        arguments=(
            TokenRequest(
                grant_type=GrantType.REFRESH_TOKEN,
                refresh_token="invented-refresh",
                client_secret="invented-secret",
            ),
        ),
        method="POST",
        target="/oauth/token",
        sent="""
        {
          "grant_type": "refresh_token",
          "refresh_token": "invented-refresh",
          "client_secret": "invented-secret"
        }
        """,
        answer='{"access_token":"invented-access","token_type":"Bearer","expires_in":900}',
        facts={
            "access_token": "invented-access",
            "token_type": "Bearer",
            "expires_in": 900,
            "refresh_token": None,
            "id_token": None,
        },
    ),
    Exchange(
        name="a refresh that says who and what for",
        operation="oauth.token",
        arguments=(
            TokenRequest(
                grant_type=GrantType.REFRESH_TOKEN,
                refresh_token="invented-refresh",
                client_secret="invented-secret",
                client_id="invented-client",
                scope="read trade",
            ),
        ),
        method="POST",
        target="/oauth/token",
        sent="""
        {
          "grant_type": "refresh_token",
          "refresh_token": "invented-refresh",
          "client_secret": "invented-secret",
          "client_id": "invented-client",
          "scope": "read trade"
        }
        """,
        answer='{"access_token":"invented-access","token_type":"Bearer","expires_in":900}',
        facts={"access_token": "invented-access"},
    ),
    Exchange(
        name="an authorization code is exchanged",
        operation="oauth.token",
        arguments=(
            TokenRequest(
                grant_type=GrantType.AUTHORIZATION_CODE,
                code="invented-code",
                client_id="invented-client",
                client_secret="invented-secret",
                redirect_uri="https://app.example.com/done",
            ),
        ),
        method="POST",
        target="/oauth/token",
        sent="""
        {
          "grant_type": "authorization_code",
          "client_secret": "invented-secret",
          "client_id": "invented-client",
          "code": "invented-code",
          "redirect_uri": "https://app.example.com/done"
        }
        """,
        answer="""
        {
          "access_token": "invented-access",
          "refresh_token": "invented-refresh",
          "token_type": "Bearer",
          "expires_in": 900,
          "id_token": "invented-id"
        }
        """,
        facts={
            "access_token": "invented-access",
            "refresh_token": "invented-refresh",
            "expires_in": 900,
            "id_token": "invented-id",
        },
    ),
)
