"""Control server: who may call it, over plain HTTP as another language does."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from brokerage_async.simulator import Simulator
from tests.trading import SMALL


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator(control_port=0, **SMALL) as sim:
        yield sim


async def ask(sim: Simulator, method: str, path: str, **options: Any) -> tuple[int, bytes, Any]:
    headers = {"Authorization": f"Bearer {sim.control_token}", **options.pop("headers", {})}
    address = f"{sim.control_url}{path}"
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, address, headers=headers, **options) as answer,
    ):
        return answer.status, await answer.read(), answer.headers


async def test_token_opens_the_api(simulator: Simulator) -> None:
    status, body, headers = await ask(simulator, "GET", "/clock")
    assert (status, json.loads(body)["speed"], headers["Cache-Control"]) == (200, 1.0, "no-store")
    for wrong in ("Bearer x", "", f"Basic {simulator.control_token}"):
        for path in ("/clock", "/openapi.json"):
            assert (await ask(simulator, "GET", path, headers={"Authorization": wrong}))[0] == 401
    rule = {"fault": "status(503)", "method": "GET", "path": "/watchlists", "times": 1}
    assert (await ask(simulator, "POST", "/faults", json=rule))[0] == 200
    async with aiohttp.ClientSession(simulator.base_url, headers={"User-Agent": "other/1.0"}) as session:
        assert [(await session.get("/watchlists")).status for _ in range(2)] == [503, 401]


async def test_web_page_is_refused_even_with_the_token(simulator: Simulator) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        for path in ("/clock", "/"):
            assert (await ask(simulator, "GET", path, headers=headers))[0] == 403, (headers, path)
    origin = {"Origin": simulator.control_url or ""}
    assert (await ask(simulator, "PATCH", "/clock", headers=origin, json={"advance": 1}))[0] == 200


async def test_page_needs_no_token_and_holds_no_secret(simulator: Simulator) -> None:
    for path, kind in (("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")):
        status, body, headers = await ask(simulator, "GET", path, headers={"Authorization": ""})
        assert (status, headers["Content-Type"].partition(";")[0]) == (200, kind)
        assert simulator.control_token.encode() not in body
        assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert simulator.page_url == f"{simulator.control_url}/#{simulator.control_token}"
    for name in ("control_url", "control_token", "base_url"):
        assert simulator.environ[f"BROKERAGE_{name.upper()}"] == getattr(simulator, name)
    assert len(Simulator().environ) == 10
    assert Simulator().control_url is Simulator().page_url is None
    assert (await ask(simulator, "POST", "/faults", data=b" " * 70_000))[0] == 413


async def test_start_in_vain_and_stop_leave_nothing_open(simulator: Simulator) -> None:
    port = int((simulator.control_url or "").rpartition(":")[2])
    other = Simulator(control_port=port, **SMALL)
    with pytest.raises(OSError, match=r"in use"):
        await other.__aenter__()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(other.base_url.rpartition(":")[2]))
    async with Simulator(control_port=0, **SMALL) as stopped:
        pass
    with pytest.raises(aiohttp.ClientError):
        await ask(stopped, "GET", "/clock")
