"""Two customers sign in with a browser to one application, and each sees their own orders."""

from __future__ import annotations

import asyncio
import json
import runpy
import socket
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit
from tests.browser.chromium import MISSING, browser
from tests.trading import SMALL

PROGRAM = Path(__file__).parents[2] / "examples" / "several_customers.py"

pytestmark = [pytest.mark.browser, pytest.mark.skipif(MISSING is not None, reason=MISSING or "")]


async def test_two_customers_see_their_own_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    uvicorn = pytest.importorskip("uvicorn", reason="needs uvicorn and fastapi: `nox -s browser` installs them")
    pytest.importorskip("fastapi", reason="needs uvicorn and fastapi: `nox -s browser` installs them")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        home = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with (
            Simulator(customers=2, redirect_uris=[f"{home}/callback"], **SMALL) as simulator,
            browser() as started,
        ):
            for name, value in simulator.environ.items():
                monkeypatch.setenv(name, value)
            for number, price in enumerate(("101", "102")):
                async with simulator.client(number) as client:
                    account = simulator.customers[number].account_numbers[0]
                    await client.orders.submit(account, limit(buy_to_open("AAPL", 1), price=price))
            application: Any = runpy.run_path(str(PROGRAM))["app"]
            server = uvicorn.Server(uvicorn.Config(application, log_level="warning", lifespan="on"))
            serving = asyncio.create_task(server.serve([listening]))
            try:
                seen = []
                for customer in simulator.customers:
                    page = await (await started.new_context()).new_page()
                    await page.goto(home)
                    assert [each.username for each in simulator.customers] == await page.locator("a").all_inner_texts()
                    await page.get_by_text(customer.username).click()
                    await page.wait_for_url(f"{home}/orders")
                    orders = json.loads(await page.locator("body").inner_text())
                    seen.append([(each["account-number"], Decimal(str(each.get("price", 0)))) for each in orders])
                    stranger = await (await started.new_context()).new_page()
                    forged = await stranger.goto(f"{home}/callback?code=stolen&state=guessed")
                    assert forged.status == 403
            finally:
                server.should_exit = True
                await serving
    (first, second) = simulator.customers
    assert (first.account_numbers[0], Decimal(101)) in seen[0]
    assert {account for account, _ in seen[0]} <= set(first.account_numbers)
    assert seen[1] == [(second.account_numbers[0], Decimal(102))]
