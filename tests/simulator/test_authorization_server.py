"""Grants, codes and tokens."""

import base64
import json
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.authorization_server import LIFETIME
from tests.simulator.house import House


def claims(token: str) -> dict[str, object]:
    payload = token.split(".")[1]
    decoded: dict[str, object] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return decoded


def test_a_refresh_gives_a_signed_token_and_no_refresh_token(house: House) -> None:
    answer = json.loads(house.token().body)
    assert set(answer) == {"access_token", "token_type", "expires_in"}
    assert (answer["token_type"], answer["expires_in"]) == ("Bearer", 900)
    office = house.world.office
    assert office.verify(answer["access_token"]) == claims(answer["access_token"])
    assert claims(answer["access_token"])["exp"] == int(house.now) + LIFETIME


def test_a_forged_token_is_not_recognised(house: House) -> None:
    token = house.headers["Authorization"].removeprefix("Bearer ")
    head, _, signature = token.rpartition(".")
    forged = f"{head}.{'A' * len(signature)}"
    assert house.world.office.verify(forged) is None
    assert house.ask("GET", "/watchlists", authorization=f"Bearer {forged}").status == 401


def test_a_token_is_good_for_fifteen_minutes(house: House) -> None:
    house.wait(LIFETIME - 1)
    assert house.ask("GET", "/watchlists").status == 200
    house.wait(1)
    response = house.ask("GET", "/watchlists")
    assert response.status == 401
    assert json.loads(response.body)["error"]["code"] == "unauthorized"


def test_a_narrowed_scope_is_kept_to(house: House) -> None:
    house.login(scope="read")
    assert house.ask("GET", "/watchlists").status == 200
    response = house.ask("POST", "/watchlists", {"name": "a", "watchlist-entries": []})
    assert response.status == 403
    assert json.loads(response.body)["error"]["code"] == "not_permitted"


def test_a_revoked_grant_ends_its_tokens(house: House) -> None:
    house.sim.revoke()
    assert house.ask("GET", "/watchlists").status == 401
    assert json.loads(house.token().body) == {"error_code": "invalid_grant", "error_description": "Grant revoked"}


def test_expired_tokens_can_be_refreshed(house: House) -> None:
    house.sim.expire_tokens()
    assert house.ask("GET", "/watchlists").status == 401
    assert house.login().ask("GET", "/watchlists").status == 200


def test_a_new_secret_ends_every_grant(house: House) -> None:
    house.world.office.regenerate_secret()
    assert house.ask("GET", "/watchlists").status == 401
    assert house.token().status == 400


def authorize(house: House, scope: str = "read trade openid") -> dict[str, str]:
    query = {
        "client_id": house.sim.client_id,
        "redirect_uri": house.sim.redirect_uri,
        "response_type": "code",
        "scope": scope,
        "state": "s t&te",
    }
    target = house.sim.authorize(f"{house.sim.auth_page_url}?{urlencode(query)}")
    assert target.startswith(house.sim.redirect_uri)
    return {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}


def exchange(house: House, code: str, **change: str) -> dict[str, str]:
    body = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": house.sim.client_id,
        "client_secret": house.sim.client_secret,
        "redirect_uri": house.sim.redirect_uri,
        **change,
    }
    answer: dict[str, str] = json.loads(house.ask("POST", "/oauth/token", body, authorization=None).body)
    return answer


def test_an_authorization_code_is_good_for_one_exchange(house: House) -> None:
    arrived = authorize(house)
    assert arrived["state"] == "s t&te"
    answer = exchange(house, arrived["code"])
    assert {"access_token", "refresh_token", "id_token"} <= set(answer)
    assert house.token(refresh_token=answer["refresh_token"]).status == 200
    assert exchange(house, arrived["code"])["error_code"] == "invalid_grant"


def test_the_authorization_page_sends_the_customer_back(house: House) -> None:
    query = {"client_id": house.sim.client_id, "redirect_uri": house.sim.redirect_uri, "response_type": "code"}
    response = house.ask("GET", f"/auth?{urlencode(query)}", user_agent=None, authorization=None)
    assert response.status == 302
    code = parse_qs(urlsplit(response.headers["location"]).query)["code"][0]
    assert "refresh_token" in exchange(house, code)
    assert house.ask("GET", "/auth").status == 400


def test_an_id_token_needs_its_scope(house: House) -> None:
    assert "id_token" not in exchange(house, authorize(house, "read")["code"])


def test_a_code_goes_to_its_redirect_address_only(house: House) -> None:
    code = authorize(house)["code"]
    assert exchange(house, code, redirect_uri="http://elsewhere.invalid/")["error_code"] == "invalid_grant"


def test_a_code_grows_old(house: House) -> None:
    code = authorize(house)["code"]
    house.wait(601)
    house.sim.clock.advance(0)
    assert exchange(house, code)["error_code"] == "invalid_grant"


def test_unknown_applications_get_no_code(house: House) -> None:
    with pytest.raises(Exception, match="Unknown client"):
        house.sim.authorize(f"{house.sim.auth_page_url}?client_id=x&redirect_uri=y&response_type=code")


def test_environments_do_not_share_credentials() -> None:
    sandbox, production = Simulator("sandbox"), Simulator("production")
    assert sandbox.refresh_token != production.refresh_token
    assert sandbox.client_secret != production.client_secret
    there, here = House(environment="production").login(), House().login()
    here.headers["Authorization"] = there.headers["Authorization"]
    assert here.ask("GET", "/watchlists").status == 401
