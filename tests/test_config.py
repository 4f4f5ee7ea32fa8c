"""The values that configure a client."""

from __future__ import annotations

import pickle
import pprint
import traceback
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async.client import Client
from brokerage_async.config import (
    AuthorizationCode,
    Environment,
    Limits,
    RefreshToken,
    RetryPolicy,
    Secret,
    StaticToken,
    TokenProvider,
    authorization_url,
    settings_from_env,
)
from brokerage_async.errors import ConfigurationError
from tests.loops import on_real_time

HIDDEN = "s3cr3t-value"
CREDENTIALS = [
    RefreshToken(client_secret=HIDDEN, refresh_token=HIDDEN, client_id="app", scope="read"),
    AuthorizationCode(client_id="app", client_secret=HIDDEN, redirect_uri="https://app.example/back", code=HIDDEN),
    StaticToken(HIDDEN),
]


@pytest.mark.parametrize("credentials", CREDENTIALS, ids=lambda value: type(value).__name__)
class TestSecrets:
    def test_show_in_no_dump(self, credentials: Any) -> None:
        dumps = [repr(credentials), str(credentials), f"{credentials}", pprint.pformat(credentials)]
        dumps += [repr(attrs.asdict(credentials)), repr([credentials]), pprint.pformat(attrs.astuple(credentials))]
        assert not [dump for dump in dumps if HIDDEN in dump]

    def test_have_no_dict_to_dump(self, credentials: Any) -> None:
        with pytest.raises(TypeError):
            vars(credentials)

    def test_survive_pickling(self, credentials: Any) -> None:
        assert pickle.loads(pickle.dumps(credentials)) == credentials

    def test_cannot_be_changed(self, credentials: Any) -> None:
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            credentials.client_secret = "other"


def test_secret_is_its_text_except_in_a_repr() -> None:
    secret = Secret("abc")
    assert secret == "abc"
    assert f"Bearer {secret}" == "Bearer abc"
    assert "abc" not in repr({"Authorization": secret})


@pytest.mark.parametrize("wrong", ["", "  ", None, 5])
def test_missing_secret_is_named_not_shown(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"RefreshToken\.refresh_token must be a non-empty string"):
        RefreshToken(client_secret="x", refresh_token=wrong)


@on_real_time
async def test_static_token_gives_itself_and_nothing_else() -> None:
    token = StaticToken("abc")
    assert isinstance(token, TokenProvider)
    assert await token.get_token() == "abc"
    assert token.invalidate("abc") is False


class TestEnvironment:
    def test_two_worlds(self) -> None:
        assert Environment.production("https://a.example").is_production
        assert not Environment.sandbox("https://a.example").is_production
        assert Environment.production("https://a.example") != Environment.sandbox("https://a.example")

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("https://api.example.com/", "https://api.example.com"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://gate.example/brokerage/v1//", "https://gate.example/brokerage/v1"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
        ],
    )
    def test_base_address(self, given: str, kept: str) -> None:
        assert Environment.sandbox(given).base_url == kept

    @pytest.mark.parametrize(
        ("given", "origin"),
        [
            ("https://api.example.com/", "https://api.example.com"),
            ("HTTPS://API.Example.com:443/v1", "https://api.example.com"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://localhost:80", "http://localhost"),
            ("https://localhost:80/x", "https://localhost:80"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
            ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
        ],
    )
    def test_origin_names_a_service_in_one_way(self, given: str, origin: str) -> None:
        assert Environment.sandbox(given).origin == origin

    @pytest.mark.parametrize(
        "wrong",
        ["", "api.example.com", "/api", "ftp://a.example", "https://", "https://u:p@a.example", "https://a.example?x=1",
         "https://a.example/?", "https://a.example#x", "https://a.example/#", "https://a.example/a b",
         "https://bücher.example", "https://a.example:port", "https://[::1", "http://[::1]evil.example",
         "http://evil.example[::1]", "http://[::1].evil.example:80", "https://a.example\n", b"https://a.example",
         None],
    )  # fmt: skip
    def test_unusable_base_address(self, wrong: Any) -> None:
        with pytest.raises(ConfigurationError, match="base_url"):
            Environment.production(wrong)

    def test_hosts_are_none_unless_given(self) -> None:
        environment = Environment.sandbox("https://a.example")
        assert environment.hosts == {}
        assert environment.address_of(None) == "https://a.example"

    def test_hosts_have_addresses_of_their_own(self) -> None:
        environment = Environment.production("https://a.example", hosts={"lab": "https://lab.example/v1/"})
        assert environment.hosts == {"lab": "https://lab.example/v1"}
        assert environment.address_of("lab") == "https://lab.example/v1"
        assert environment.origin == "https://a.example"
        assert hash(environment) == hash(Environment.production("https://a.example"))
        assert environment != Environment.production("https://a.example")
        assert pickle.loads(pickle.dumps(environment)) == environment

    @pytest.mark.parametrize("wrong", ["https://u:p@a.example", "lab.example", "https://a.example?x=1", None])
    def test_unusable_address_of_a_host_is_named(self, wrong: Any) -> None:
        with pytest.raises(ConfigurationError, match=r"hosts\['lab'\]"):
            Environment.sandbox("https://a.example", hosts={"lab": wrong})

    @pytest.mark.parametrize("wrong", ["https://a.example", ["lab"], {1: "https://a.example"}])
    def test_hosts_must_be_a_mapping(self, wrong: Any) -> None:
        with pytest.raises(ConfigurationError, match="hosts must map names to addresses, got"):
            Environment.sandbox("https://a.example", hosts=wrong)

    @pytest.mark.parametrize("address", ["https://user:hunter2@a.example", "user:hunter2@a.example", "hunter2"])
    def test_password_in_address_is_not_repeated(self, address: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            Environment.production(address)
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize("name", ["prod", "Production", "", None, 5])
    def test_there_are_two_environments(self, name: Any) -> None:
        with pytest.raises(ConfigurationError, match="production or sandbox"):
            Environment(name, "https://a.example")

    def test_page_must_be_a_text(self) -> None:
        with pytest.raises(ConfigurationError, match="auth_page_url must be a string"):
            Environment.sandbox("https://a.example", 5)

    @pytest.mark.parametrize(
        "page",
        ["javascript:alert(1)", "auth.html", "//a.example/auth", "ftp://a.example", "https://u:hunter2@a.example",
         "https://", "https://[::1", "https://a.example/a b", ""],
    )  # fmt: skip
    def test_page_must_be_an_address(self, page: str) -> None:
        with pytest.raises(ConfigurationError, match="auth_page_url must be an absolute http or https") as caught:
            Environment.sandbox("https://a.example", page)
        assert "hunter2" not in str(caught.value)


class TestAuthorizationUrl:
    def test_everything_encoded(self) -> None:
        url = authorization_url(
            Environment.sandbox("https://a.example", "https://my.example/auth.html"),
            client_id="id&1",
            redirect_uri="https://app.example/back?x=1",
            scope="read trade",
            state="s/t",
        )
        assert url == (
            "https://my.example/auth.html?client_id=id%261&redirect_uri=https%3A%2F%2Fapp.example%2Fback%3Fx%3D1"
            "&response_type=code&scope=read%20trade&state=s%2Ft"
        )

    def test_optional_parts_left_out(self) -> None:
        environment = Environment.sandbox("https://a.example", "https://my.example/auth?lang=en")
        assert authorization_url(environment, client_id="i", redirect_uri="https://b.example").endswith(
            "?lang=en&client_id=i&redirect_uri=https%3A%2F%2Fb.example&response_type=code"
        )

    def test_fragment_of_the_page_stays_behind_the_query(self) -> None:
        environment = Environment.sandbox("https://a.example", "https://my.example/#/auth")
        url = authorization_url(environment, client_id="i", redirect_uri="u")
        assert url == "https://my.example/?client_id=i&redirect_uri=u&response_type=code#/auth"

    @pytest.mark.parametrize("wrong", [None, "sandbox", 5])
    def test_needs_an_environment(self, wrong: Any) -> None:
        with pytest.raises(ConfigurationError, match="environment must be of type Environment"):
            authorization_url(wrong, client_id="i", redirect_uri="u")

    def test_needs_the_page(self) -> None:
        with pytest.raises(ConfigurationError, match="auth_page_url"):
            authorization_url(Environment.sandbox("https://a.example"), client_id="i", redirect_uri="u")


class TestPolicies:
    @pytest.mark.parametrize(
        "arguments",
        [
            {"max_attempts": 0}, {"base_delay": -1}, {"max_delay": -1}, {"max_retry_after": -1}, {"budget": 0},
            {"max_attempts": None}, {"max_attempts": 2.5}, {"max_attempts": float("inf")}, {"budget": 0.5},
            {"jitter": 0.5}, {"base_delay": float("inf")}, {"max_delay": 10**400}, {"max_retry_after": float("inf")},
        ],
    )  # fmt: skip
    def test_senseless_retry_policy(self, arguments: Any) -> None:
        with pytest.raises(ConfigurationError, match=rf"RetryPolicy\.{next(iter(arguments))}"):
            RetryPolicy(**arguments)

    def test_none_sends_once(self) -> None:
        assert RetryPolicy.none().max_attempts == 1

    def test_values_compare_and_hash(self) -> None:
        assert RetryPolicy(jitter=lambda: 0.5) == RetryPolicy()
        assert len({RetryPolicy(), RetryPolicy(), Limits(), Limits()}) == 2

    @pytest.mark.parametrize("arguments", [{"reads": 0}, {"trades": -1}, {"tokens": 0}, {"reads_per_second": 0.0},
                                           {"reads": 2.5}, {"adaptive": "no"}])  # fmt: skip
    def test_senseless_limits(self, arguments: Any) -> None:
        with pytest.raises(ConfigurationError, match=rf"Limits\.{next(iter(arguments))}"):
            Limits(**arguments)

    def test_rates_of_operations_must_be_positive(self) -> None:
        with pytest.raises(ConfigurationError, match=r"orders\.live"):
            Limits(per_operation={"orders.live": 0})

    def test_unlimited(self) -> None:
        limits = Limits.unlimited()
        assert (limits.reads, limits.trades, limits.tokens, limits.adaptive) == (None, None, None, False)


COMPLETE = {
    "BROKERAGE_BASE_URL": "https://a.example/",
    "BROKERAGE_CLIENT_SECRET": "cs",
    "BROKERAGE_REFRESH_TOKEN": "rt",
}


class TestFromEnv:
    def test_least(self) -> None:
        settings = settings_from_env(COMPLETE)
        assert settings == {
            "environment": Environment.sandbox("https://a.example"),
            "credentials": RefreshToken(client_secret="cs", refresh_token="rt"),
        }

    def test_most(self) -> None:
        more = {"ENVIRONMENT": "production", "CLIENT_ID": "id", "SCOPE": "read", "USER_AGENT": "me/1",
                "ACCEPT_VERSION": "20261012"}  # fmt: skip
        settings = settings_from_env(COMPLETE | {f"BROKERAGE_{key}": value for key, value in more.items()})
        assert settings["environment"].is_production
        assert settings["credentials"].client_id == "id"
        assert (settings["user_agent"], settings["accept_version"]) == ("me/1", "20261012")

    def test_hosts(self) -> None:
        settings = settings_from_env(COMPLETE | {"BROKERAGE_HOSTS": "lab=https://lab.example/a=b, far=http://[::1]:1,"})
        assert settings["environment"].hosts == {"lab": "https://lab.example/a=b", "far": "http://[::1]:1"}

    @pytest.mark.parametrize("wrong", ["https://lab.example", "lab=https://lab.example,far"])
    def test_hosts_without_names_are_wrong(self, wrong: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            settings_from_env(COMPLETE | {"BROKERAGE_HOSTS": wrong})
        assert [problem.domain for problem in caught.value.errors] == ["BROKERAGE_HOSTS"]

    def test_everything_wrong_is_named_at_once_without_values(self) -> None:
        with pytest.raises(ConfigurationError) as caught:
            settings_from_env({"BROKERAGE_CLIENT_SECRET": HIDDEN, "BROKERAGE_ENVIRONMENT": "prod"})
        assert [problem.domain for problem in caught.value.errors] == [
            "BROKERAGE_BASE_URL",
            "BROKERAGE_REFRESH_TOKEN",
            "BROKERAGE_ENVIRONMENT",
        ]
        assert HIDDEN not in str(caught.value)

    @pytest.mark.parametrize("secret", [HIDDEN, f"{HIDDEN}\a"], ids=["missing", "unusable"])
    def test_no_secret_in_the_frames_of_an_error(self, monkeypatch: pytest.MonkeyPatch, secret: Any) -> None:
        monkeypatch.setenv("BROKERAGE_CLIENT_SECRET", secret)
        if secret != HIDDEN:
            monkeypatch.setenv("BROKERAGE_BASE_URL", "http://a.example")
            monkeypatch.setenv("BROKERAGE_REFRESH_TOKEN", secret)
        with pytest.raises(ConfigurationError) as caught:
            settings_from_env()
        _, *frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True).stack
        assert frames
        assert HIDDEN not in repr([frame.locals for frame in frames])


@pytest.mark.parametrize("wrong", ["3", b"3", True, [], float("nan"), Decimal("NaN"), Decimal(3)], ids=repr)
@pytest.mark.parametrize("kind", [RetryPolicy, Limits])
def test_what_is_no_number_is_named(kind: Any, wrong: Any) -> None:
    for field in attrs.fields(kind):
        if field.name not in ("jitter", "adaptive", "per_operation"):
            with pytest.raises(ConfigurationError, match=field.name):
                kind(**{field.name: wrong})
    with pytest.raises(ConfigurationError):
        Limits(per_operation={"orders.list": wrong})


@pytest.mark.parametrize("wrong", ["token\n", "to\0ken", "\udc80"])
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


@pytest.mark.parametrize("name", ["environment", "retry", "limits", "credentials"])
def test_a_client_names_the_argument_of_the_wrong_kind(name: str) -> None:
    settings = {"environment": Environment.sandbox("https://service"), "credentials": StaticToken("t")}
    for wrong in (None, "x", 5):
        with pytest.raises(ConfigurationError):
            Client(**(settings | {name: wrong}))
