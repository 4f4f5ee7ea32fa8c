"""The answers of the token endpoint, good and bad."""

import json

import pytest

from tests.simulator.house import House


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"client_secret": "wrong"}, "invalid_client"),
        ({"client_id": "wrong"}, "invalid_client"),
        ({"refresh_token": "wrong"}, "invalid_grant"),
        ({"scope": "read everything"}, "invalid_scope"),
        ({"grant_type": "password"}, "invalid_request"),
        ({"surprise": "1"}, "invalid_request"),
    ],
)
def test_errors_of_the_token_endpoint_are_flat(house: House, change: dict[str, str], code: str) -> None:
    response = house.token(**change)
    assert response.status == 400
    body = json.loads(response.body)
    assert set(body) == {"error_code", "error_description"}
    assert body["error_code"] == code


def test_missing_fields_are_flat_errors_too(house: House) -> None:
    response = house.ask("POST", "/oauth/token", {"grant_type": "refresh_token"}, authorization=None)
    assert (response.status, json.loads(response.body)["error_code"]) == (400, "invalid_request")
    assert house.ask("POST", "/oauth/token", None, authorization=None).status == 400
    assert house.ask("POST", "/oauth/token", b"{", authorization=None).status == 400


def test_the_token_endpoint_wants_a_user_agent(house: House) -> None:
    assert house.ask("POST", "/oauth/token", {}, user_agent=None, authorization=None).status == 401
