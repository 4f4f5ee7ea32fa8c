"""The environments of the service, and the page that grants access."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from brokerage_async.config import Environment, authorization_url
from brokerage_async.errors import ConfigurationError


class TestEnvironment:
    def test_two_worlds(self) -> None:
        assert Environment.production("https://a.example").is_production
        assert not Environment.sandbox("https://a.example").is_production
        assert Environment.production("https://a.example") != Environment.sandbox("https://a.example")

    def test_environment_without_base_url_has_the_published_addresses(self) -> None:
        production, sandbox = Environment.production(), Environment.sandbox()
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

    def test_environment_with_base_url_has_no_published_address(self) -> None:
        for make in (Environment.production, Environment.sandbox):
            environment = make("https://a.example")
            assert (environment.hosts, environment.streamer_url, environment.auth_page_url) == ({}, None, None)

    def test_address_is_kept_in_one_form(self) -> None:
        environment = Environment.sandbox("HTTPS://API.Example.com:443/v1/")
        assert environment.base_url == "HTTPS://API.Example.com:443/v1"
        assert environment.origin == "https://api.example.com"

    def test_streamer_with_a_host_behind_brackets_is_refused(self) -> None:
        for address in (
            "ws://[::1]evil.com",
            "wss://[::1].evil.com:80/x",
            "ws://evil.com[::1]",
            "ws://[::1]:80evil.com",
        ):
            with pytest.raises(ConfigurationError, match="streamer_url must be an absolute wss address"):
                Environment.sandbox("https://a.example", streamer_url=address)

    def test_unusable_address_is_named(self) -> None:
        with pytest.raises(ConfigurationError, match="base_url must be an absolute http or https address"):
            Environment.production("api.example.com")

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

    @pytest.mark.parametrize(
        "values", [{"client_id": 5}, {"redirect_uri": b"u"}, {"scope": ["read"]}, {"state": "a\n"}]
    )
    def test_needs_strings_that_can_be_shown(self, values: Any) -> None:
        environment = Environment.sandbox("https://a.example", "https://my.example/auth")
        with pytest.raises(ConfigurationError, match=f"{next(iter(values))} must be a string"):
            authorization_url(environment, **{"client_id": "i", "redirect_uri": "u", **values})

    @pytest.mark.parametrize("missing", ["client_id", "redirect_uri"])
    def test_needs_an_application_and_an_address_to_go_back_to(self, missing: str) -> None:
        environment = Environment.sandbox("https://a.example", "https://my.example/auth")
        with pytest.raises(ConfigurationError, match="client_id and redirect_uri are required"):
            authorization_url(environment, **{"client_id": "i", "redirect_uri": "u", missing: ""})
