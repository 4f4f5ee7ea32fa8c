"""The arguments of a client from environment variables."""

import traceback
from typing import Any

import pytest

from brokerage_async.config import Environment, RefreshToken, settings_from_env
from brokerage_async.errors import ConfigurationError
from tests.tables import for_each

HIDDEN = "s3cr3t-value"

COMPLETE = {
    "BROKERAGE_BASE_URL": "https://a.example/",
    "BROKERAGE_CLIENT_SECRET": "cs",
    "BROKERAGE_REFRESH_TOKEN": "rt",
}


def test_least_variables_make_a_client_of_the_sandbox() -> None:
    settings = settings_from_env(COMPLETE)
    assert settings == {
        "environment": Environment.sandbox("https://a.example"),
        "credentials": RefreshToken(client_secret="cs", refresh_token="rt"),
    }


def test_optional_variables_are_read() -> None:
    more = {"ENVIRONMENT": "production", "CLIENT_ID": "id", "SCOPE": "read", "USER_AGENT": "me/1",
            "ACCEPT_VERSION": "20261012"}  # fmt: skip
    settings = settings_from_env(COMPLETE | {f"BROKERAGE_{key}": value for key, value in more.items()})
    assert settings["environment"].is_production
    assert settings["credentials"].client_id == "id"
    assert (settings["user_agent"], settings["accept_version"]) == ("me/1", "20261012")


def test_settings_published_addresses_follow_only_a_named_environment() -> None:
    secrets = {name: COMPLETE[name] for name in ("BROKERAGE_CLIENT_SECRET", "BROKERAGE_REFRESH_TOKEN")}
    for name in ("sandbox", "production"):
        environment = settings_from_env(secrets | {"BROKERAGE_ENVIRONMENT": name})["environment"]
        assert environment == getattr(Environment, name)()
    with pytest.raises(ConfigurationError) as caught:
        settings_from_env(secrets)
    (problem,) = caught.value.errors
    assert problem.domain == "BROKERAGE_BASE_URL"
    assert "BROKERAGE_ENVIRONMENT" in str(problem)
    moved = {"BROKERAGE_ENVIRONMENT": "sandbox", "BROKERAGE_STREAMER_URL": "wss://s.example"}
    assert settings_from_env(secrets | moved)["environment"] == Environment.sandbox(streamer_url="wss://s.example")


def test_hosts_are_listed_by_name() -> None:
    settings = settings_from_env(COMPLETE | {"BROKERAGE_HOSTS": "lab=https://lab.example/a=b, far=http://[::1]:1,"})
    assert settings["environment"].hosts == {"lab": "https://lab.example/a=b", "far": "http://[::1]:1"}


@for_each("wrong", ["https://lab.example", "lab=https://lab.example,far"])
def test_hosts_without_names_are_wrong(wrong: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        settings_from_env(COMPLETE | {"BROKERAGE_HOSTS": wrong})
    assert [problem.domain for problem in caught.value.errors] == ["BROKERAGE_HOSTS"]


def test_everything_wrong_is_named_at_once_without_values() -> None:
    with pytest.raises(ConfigurationError) as caught:
        settings_from_env({"BROKERAGE_CLIENT_SECRET": HIDDEN, "BROKERAGE_ENVIRONMENT": "prod"})
    assert [problem.domain for problem in caught.value.errors] == [
        "BROKERAGE_REFRESH_TOKEN",
        "BROKERAGE_ENVIRONMENT",
    ]
    assert HIDDEN not in str(caught.value)


@pytest.mark.parametrize("secret", [HIDDEN, f"{HIDDEN}\a"], ids=["missing", "unusable"])
def test_no_secret_in_the_frames_of_an_error(monkeypatch: pytest.MonkeyPatch, secret: Any) -> None:
    monkeypatch.setenv("BROKERAGE_CLIENT_SECRET", secret)
    if secret != HIDDEN:
        monkeypatch.setenv("BROKERAGE_BASE_URL", "http://a.example")
        monkeypatch.setenv("BROKERAGE_REFRESH_TOKEN", secret)
    with pytest.raises(ConfigurationError) as caught:
        settings_from_env()
    _, *frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True).stack
    assert frames
    assert HIDDEN not in repr([frame.locals for frame in frames])
