"""Environments of the service: addresses, hosts, the page that grants access, and variables that name them."""

import pickle
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from brokerage_async.config import (
    Environment,
    RefreshToken,
    authorization_url,
    base_address,
    origin_of,
    settings_from_env,
)
from brokerage_async.errors import ConfigurationError
from tests.protocol.values import raised
from tests.tables import for_each

WITH_PAGE = Environment.sandbox("https://a.example", "https://my.example/auth")


def test_environment_without_base_url_has_the_published_addresses() -> None:
    production, sandbox = Environment.production(), Environment.sandbox()
    assert (production.is_production, sandbox.is_production) == (True, False)
    assert production == Environment(
        "production",
        "https://api.tastyworks.com",
        "https://my.tastytrade.com/auth.html",
        {"backtester": "https://backtester.vast.tastyworks.com"},
        "wss://streamer.tastyworks.com",
    )
    assert (sandbox.base_url, sandbox.streamer_url, sandbox.auth_page_url) == (
        "https://api.cert.tastyworks.com",
        "wss://streamer.cert.tastyworks.com",
        "https://cert-my.staging-tasty.works/auth.html",
    )
    moved = Environment.sandbox(streamer_url="wss://s.example", hosts={}, auth_page_url="https://p.example")
    assert (moved.base_url, moved.streamer_url) == (sandbox.base_url, "wss://s.example")
    assert (moved.hosts, moved.auth_page_url) == ({}, "https://p.example")


def test_environment_with_base_url_has_no_address_but_those_given() -> None:
    for make in (Environment.production, Environment.sandbox):
        environment = make("https://a.example")
        assert (environment.hosts, environment.streamer_url, environment.auth_page_url) == ({}, None, None)
        assert environment.address_of(None) == "https://a.example"
    plain = Environment.production("https://a.example")
    assert plain != Environment.sandbox("https://a.example")
    environment = Environment.production("https://a.example", hosts={"lab": "https://lab.example/v1/"})
    assert environment.hosts == {"lab": "https://lab.example/v1"}
    assert environment.address_of("lab") == "https://lab.example/v1"
    assert environment.origin == "https://a.example"
    assert hash(environment) == hash(plain)
    assert environment != plain
    assert pickle.loads(pickle.dumps(environment)) == environment


@for_each(
    "page, more, url",
    [
        ("https://my.example/auth.html",
         {"client_id": "id&1", "redirect_uri": "https://app.example/back?x=1", "scope": "read trade", "state": "s/t"},
         "https://my.example/auth.html?client_id=id%261&redirect_uri=https%3A%2F%2Fapp.example%2Fback%3Fx%3D1"
         "&response_type=code&scope=read%20trade&state=s%2Ft"),
        ("https://my.example/auth?lang=en", {"redirect_uri": "https://b.example"},
         "https://my.example/auth?lang=en&client_id=i&redirect_uri=https%3A%2F%2Fb.example&response_type=code"),
        ("https://my.example/#/auth", {}, "https://my.example/?client_id=i&redirect_uri=u&response_type=code#/auth"),
    ],
)  # fmt: skip
def test_authorization_url_encodes_its_parts_before_the_fragment(page: str, more: dict[str, str], url: str) -> None:
    assert page_url(sandbox(auth_page_url=page), **more) == url


def sandbox(**options: Any) -> Environment:
    return Environment.sandbox(**{"base_url": "https://a.example"} | options)


def page_url(environment: Any = WITH_PAGE, **options: Any) -> str:
    return authorization_url(environment, **{"client_id": "i", "redirect_uri": "u", **options})


UNUSABLE: list[tuple[Callable[..., object], str, list[Any], str]] = [
    (partial(Environment, base_url="https://a.example"), "name", ["prod", "Production", "", None, 5],
     "production or sandbox"),
    (sandbox, "base_url",
     ["api.example.com", "https://user:hunter2@a.example", "user:hunter2@a.example", "hunter2"],
     "base_url must be an absolute http or https address"),
    (sandbox, "streamer_url",
     ["ws://[::1]evil.com", "wss://[::1].evil.com:80/x", "ws://evil.com[::1]", "ws://[::1]:80evil.com",
      "https://x.example", "wss://user@x.example", "wss://", "wss://a b"],
     "streamer_url must be an absolute wss address"),
    (sandbox, "hosts", [{"lab": each} for each in
                        ("https://u:p@a.example", "lab.example", "https://a.example?x=1", None)], r"hosts\['lab'\]"),
    (sandbox, "hosts", ["https://a.example", ["lab"], {1: "https://a.example"}],
     "hosts must map names to addresses, got"),
    (sandbox, "auth_page_url", [5], "auth_page_url must be a string"),
    (sandbox, "auth_page_url",
     ["javascript:alert(1)", "auth.html", "//a.example/auth", "ftp://a.example", "https://u:hunter2@a.example",
      "https://", "https://[::1", "https://a.example/a b", ""],
     "auth_page_url must be an absolute http or https"),
    (page_url, "environment", [None, "sandbox", 5], "environment must be of type Environment"),
    (page_url, "environment", [sandbox()], "auth_page_url"),
    (page_url, "client_id", [5], "client_id must be a string"),
    (page_url, "redirect_uri", [b"u"], "redirect_uri must be a string"),
    (page_url, "scope", [["read"]], "scope must be a string"),
    (page_url, "state", ["a\n"], "state must be a string"),
    (page_url, "client_id", [""], "client_id and redirect_uri are required"),
    (page_url, "redirect_uri", [""], "client_id and redirect_uri are required"),
]  # fmt: skip


@for_each("make, name, wrong, reason", [(*row, wrong, said) for *row, values, said in UNUSABLE for wrong in values])
def test_unusable_argument_is_named_and_no_password_shown(make: Any, name: str, wrong: Any, reason: str) -> None:
    error = raised(ConfigurationError, make, match=reason, **{name: wrong})
    assert "hunter2" not in str(error)


@for_each(
    "wrong",
    ["", "api.example.com", "/api", "ftp://a.example", "https://", "https://u:p@a.example", "https://a.example?x=1",
     "https://a.example/?", "https://a.example#x", "https://a.example/#", "https://a.example/a b",
     "https://bücher.example", "https://a.example:port", "https://[::1", "http://[::1]evil.example",
     "http://evil.example[::1]", "http://[::1].evil.example:80", "https://a.example\n", b"https://a.example", None,
     "https://.", "https://a.example\\.evil.example", "https://[v1.x:y]"],
)  # fmt: skip
def test_unusable_base_address_is_named(wrong: Any) -> None:
    raised(ConfigurationError, base_address, wrong, match="base_url")
    raised(ConfigurationError, base_address, wrong, "streamer", match="streamer")


@for_each(
    "address, kept, origin",
    [
        ("https://api.example.com/", "https://api.example.com", "https://api.example.com"),
        ("HTTPS://API.Example.com:443/v1/", "HTTPS://API.Example.com:443/v1", "https://api.example.com"),
        ("https://gate.example/brokerage/v1//", "https://gate.example/brokerage/v1", "https://gate.example"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://localhost:80", "http://localhost:80", "http://localhost"),
        ("https://localhost:80/x", "https://localhost:80/x", "https://localhost:80"),
        ("http://[::1]:8080/", "http://[::1]:8080", "http://[::1]:8080"),
        ("https://[2001:DB8::1]", "https://[2001:DB8::1]", "https://[2001:db8::1]"),
        ("https://[2001:db8:0:0::0001]:443", "https://[2001:db8:0:0::0001]:443", "https://[2001:db8::1]"),
        ("https://[::FFFF:7f00:1]", "https://[::FFFF:7f00:1]", "https://[::ffff:127.0.0.1]"),
        ("https://API.Example.com./v1", "https://API.Example.com./v1", "https://api.example.com"),
        ("https://api.example.com.:8443", "https://api.example.com.:8443", "https://api.example.com:8443"),
    ],
)
def test_address_has_no_slash_at_its_end_and_names_a_service_in_one_way(address: str, kept: str, origin: str) -> None:
    assert (base_address(address), origin_of(address)) == (kept, origin)
    environment = Environment.sandbox(address)
    assert (environment.base_url, environment.origin) == (kept, origin)


HIDDEN = "s3cr3t-value"

SECRETS = {"BROKERAGE_CLIENT_SECRET": "cs", "BROKERAGE_REFRESH_TOKEN": "rt"}
WHOLE = {"BROKERAGE_BASE_URL": "https://a.example/", **SECRETS}


def test_settings_are_those_of_the_variables() -> None:
    assert settings_from_env(WHOLE) == {
        "environment": Environment.sandbox("https://a.example"),
        "credentials": RefreshToken(client_secret="cs", refresh_token="rt"),
    }
    more = {"ENVIRONMENT": "production", "CLIENT_ID": "id", "SCOPE": "read", "USER_AGENT": "me/1",
            "ACCEPT_VERSION": "20261012", "HOSTS": "lab=https://lab.example/a=b, far=http://[::1]:1,"}  # fmt: skip
    settings = settings_from_env(WHOLE | {f"BROKERAGE_{key}": value for key, value in more.items()})
    assert settings["environment"].is_production
    assert settings["environment"].hosts == {"lab": "https://lab.example/a=b", "far": "http://[::1]:1"}
    assert settings["credentials"].client_id == "id"
    assert (settings["user_agent"], settings["accept_version"]) == ("me/1", "20261012")


def test_settings_published_addresses_follow_only_a_named_environment() -> None:
    for name in ("sandbox", "production"):
        environment = settings_from_env(SECRETS | {"BROKERAGE_ENVIRONMENT": name})["environment"]
        assert environment == getattr(Environment, name)()
    (problem,) = raised(ConfigurationError, settings_from_env, SECRETS).errors
    assert problem.domain == "BROKERAGE_BASE_URL"
    assert "BROKERAGE_ENVIRONMENT" in str(problem)
    moved = {"BROKERAGE_ENVIRONMENT": "sandbox", "BROKERAGE_STREAMER_URL": "wss://s.example"}
    assert settings_from_env(SECRETS | moved)["environment"] == Environment.sandbox(streamer_url="wss://s.example")


@for_each(
    "given, wrong",
    [
        (WHOLE | {"BROKERAGE_HOSTS": "https://lab.example"}, ["BROKERAGE_HOSTS"]),
        (WHOLE | {"BROKERAGE_HOSTS": "lab=https://lab.example,far"}, ["BROKERAGE_HOSTS"]),
        (
            WHOLE | {f"BROKERAGE_{name}": f"ftp://u:{HIDDEN}@x" for name in ("BASE_URL", "STREAMER_URL")},
            ["BROKERAGE_BASE_URL", "BROKERAGE_STREAMER_URL"],
        ),
        (
            {"BROKERAGE_CLIENT_SECRET": HIDDEN, "BROKERAGE_ENVIRONMENT": "prod"},
            ["BROKERAGE_REFRESH_TOKEN", "BROKERAGE_ENVIRONMENT"],
        ),
    ],
)
def test_everything_wrong_is_named_at_once_without_values(given: dict[str, str], wrong: list[str]) -> None:
    error = raised(ConfigurationError, settings_from_env, given)
    assert [problem.domain for problem in error.errors] == wrong
    assert HIDDEN not in str(error)


@pytest.mark.parametrize("secret", [HIDDEN, f"{HIDDEN}\a"], ids=["missing", "unusable"])
def test_no_secret_in_the_frames_of_an_error(monkeypatch: pytest.MonkeyPatch, secret: Any) -> None:
    monkeypatch.setenv("BROKERAGE_CLIENT_SECRET", secret)
    if secret != HIDDEN:
        monkeypatch.setenv("BROKERAGE_BASE_URL", "http://a.example")
        monkeypatch.setenv("BROKERAGE_REFRESH_TOKEN", secret)
    error = raised(ConfigurationError, settings_from_env)
    _, *frames = traceback.TracebackException.from_exception(error, capture_locals=True).stack
    assert frames
    assert HIDDEN not in repr([frame.locals for frame in frames])
