"""What every request has to bring, and what is made of it."""

import json

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.operation import Effect
from brokerage_async.simulator.api.brokerage import _handler
from tests.simulator.house import House, limit


def test_every_operation_has_a_handler(house: House) -> None:
    assert set(house.brokerage._handlers) == set(OPERATIONS)


def test_an_operation_without_a_handler_is_an_error(house: House) -> None:
    with pytest.raises(NotImplementedError, match=r"orders\.explode"):
        _handler(house.world.areas(), "orders.explode")


def test_a_missing_user_agent_gets_the_page_from_in_front_of_the_service(house: House) -> None:
    response = house.ask("GET", "/watchlists", user_agent=None)
    assert response.status == 401
    assert response.headers["content-type"] == "text/html"
    assert b"<html>" in response.body


@pytest.mark.parametrize("agent", ["curl", "curl/", "/1.0", "my app/1.0", "a/b/c"])
def test_a_malformed_user_agent_is_unauthorized(house: House, agent: str) -> None:
    response = house.ask("GET", "/watchlists", user_agent=agent)
    assert response.status == 401
    assert json.loads(response.body)["error"]["code"] == "unauthorized"


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer x.y.z", "Basic abc"])
def test_a_request_needs_a_good_token(house: House, authorization: str | None) -> None:
    assert house.ask("GET", "/watchlists", authorization=authorization).status == 401


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("20261012", 200),
        ("20260211", 200),
        ("2.0.1", 200),
        ("20250101", 406),
        ("1", 406),
        ("latest", 406),
        ("20٢٦1012", 406),
    ],
)
def test_versions(house: House, version: str, status: int) -> None:
    response = house.ask("GET", "/watchlists", accept_version=version)
    assert response.status == status
    if status == 406:
        assert json.loads(response.body)["error"]["code"] == 406


def test_unknown_addresses(house: House) -> None:
    assert house.ask("GET", "/nowhere").status == 404
    assert house.ask("DELETE", "/watchlists").status == 404
    assert house.ask("GET", "/nowhere", authorization=None).status == 401


@pytest.mark.parametrize("operation", [name for name, one in OPERATIONS.items() if one.production_only])
def test_what_only_production_offers(house: House, production: House, operation: str) -> None:
    data = OPERATIONS[operation]
    body = b"{}" if data.body is not None else None
    for where, statuses in ((house, {404}), (production, {200, 422})):
        target = data.path.replace("{account_number}", where.account)
        assert where.ask(data.method, target, body).status in statuses


def test_the_context_echoes_the_path(house: House) -> None:
    assert house.get("/watchlists")["context"] == "/watchlists"


def test_a_rate_limit_refuses_with_a_bare_429(house: House) -> None:
    house.sim.rate_limit = 3
    assert [house.ask("GET", "/watchlists").status for _ in range(5)] == [200, 200, 200, 429, 429]
    refused = house.ask("GET", "/watchlists")
    assert (refused.status, dict(refused.headers), refused.body) == (429, {}, b"")
    house.wait(1.01)
    assert house.ask("GET", "/watchlists").status == 200


def test_the_ledger_has_every_request(house: House) -> None:
    house.ask("GET", "/watchlists", user_agent=None)
    house.place(limit(external_identifier="mine"))
    *_, refused, placed = house.sim.ledger.requests
    assert (refused.operation, refused.processed, refused.status) == ("watchlists.list", False, 401)
    assert (placed.operation, placed.effect, placed.processed) == ("orders.submit", Effect.MUTATE, True)
    assert placed.external_identifiers == ("mine",)
    (order,) = house.sim.ledger.orders(external_identifier="mine")
    assert placed.order_ids == (order.order_id,)


def test_the_same_seed_gives_the_same_history() -> None:
    def history(seed: int) -> list[bytes]:
        house = House(seed=seed)
        answers = [house.token().body]
        house.login()
        for n in range(5):
            answers.append(house.ask("POST", f"/accounts/{house.account}/orders", limit(f"{199 + n}.00")).body)
            house.wait(0.7)
            answers.append(house.ask("GET", f"/accounts/{house.account}/orders").body)
        return answers

    assert history(5) == history(5)
    assert history(5) != history(6)
