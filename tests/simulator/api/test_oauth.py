"""Responses of the token endpoint."""

import json

from tests.simulator.harness import Harness
from tests.tables import for_each


@for_each(
    "change, code",
    [
        ({"client_secret": "wrong"}, "invalid_client"),
        ({"client_id": "wrong"}, "invalid_client"),
        ({"refresh_token": "wrong"}, "invalid_grant"),
        ({"scope": "read everything"}, "invalid_scope"),
        ({"grant_type": "password"}, "invalid_request"),
        ({"clientSecret": "1"}, "invalid_request"),
    ],
)
def test_token_errors_are_flat(harness: Harness, change: dict[str, str], code: str) -> None:
    response = harness.token(**change)
    assert response.status == 400
    body = json.loads(response.body)
    assert set(body) == {"error_code", "error_description"}
    assert body["error_code"] == code


def test_incomplete_token_request_is_a_flat_error_and_unknown_fields_are_ignored(harness: Harness) -> None:
    assert harness.token(surprise="1").status == 200
    response = harness.ask("POST", "/oauth/token", {"grant_type": "refresh_token"}, authorization=None)
    assert (response.status, json.loads(response.body)["error_code"]) == (400, "invalid_request")
    assert harness.ask("POST", "/oauth/token", None, authorization=None).status == 400
    assert harness.ask("POST", "/oauth/token", b"{", authorization=None).status == 400


def test_token_endpoint_requires_a_user_agent(harness: Harness) -> None:
    assert harness.ask("POST", "/oauth/token", {}, user_agent=None, authorization=None).status == 401
