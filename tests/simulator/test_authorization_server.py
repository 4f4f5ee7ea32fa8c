"""Grants, codes, tokens and those who hold them."""

import base64
import hmac
import json
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.authorization_server import LIFETIME
from tests.simulator.harness import Harness
from tests.tables import for_each


def test_refresh_returns_a_signed_token_without_refresh_token(harness: Harness) -> None:
    answer = json.loads(harness.token().body)
    assert set(answer) == {"access_token", "token_type", "expires_in"}
    assert (answer["token_type"], answer["expires_in"]) == ("Bearer", 900)
    signed, _, signature = answer["access_token"].rpartition(".")
    digest = hmac.digest(harness.state.authorization_server._key, signed.encode(), "sha256")
    assert signature == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    claims = json.loads(base64.urlsafe_b64decode(signed.partition(".")[2] + "=="))
    assert claims["exp"] == int(harness.now) + LIFETIME
    for last, status in ((signature, 200), ("A" * len(signature), 401)):
        assert harness.ask("GET", "/watchlists", authorization=f"Bearer {signed}.{last}").status == status


def test_token_expires_after_fifteen_minutes(harness: Harness) -> None:
    harness.wait(LIFETIME - 1)
    assert harness.ask("GET", "/watchlists").status == 200
    harness.wait(1)
    assert harness.error("GET", "/watchlists", status=401)["code"] == "unauthorized"


def test_narrowed_scope_is_enforced(harness: Harness) -> None:
    harness.login(scope="read")
    assert harness.ask("GET", "/watchlists").status == 200
    body = {"name": "a", "watchlist-entries": []}
    assert harness.error("POST", "/watchlists", body, 403)["code"] == "not_permitted"


def test_revoked_grant_invalidates_its_tokens(harness: Harness) -> None:
    harness.sim.revoke()
    assert harness.ask("GET", "/watchlists").status == 401
    assert json.loads(harness.token().body) == {"error_code": "invalid_grant", "error_description": "Grant revoked"}


def test_new_client_secret_revokes_every_grant(harness: Harness) -> None:
    harness.state.authorization_server.regenerate_secret()
    assert harness.ask("GET", "/watchlists").status == 401
    assert harness.token().status == 400


def asked(harness: Harness, **change: str) -> str:
    names = {"client_id": harness.sim.client_id, "redirect_uri": harness.sim.redirect_uri, "response_type": "code"}
    return urlencode(names | change)


def arrived(location: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


def authorize(harness: Harness, scope: str = "read trade openid", **change: str) -> dict[str, str]:
    query = asked(harness, scope=scope, state="s t&te", **change)
    location = harness.sim.authorize(f"{harness.sim.auth_page_url}?{query}")
    assert location.startswith(change.get("redirect_uri", harness.sim.redirect_uri))
    return arrived(location)


def exchange(harness: Harness, code: str, **change: str) -> dict[str, str]:
    body = {name: getattr(harness.sim, name) for name in ("client_id", "client_secret", "redirect_uri")}
    body |= {"grant_type": "authorization_code", "code": code, **change}
    answer: dict[str, str] = json.loads(harness.ask("POST", "/oauth/token", body, authorization=None).body)
    return answer


def test_authorization_code_can_be_exchanged_once(harness: Harness) -> None:
    granted = authorize(harness)
    assert granted["state"] == "s t&te"
    answer = exchange(harness, granted["code"])
    assert {"access_token", "refresh_token", "id_token"} <= set(answer)
    assert harness.token(refresh_token=answer["refresh_token"]).status == 200
    assert exchange(harness, granted["code"])["error_code"] == "invalid_grant"
    response = harness.ask("GET", f"/auth?{asked(harness)}", user_agent=None, authorization=None)
    assert response.status == 302
    assert "refresh_token" in exchange(harness, arrived(response.headers["location"])["code"])
    assert harness.ask("GET", "/auth").status == 400
    code = authorize(harness)["code"]
    assert exchange(harness, code, redirect_uri="http://elsewhere.invalid/")["error_code"] == "invalid_grant"
    with pytest.raises(Exception, match="Unknown client"):
        harness.sim.authorize(f"{harness.sim.auth_page_url}?client_id=x&redirect_uri=y&response_type=code")
    code = authorize(harness)["code"]
    harness.wait(601)
    harness.sim.clock.advance(0)
    assert exchange(harness, code)["error_code"] == "invalid_grant"


def test_id_token_requires_openid_scope(harness: Harness) -> None:
    assert "id_token" not in exchange(harness, authorize(harness, "read")["code"])


def test_environments_do_not_share_credentials() -> None:
    there, here = Harness(environment="production").login(), Harness().login()
    here.headers["Authorization"] = there.headers["Authorization"]
    assert here.ask("GET", "/watchlists").status == 401


def test_each_of_several_customers_signs_in_as_who_they_are() -> None:
    harness = Harness(customers=3, redirect_uris=["https://app.example/back"])
    sim = harness.sim
    there = {"redirect_uri": "https://app.example/back"}
    page = harness.ask("GET", f"/auth?{asked(harness, **there)}", user_agent=None, authorization=None)
    names = [customer.username for customer in sim.customers]
    assert page.status == 200
    assert [name for name in names if f">{name}</a>" not in page.body.decode()] == []
    assert len({account for customer in sim.customers for account in customer.account_numbers}) == 3 + 2 + 2
    for customer in sim.customers:
        granted = exchange(harness, authorize(harness, customer=customer.username, **there)["code"], **there)
        answer = harness.ask("GET", "/customers/me/accounts", authorization=f"Bearer {granted['access_token']}")
        rows = json.loads(answer.body)["data"]["items"]
        assert tuple(row["account"]["account-number"] for row in rows) == customer.account_numbers
    with pytest.raises(Exception, match="Unknown customer"):
        authorize(harness, customer="nobody", **there)
    for wrong in ({"customers": 0}, {"customers": True}, {"redirect_uris": ["/back"]}, {"redirect_uris": [5]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Simulator(**wrong)  # type: ignore[arg-type]


@for_each(
    "change, code",
    [
        ({"client_secret": "wrong"}, "invalid_client"),
        ({"client_id": "wrong"}, "invalid_client"),
        ({"refresh_token": "wrong"}, "invalid_grant"),
        ({"scope": "read everything"}, "invalid_scope"),
        ({"grant_type": "password"}, "invalid_request"),
        ({"clientSecret": "1"}, "invalid_request"),
        (b'{"grant_type": "refresh_token"}', "invalid_request"),
        (b"{", "invalid_request"),
        (b"", "invalid_request"),
    ],
)
def test_token_errors_are_flat(harness: Harness, change: Any, code: str) -> None:
    """A change is one of a good request, or a whole body. Unknown fields are ignored."""
    assert harness.token(surprise="1").status == 200
    is_body = isinstance(change, bytes)
    response = harness.ask("POST", "/oauth/token", change) if is_body else harness.token(**change)
    body = json.loads(response.body)
    assert (response.status, set(body), body["error_code"]) == (400, {"error_code", "error_description"}, code)


def test_names_and_secrets_follow_seed_and_environment() -> None:
    one, same, other = Simulator(seed=1), Simulator(seed=1), Simulator(seed=2)
    production = Simulator(seed=1, environment="production")
    for name in ("account_numbers", "customer_id", "client_id", "client_secret", "refresh_token"):
        assert getattr(one, name) == getattr(same, name)
    for others in (other, production):
        assert one.client_secret != others.client_secret
        assert one.refresh_token != others.refresh_token
