"""Credentials, their secrets, and the policies of a client."""

import pickle
import pprint
import random
import uuid
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async.config import (
    AuthorizationCode,
    Limits,
    RefreshToken,
    RetryPolicy,
    Secret,
    StaticToken,
    chance,
    new_identifier,
)
from brokerage_async.errors import ConfigurationError
from tests.protocol.values import raised
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
    raised(TypeError, vars, credentials)
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
        error = raised(ConfigurationError, make)
        assert "ken" not in str(error).replace("Token", "").replace("token", "")


@for_each("kind, arguments", [
    *((RetryPolicy, wrong) for wrong in (
        {"max_attempts": 0}, {"base_delay": -1}, {"max_delay": -1}, {"max_retry_after": -1}, {"budget": 0},
        {"max_attempts": None}, {"max_attempts": 2.5}, {"max_attempts": float("inf")}, {"budget": 0.5},
        {"jitter": 0.5}, {"base_delay": float("inf")}, {"max_delay": 10**400}, {"max_retry_after": float("inf")},
    )),
    *((Limits, wrong) for wrong in (
        {"reads": 0}, {"trades": -1}, {"tokens": 0}, {"reads_per_second": 0.0}, {"reads": 2.5}, {"adaptive": "no"},
    )),
])  # fmt: skip
def test_senseless_retry_policy_or_limits(kind: Any, arguments: Any) -> None:
    raised(ConfigurationError, kind, match=rf"{kind.__name__}\.{next(iter(arguments))}", **arguments)


def test_policies_compare_and_hash_and_may_be_switched_off() -> None:
    assert RetryPolicy.none().max_attempts == 1
    limits = Limits.unlimited()
    assert (limits.reads, limits.trades, limits.tokens, limits.adaptive) == (None, None, None, False)
    assert RetryPolicy(jitter=lambda: 0.5) == RetryPolicy()
    assert len({RetryPolicy(), RetryPolicy(), Limits(), Limits()}) == 2


@for_each("wrong", ["3", b"3", True, [], float("nan"), Decimal("NaN"), Decimal(3)])
@for_each("kind", [RetryPolicy, Limits])
def test_what_is_no_number_is_named(kind: Any, wrong: Any) -> None:
    for field in attrs.fields(kind):
        if field.name not in ("jitter", "adaptive", "per_operation"):
            raised(ConfigurationError, kind, match=field.name, **{field.name: wrong})
    for rate in (wrong, 0):
        raised(ConfigurationError, Limits, per_operation={"orders.list": rate}, match=r"orders\.list")


def test_system_values_neither_read_nor_change_random_and_uuid_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may seed and patch both. Its real orders must have other identifiers in each run."""
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=7))
    drawn = []
    for _ in range(2):
        random.seed(1)
        state = random.getstate()
        drawn.append((chance(), new_identifier()))
        assert random.getstate() == state
    assert drawn[0] != drawn[1]
    assert all(0 <= fraction < 1 and uuid.UUID(name).version == 4 for fraction, name in drawn)
