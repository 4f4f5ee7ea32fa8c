"""Pictures of the page for the documentation: ``python -m tests.browser.screenshots docs``."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from brokerage_async import Client, models
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit, market
from tests.browser.chromium import MISSING, browser
from tests.trading import SMALL

MAX_SIZE = 200_000
"""Maximum bytes of a picture."""

PICTURES: dict[str, dict[str, Any]] = {
    "simulator-page": {"viewport": {"width": 1180, "height": 820}, "color_scheme": "light"},
    "simulator-page-dark": {"viewport": {"width": 1180, "height": 820}, "color_scheme": "dark"},
    "simulator-page-phone": {"viewport": {"width": 390, "height": 760}, "color_scheme": "light"},
}


async def trade(simulator: Simulator, client: Client) -> None:
    """Let a program do a little of everything that the page shows."""
    account = simulator.account_numbers[0]
    simulator.set_price("SPY", "604.25")
    simulator.clock.advance(1800)
    await client.orders.submit(account, limit(buy_to_open("AAPL", 100), price="180.00"))
    await client.orders.submit(account, market(buy_to_open("MSFT", 10)))
    alert = models.NewQuoteAlert(field="Last", operator=">", symbol="AAPL", threshold=250)
    await client.quote_alerts.create(alert)
    simulator.faults.add("GET", "/watchlists", "delay(0.08)")
    await client.watchlists.list()
    simulator.faults.add("GET", "/positions", "status(503)")
    await client.positions.list(account)
    simulator.faults.add("POST", "/orders$", "drop_after", 3)


async def main(folder: Path) -> None:
    """Write every picture.

    Raises:
        SystemExit: the browser is missing, or a picture is too large.
    """
    if MISSING is not None:
        raise SystemExit(f"no pictures: this {MISSING}")
    async with Simulator(control_port=0, **SMALL) as simulator, simulator.client() as client, browser() as started:
        await trade(simulator, client)
        for name, options in PICTURES.items():
            page = await started.new_page(**options)
            await page.goto(simulator.page_url or "")
            await page.wait_for_timeout(2000)
            file = folder / f"{name}.png"
            await page.screenshot(path=file)
            await page.close()
            if file.stat().st_size > MAX_SIZE:
                raise SystemExit(f"{file} must have at most {MAX_SIZE} bytes, it has {file.stat().st_size}")
            print(file, file.stat().st_size)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
