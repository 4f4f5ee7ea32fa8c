"""The web application answers with prices, positions and previews, and maps errors."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from .conftest import Stage

Browser = TestClient[Any, Any]


@pytest.fixture
async def browser(stage: Stage) -> AsyncIterator[Browser]:
    async with TestClient(TestServer(stage.load("web_application").application())) as client:
        yield client


async def test_prices_are_strings_and_unknown_symbols_404(browser: Browser) -> None:
    async with browser.get("/prices/AAPL") as answer:
        assert answer.status == 200
        assert float((await answer.json())["mark"]) > 0
    async with browser.get("/prices/NO.SUCH") as answer:
        assert answer.status == 404


async def test_positions_and_previews(stage: Stage, browser: Browser) -> None:
    async with browser.get("/positions") as answer:
        assert isinstance(await answer.json(), list)
    order = {"symbol": "AAPL", "quantity": "10", "price": "187.50"}
    async with browser.post("/previews", json=order) as answer:
        assert answer.status == 200
        assert "change-in-buying-power" in await answer.json()
    assert not stage.orders()


async def test_errors_become_statuses_without_messages(stage: Stage, browser: Browser) -> None:
    async with browser.post("/previews", json={"symbol": "AAPL", "quantity": "-1", "price": "1"}) as answer:
        assert answer.status == 400
        assert await answer.json() == {"error": "InvalidRequestError"}
    stage.simulator.faults.add("GET", "/market-data/.*", "status(500)", times=20)
    async with browser.get("/prices/AAPL") as answer:
        assert answer.status in (502, 504)
