"""`Client.request`: an endpoint that the schema lacks, with all that surrounds the others."""

from decimal import Decimal

import pytest

from brokerage_async import Effect, errors
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit
from tests.fake_transport import LOST, FakeTransport, ok
from tests.http.calls import SANDBOX, client_of, raised_by

pytestmark = pytest.mark.virtual_time


async def test_request_has_all_that_is_passed_and_its_answer_is_parsed() -> None:
    transport = FakeTransport(LOST, ok({"net": 1.5}))
    async with client_of(transport, accept_version="20260101") as client:
        response = await client.request(
            "POST", "/a/{b}", path_values={"b": "x/y"}, query={"c[]": ["1", 2]}, body={"d": None}, effect=Effect.READ
        )
    _, request = transport.requests  # a read is repeated, whatever its method
    assert (request.method, request.url) == ("POST", f"{SANDBOX.base_url}/a/x%2Fy?c[]=1&c[]=2")
    assert request.body == b'{"d":null}'
    sent = {"Authorization": "Bearer t1", "Content-Type": "application/json", "Accept-Version": "20260101"}
    assert sent.items() <= request.headers.items()
    assert response.parse() == {"data": {"net": Decimal("1.5")}}


async def test_read_only_client_sends_no_mutation() -> None:
    transport = FakeTransport()
    async with client_of(transport, read_only=True) as client:
        for method, path in (("POST", "/x"), ("DELETE", "/x"), ("POST", "/accounts/5WT1/orders")):
            await raised_by(client.request(method, path), errors.ConfigurationError, "read-only")
        with pytest.raises(errors.InvalidRequestError, match=r"effect: must be mutate.*orders\.submit"):
            await client.request("POST", "/accounts/5WT1/orders", body={}, effect=Effect.READ)
        assert not transport.requests
        await client.request("GET", "/x")
        await client.request("POST", "/accounts/5WT1/orders/dry-run", body={})
    assert len(transport.requests) == 2


async def test_requests_of_many_paths_leave_nothing_behind() -> None:
    async with client_of(FakeTransport()) as client:
        for number in range(50):
            await client.request("GET", f"/x/{number}", query={f"k{number}": "1"})
        assert len(client.session.engine.limiter._routes) == 1


@pytest.mark.virtual_time(False)
async def test_request_reaches_every_endpoint_of_the_simulator() -> None:
    async with Simulator() as brokerage, brokerage.client() as client:
        warrant = await client.request("GET", "/instruments/warrants/{symbol}", path_values={"symbol": "AAPLW"})
        assert warrant.parse()["data"]["symbol"] == "AAPLW"
        account = brokerage.account_numbers[0]
        order = limit(buy_to_open("AAPL", 1), price="1.00")
        brokerage.faults.add("POST", "/accounts/.*", "drop_after", times=1)
        await raised_by(client.request("POST", f"/accounts/{account}/orders", body=order), errors.ResponseLostError)
        assert len(await client.orders.live("me", [account])) == 1
