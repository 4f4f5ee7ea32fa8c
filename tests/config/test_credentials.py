"""Credentials, and the secrets in them."""

import pickle
import pprint
from typing import Any

import attrs
import pytest

from brokerage_async.config import AuthorizationCode, RefreshToken, Secret, StaticToken
from brokerage_async.errors import ConfigurationError
from tests.tables import for_each

HIDDEN = "s3cr3t-value"
CREDENTIALS = [
    RefreshToken(client_secret=HIDDEN, refresh_token=HIDDEN, client_id="app", scope="read"),
    AuthorizationCode(client_id="app", client_secret=HIDDEN, redirect_uri="https://app.example/back", code=HIDDEN),
    StaticToken(HIDDEN),
]


@for_each("credentials", CREDENTIALS)
def test_credentials_show_in_no_dump_survive_pickling_and_cannot_be_changed(credentials: Any) -> None:
    dumps = [repr(credentials), str(credentials), f"{credentials}", pprint.pformat(credentials)]
    dumps += [repr(attrs.asdict(credentials)), repr([credentials]), pprint.pformat(attrs.astuple(credentials))]
    assert not [dump for dump in dumps if HIDDEN in dump]
    with pytest.raises(TypeError):
        vars(credentials)
    assert pickle.loads(pickle.dumps(credentials)) == credentials
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        credentials.client_secret = "other"


def test_credentials_secrets_are_secrets_and_taken_as_such() -> None:
    first = RefreshToken(client_secret="abc", refresh_token="def")
    again = RefreshToken(client_secret=first.client_secret, refresh_token=Secret("def"))
    assert first == again
    assert (again.client_secret.reveal(), again.refresh_token.reveal()) == ("abc", "def")
    for blank in (Secret(), Secret("  "), "", "  ", None, 5):
        with pytest.raises(ConfigurationError, match=r"RefreshToken\.refresh_token must be a non-empty string"):
            RefreshToken(client_secret="x", refresh_token=blank)  # type: ignore[arg-type]


@for_each("wrong", ["token\n", "to\0ken", "\udc80"])
def test_secrets_that_no_header_could_carry(wrong: str) -> None:
    for make in (
        lambda: StaticToken(wrong),
        lambda: RefreshToken(client_secret=wrong, refresh_token="r"),
        lambda: RefreshToken(client_secret="s", refresh_token=wrong),
        lambda: RefreshToken(client_secret="s", refresh_token="r", client_id=5),
        lambda: AuthorizationCode(client_id=wrong, client_secret="s", redirect_uri="u", code="c"),
        lambda: AuthorizationCode(client_id=5, client_secret="s", redirect_uri="u", code="c"),
        lambda: AuthorizationCode(client_id="i", client_secret="s", redirect_uri="", code="c"),
        lambda: RefreshToken(client_secret="s", refresh_token="r", scope=["read"]),
    ):
        with pytest.raises(ConfigurationError) as caught:
            make()
        assert "ken" not in str(caught.value).replace("Token", "").replace("token", "")
