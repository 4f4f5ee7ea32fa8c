"""The page as its user sees it: a program's actions appear, and clicks reach the program."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from brokerage_async import Client
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit, stop
from tests.browser.chromium import MISSING, browser
from tests.trading import SMALL

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.skipif(MISSING is not None, reason=MISSING or "")]


class Desk:
    """Simulator, a program's client of it, and its page in a browser."""

    def __init__(self, simulator: Simulator, client: Client, page: Page, problems: list[str]) -> None:
        self.simulator, self.client, self.page, self.problems = simulator, client, page, problems
        self.account = simulator.account_numbers[0]

    async def place(self) -> str:
        placed = await self.client.orders.submit(self.account, limit(buy_to_open("AAPL", 10), price="150"))
        return placed.order.id or ""

    def forgive_refusals(self) -> None:
        """Forget what the browser says of requests that were meant to be refused."""
        assert all("422" in each for each in self.problems), self.problems
        self.problems.clear()

    def row(self, order_id: str) -> Any:
        return self.page.locator(f'#orders tr[data-key="{order_id}"]')


@pytest.fixture
async def desk(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    options: dict[str, Any] = getattr(request, "param", {})
    async with Simulator(control_port=0, **SMALL) as simulator, simulator.client() as client, browser() as started:
        page = await started.new_page(**{"viewport": {"width": 1280, "height": 900}, **options})
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        await page.goto(simulator.page_url or "")
        await page.locator("#orders tr[data-key]").first.wait_for()
        yield Desk(simulator, client, page, problems)
        assert problems == []


async def test_order_appears_within_a_second_and_a_click_fills_it(desk: Desk) -> None:
    order_id = await desk.place()
    placed = time.monotonic()
    await desk.row(order_id).wait_for(timeout=5000)
    assert time.monotonic() - placed < 1.0
    watching = asyncio.create_task(desk.client.watch.order("me", desk.account, order_id, interval=1.0, timeout=20))
    await desk.row(order_id).get_by_role("button", name=f"Fill order {order_id}").click()
    assert (await watching).status == "Filled"
    await desk.row(order_id).get_by_text("Filled").wait_for(timeout=2000)
    assert await desk.page.locator("#fills tbody tr").filter(has_text=order_id).count() == 1
    assert "Filled 10 of order" in await desk.page.locator("#message").inner_text()


async def test_held_order_waits_until_it_is_released(desk: Desk) -> None:
    order_id = await desk.place()
    row = desk.row(order_id)
    await row.get_by_text("Live").wait_for()
    await row.get_by_role("button", name=f"Hold order {order_id}").click()
    await row.get_by_role("button", name=f"Release order {order_id}").click()
    await desk.page.locator("#message", has_text=f"Released order {order_id}").wait_for()
    await row.get_by_role("button", name=f"Hold order {order_id}").wait_for(timeout=2000)


async def test_page_is_operated_with_the_keyboard_alone(desk: Desk) -> None:
    page, order_id = desk.page, await desk.place()
    await desk.row(order_id).wait_for()
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Fill order {order_id}":
            break
    await page.keyboard.press("Shift+Tab")  # to the price
    await page.keyboard.press("Shift+Tab")  # to the quantity
    await page.keyboard.press("Control+A")
    await page.keyboard.type("4")
    await page.keyboard.press("Enter")
    await desk.row(order_id).get_by_text("4 / 10").wait_for(timeout=2000)
    inside = f"document.activeElement.closest('tr')?.dataset.key === '{order_id}'"
    await page.wait_for_function(inside, timeout=2000)  # the focus is still in the row, which was built again


async def test_typed_quantity_stays_while_the_page_is_refreshed(desk: Desk) -> None:
    order_id = await desk.place()
    field = desk.row(order_id).get_by_label("Quantity")
    await desk.row(order_id).get_by_text("Live").wait_for()
    await field.fill("7")
    await desk.place()
    await desk.page.wait_for_timeout(1000)
    assert await field.input_value() == "7"
    assert await field.evaluate("each => each === document.activeElement")


async def test_page_shows_triggers_greeks_and_errors_beside_their_field(desk: Desk) -> None:
    page = desk.page
    waiting = await desk.client.orders.submit(desk.account, stop(buy_to_open("AAPL", 1), trigger="900"))
    await desk.row(str(waiting.order.id)).get_by_text("stop 900").wait_for(timeout=2000)
    held = page.locator("#positions tr", has_text="C0")  # the call that the second account has sold
    await held.get_by_text(re.compile(r"delta 0\.\d\d, theta -0\.\d\d, volatility \d+ %|delta .*%")).wait_for()
    order_id = await desk.place()
    await desk.row(order_id).get_by_text("Live").wait_for()
    await desk.row(order_id).get_by_label("Price").fill("-3")
    await desk.row(order_id).get_by_role("button", name="Fill").click()
    wrong = desk.row(order_id).get_by_role("alert")
    await wrong.get_by_text("price must be positive").wait_for(timeout=2000)
    assert await wrong.evaluate("each => each.previousElementSibling.name") == "price"
    assert await wrong.evaluate("each => getComputedStyle(each).color") == "rgb(179, 38, 30)"
    desk.forgive_refusals()


async def test_page_has_a_button_for_each_call(desk: Desk) -> None:
    page, order_id = desk.page, await desk.place()
    await desk.row(order_id).get_by_text("Live").wait_for()
    await desk.row(order_id).get_by_label("Price").fill("149")
    await desk.row(order_id).get_by_role("button", name="Fill").click()
    fill = page.locator("#fills tr", has_text=order_id)
    await fill.get_by_label("Right price").fill("148.5")
    await fill.get_by_role("button", name="Bust").click()
    await fill.get_by_text(re.compile(r"^148\.50?$")).wait_for(timeout=2000)
    await page.get_by_label("Deposit").fill("-1000")
    await page.get_by_label("in", exact=True).fill(desk.account)
    before = desk.simulator.brokerage.state.own_accounts[0].cash
    await page.get_by_role("button", name="Move cash").click()
    await page.get_by_text("Cash moved").wait_for(timeout=2000)
    assert desk.simulator.brokerage.state.own_accounts[0].cash == before - 1000
    await page.get_by_label("Publish").fill("mine")
    await page.get_by_label("of", exact=True).fill("AAPL, NOPE")
    await page.get_by_role("button", name="Publish", exact=True).click()
    await page.get_by_role("alert").get_by_text("NOPE").wait_for(timeout=2000)
    await page.get_by_role("button", name="Hold all that are on their way").click()
    second = await desk.place()
    await desk.row(second).get_by_text("Routed").wait_for(timeout=3000)
    await page.get_by_role("button", name="Release all").click()
    await desk.row(second).get_by_text("Live").wait_for(timeout=3000)
    await page.get_by_role("button", name="Revoke the owner's grant").click()
    await page.get_by_text("Grant revoked").wait_for(timeout=2000)
    desk.forgive_refusals()


async def test_fault_switch_breaks_requests_until_it_is_off(desk: Desk) -> None:
    switch = desk.page.get_by_role("switch", name="Unavailable (503)")
    await switch.check()
    await desk.page.locator("#faults tbody tr").wait_for()
    assert [rule[2:] for rule in desk.simulator.faults.rules()] == [("status(503)", None)]
    await switch.uncheck()
    await desk.page.locator("#faults tbody tr").wait_for(state="detached")
    assert desk.simulator.faults.rules() == []


async def test_requests_have_timings_and_faults(desk: Desk) -> None:
    desk.simulator.faults.add("GET", "/watchlists", "delay(0.2)")
    await desk.client.watchlists.list()
    row = desk.page.locator("#requests tbody tr").filter(has_text="/watchlists")
    await row.get_by_text("delay(0.2)").wait_for(timeout=2000)
    assert float((await row.locator("td").nth(5).inner_text()).replace(",", "")) >= 200
    assert await row.locator("meter").count() == 1


async def test_clock_is_moved_and_paused(desk: Desk) -> None:
    before = desk.simulator.clock.now()
    await desk.page.get_by_role("button", name="+1 h").click()
    await desk.page.locator("#message", has_text="Clock moved").wait_for()
    assert desk.simulator.clock.now() >= before + 3600
    await desk.page.get_by_role("button", name="Pause").click()
    await desk.page.locator("#speed", has_text="paused").wait_for()
    assert desk.simulator.clock.speed == 0
    assert re.match(r"Wed.* 11:00:\d\d New York", await desk.page.locator("#clock").inner_text())


async def test_held_price_moves_the_chart(desk: Desk) -> None:
    row = desk.page.locator('#prices tr[data-key="AAPL"]')
    points = await row.locator("polyline").get_attribute("points")
    await desk.page.get_by_label("at", exact=True).fill("250")
    await desk.page.get_by_role("button", name="Set price").click()
    await row.get_by_text("held").wait_for(timeout=2000)
    assert await row.locator("polyline").get_attribute("points") != points
    assert desk.simulator.price("AAPL") == 250


@pytest.mark.parametrize("desk", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
async def test_page_fits_a_phone(desk: Desk) -> None:
    assert await desk.page.evaluate("document.documentElement.scrollWidth") <= 360
    order_id = await desk.place()
    button = desk.row(order_id).get_by_role("button", name=f"Fill order {order_id}")
    await button.wait_for()
    # Rows are drawn again: this finds and measures the button in one step.
    [box] = await button.evaluate_all("found => found.map(each => each.getBoundingClientRect().toJSON())")
    assert box["right"] <= 360
    assert box["height"] >= 30


CONTRAST = """() => {
  const parts = (colour) => { const c = document.createElement("canvas").getContext("2d"); c.fillStyle = colour;
    c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (colour) => parts(colour).map((v) => linear(v / 255))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const back = getComputedStyle(document.querySelector("section")).backgroundColor;
  return [...document.querySelectorAll("section h2, section th, section .pill, section td")]
    .filter((each) => each.textContent)
    .map((each) => { const [a, b] = [light(getComputedStyle(each).color), light(back)];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }).reduce((least, each) => Math.min(least, each), 99);
}"""
"""Least ratio of contrast between letters and their background, by the rules of WCAG."""


@pytest.mark.parametrize("desk", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True)
async def test_page_is_readable_in_light_and_dark(desk: Desk) -> None:
    assert await desk.page.evaluate(CONTRAST) >= 4.5
    background = await desk.page.evaluate("getComputedStyle(document.body).backgroundColor")
    is_dark = sum(map(int, re.findall(r"\d+", background)[:3])) < 200
    assert is_dark == await desk.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")


async def test_reference_sends_a_request_and_shows_the_answer(desk: Desk) -> None:
    await desk.page.get_by_role("link", name="API reference").click()
    await desk.page.get_by_role("link", name="orders.submit", exact=True).click()
    await desk.page.get_by_role("button", name="Send to the simulator").click()
    await desk.page.locator("#answer-line", has_text="201").wait_for()
    assert '"status": "Received"' in await desk.page.locator("#answer").inner_text()
    orders = await desk.client.orders.list(desk.account).collect()
    assert [order.external_identifier for order in orders] == ["once-only-17"]
