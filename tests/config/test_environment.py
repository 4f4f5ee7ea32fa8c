"""The environments of the service, and the page that grants access."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from brokerage_async.config import Environment, authorization_url
from brokerage_async.errors import ConfigurationError
from tests.tables import for_each

WITH_PAGE = Environment.sandbox("https://a.example", "https://my.example/auth")


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
            assert environment.address_of(None) == "https://a.example"

    def test_address_is_kept_in_one_form(self) -> None:
        environment = Environment.sandbox("HTTPS://API.Example.com:443/v1/")
        assert environment.base_url == "HTTPS://API.Example.com:443/v1"
        assert environment.origin == "https://api.example.com"

    def test_hosts_have_addresses_of_their_own(self) -> None:
        environment = Environment.production("https://a.example", hosts={"lab": "https://lab.example/v1/"})
        assert environment.hosts == {"lab": "https://lab.example/v1"}
        assert environment.address_of("lab") == "https://lab.example/v1"
        assert environment.origin == "https://a.example"
        assert hash(environment) == hash(Environment.production("https://a.example"))
        assert environment != Environment.production("https://a.example")
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
    return Environment.sandbox("https://a.example", **options)


def page_url(environment: Any = WITH_PAGE, **options: Any) -> str:
    return authorization_url(environment, **{"client_id": "i", "redirect_uri": "u", **options})


@for_each(
    "make, reason",
    [
        (lambda: Environment.production("api.example.com"), "base_url must be an absolute http or https address"),
        *(
            (lambda address=address: Environment.production(address), "base_url must be")
            for address in ("https://user:hunter2@a.example", "user:hunter2@a.example", "hunter2")
        ),
        *(
            (lambda name=name: Environment(name, "https://a.example"), "production or sandbox")
            for name in ("prod", "Production", "", None, 5)
        ),
        *(
            (lambda wrong=wrong: sandbox(streamer_url=wrong), "streamer_url must be an absolute wss address")
            for wrong in ("ws://[::1]evil.com", "wss://[::1].evil.com:80/x", "ws://evil.com[::1]", "ws://[::1]:80evil.com",
                          "https://x.example", "wss://user@x.example", "wss://", "wss://a b")
        ),
        *(
            (lambda wrong=wrong: sandbox(hosts={"lab": wrong}), r"hosts\['lab'\]")
            for wrong in ("https://u:p@a.example", "lab.example", "https://a.example?x=1", None)
        ),
        *(
            (lambda wrong=wrong: sandbox(hosts=wrong), "hosts must map names to addresses, got")
            for wrong in ("https://a.example", ["lab"], {1: "https://a.example"})
        ),
        (lambda: sandbox(auth_page_url=5), "auth_page_url must be a string"),
        *(
            (lambda page=page: sandbox(auth_page_url=page), "auth_page_url must be an absolute http or https")
            for page in ("javascript:alert(1)", "auth.html", "//a.example/auth", "ftp://a.example",
                         "https://u:hunter2@a.example", "https://", "https://[::1", "https://a.example/a b", "")
        ),
        *(
            (lambda wrong=wrong: page_url(wrong), "environment must be of type Environment")
            for wrong in (None, "sandbox", 5)
        ),
        (lambda: page_url(sandbox()), "auth_page_url"),
        (lambda: page_url(client_id=5), "client_id must be a string"),
        (lambda: page_url(redirect_uri=b"u"), "redirect_uri must be a string"),
        (lambda: page_url(scope=["read"]), "scope must be a string"),
        (lambda: page_url(state="a\n"), "state must be a string"),
        (lambda: page_url(client_id=""), "client_id and redirect_uri are required"),
        (lambda: page_url(redirect_uri=""), "client_id and redirect_uri are required"),
    ],
)  # fmt: skip
def test_argument_that_cannot_be_used_is_named_and_no_password_shown(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason) as caught:
        make()
    assert "hunter2" not in str(caught.value)
