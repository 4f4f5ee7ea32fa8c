"""Interface versions: the requests that ask for one, and the version that answers name."""

import json
import logging
from datetime import UTC, date, datetime
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken, errors
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.client import PER_OPERATION
from brokerage_async.config import settings_from_env
from brokerage_async.protocol.response import Response
from tests.fake_transport import FakeTransport, ok
from tests.http.calls import raised_by
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time

ENVIRONMENTS = {
    name: getattr(Environment, name)("https://api.example.com", hosts={"backtester": "https://b.example.com"})
    for name in ("production", "sandbox")
}
ROWS = ok({"items": []})
OWN = OPERATIONS["orders.live"].version


def client_of(transport: FakeTransport, environment: str = "production", **options: Any) -> Client:
    return Client(ENVIRONMENTS[environment], StaticToken("t"), transport=transport, **options)


async def call_some(client: Client) -> None:
    """Call two order operations, one of them by its address, and two of other areas."""
    await client.orders.live("me", ["A1"])
    await client.request("GET", "/accounts/A1/complex-orders/7")
    await client.watchlists.list()
    await client.request("GET", "/unknown")


def test_every_order_operation_names_the_version_and_no_other() -> None:
    named = {name for name, operation in OPERATIONS.items() if operation.version == OWN}
    assert named == {name for name in OPERATIONS if name.startswith(("orders.", "complex_orders."))}
    assert {operation.version for operation in OPERATIONS.values()} == {OWN, None}


@for_each(
    "environment, options, expected",
    [
        ("production", {}, [OWN, OWN, None, None]),
        ("production", {"accept_version": PER_OPERATION}, [OWN, OWN, None, None]),
        ("production", {"accept_version": None}, [None] * 4),
        ("production", {"accept_version": "20280101"}, ["20280101"] * 4),
        ("sandbox", {}, [None] * 4),
        ("sandbox", {"accept_version": "20280101"}, ["20280101"] * 4),
    ],
)
async def test_version_is_sent_with_order_operations_in_production_only(
    environment: str, options: Any, expected: list[str | None]
) -> None:
    transport = FakeTransport(ROWS)
    async with client_of(transport, environment, **options) as client:
        await call_some(client)
    async with client_of(transport, environment, accept_version="1") as client:
        await call_some(client.with_options(timeout=5, **{"accept_version": PER_OPERATION, **options}))
    assert [request.headers.get("Accept-Version") for request in transport.requests] == expected * 2


def test_settings_from_env_distinguish_no_version_from_the_default() -> None:
    given = {"BASE_URL": "https://a.example", "CLIENT_SECRET": "s", "REFRESH_TOKEN": "r"}
    read = [
        settings_from_env({f"BROKERAGE_{name}": value for name, value in {**given, **more}.items()})
        for more in ({}, {"ACCEPT_VERSION": "none"}, {"ACCEPT_VERSION": "20250813"})
    ]
    assert [each.get("accept_version", PER_OPERATION) for each in read] == [PER_OPERATION, None, "20250813"]


async def test_searches_without_a_start_send_one_before_the_first_order() -> None:
    transport = FakeTransport(ROWS)
    async with client_of(transport) as client:
        for options in ({}, {"start_date": None}, {"end_date": None}):
            await client.orders.list("A1", **options).collect()  # type: ignore[arg-type]
            await client.orders.search("me", ["A1"], **options).collect()  # type: ignore[arg-type]
    assert all("start-date=2000-01-01" in request.url for request in transport.requests)
    transport.requests.clear()
    async with client_of(transport) as client:
        await client.orders.list("A1", start_date=date(2026, 1, 2)).collect()
        await client.orders.search("me", ["A1"], start_at=datetime(2026, 1, 2, tzinfo=UTC)).collect()
        await client.orders.list_live("A1").collect()
    assert [request.url.partition("?")[2] for request in transport.requests] == [
        "page-offset=0&start-date=2026-01-02",
        "account-numbers[]=A1&page-offset=0&start-at=2026-01-02T00%3A00%3A00Z",
        "page-offset=0",
    ]


async def test_version_gone_says_which_was_sent() -> None:
    body = json.dumps({"error": {"code": 406, "message": "Version 20261012 is no longer supported"}}).encode()
    for options, said in [({}, f"Accept-Version {OWN} was sent"), ({"accept_version": None}, "no Accept-Version")]:
        transport = FakeTransport(Response(status=406, body=body))
        async with client_of(transport, **options) as client:  # type: ignore[arg-type]
            call, reason = client.orders.live("me", ["A1"]), f"{said}.*set accept_version"
            error = await raised_by(call, errors.VersionNotSupportedError, reason)
        assert (error.code, error.from_service, error.maybe_processed) == ("406", True, False)
        assert len(transport.requests) == 1


async def test_deprecation_is_logged_once_for_each_announcement(caplog: pytest.LogCaptureFixture) -> None:
    dated = {"deprecation": "@1775952000", "sunset": "Mon, 12 Apr 2027 00:00:00 GMT"}
    answers = [Response(status=200, headers=headers, body=ROWS.body) for headers in (dated, {}, dated, {"sunset": "x"})]
    transport = FakeTransport(*answers)
    with caplog.at_level(logging.WARNING):
        async with client_of(transport) as client:
            for _ in range(5):
                await client.orders.live("me", ["A1"])
    assert caplog.messages == [
        f"orders.live: interface version {OWN} is deprecated (deprecation: @1775952000, sunset: Mon, 12 Apr 2027 "
        "00:00:00 GMT); set accept_version, or update the library",
        f"orders.live: interface version {OWN} is deprecated (sunset: x); set accept_version, or update the library",
    ]
