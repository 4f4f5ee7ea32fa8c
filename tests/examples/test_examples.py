"""The folder of examples: programs short enough to copy, listed where users look, and tried on a simulator."""

import ast
import asyncio
import json
import re
import runpy
import socket
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
from aiohttp.test_utils import TestClient, TestServer
from rich.console import Console

from brokerage_async import models
from brokerage_async.chains import OptionChain
from brokerage_async.errors import InvalidRequestError
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit, market, sell_to_open
from tests.browser import chromium
from tests.processes import run_program
from tests.tables import for_each, lacks
from tests.trading import SMALL

from .conftest import FOLDER, Stage

PROGRAMS = sorted(FOLDER.glob("*.py"))


@for_each("path", PROGRAMS)
def test_example_is_short_says_how_to_run_it_is_listed_and_has_a_test(path: Path) -> None:
    assert len(PROGRAMS) == 12
    assert f'"{path.stem}' in Path(__file__).read_text("utf-8")
    source = path.read_text("utf-8")
    name = path.name
    longest = 170 if name == "lumibot_broker.py" else 120  # its base class demands 16 methods
    assert 30 <= source.count("\n") <= longest
    assert f"python examples/{name}" in (ast.get_docstring(ast.parse(source)) or "")
    assert f"examples/{name}" in (FOLDER.parent / "docs" / "programs.md").read_text("utf-8")


TRADE = ["AAPL", "10", "200.50", "trade-1"]


async def test_bracket_is_placed_once_under_its_name_and_followed_to_its_end(stage: Stage) -> None:
    program = stage.load("bracket_bot")
    stage.patch.setattr(program, "PAUSE", 0.01)
    stage.simulator.set_price("AAPL", "200")
    first = asyncio.create_task(program.main(TRADE))
    async with asyncio.timeout(20):
        while "entry Filled" not in stage.shown():
            stage.simulator.clock.advance(1)
            await asyncio.sleep(0.02)
    first.cancel()  # as good as a crash: the exits work on at the broker
    await asyncio.wait({first})
    again = asyncio.create_task(program.main(TRADE))
    stage.simulator.set_price("AAPL", "220")
    async with asyncio.timeout(20):
        while not again.done():
            stage.simulator.clock.advance(1)
            await asyncio.sleep(0.02)
    await again
    shown = stage.shown()
    assert lacks(shown, "placed", "profit Filled", "loss Cancelled") == []
    with pytest.raises(InvalidRequestError, match="another order"):
        await program.main(["AAPL", "10", "201.00", "trade-1"])
    assert len(stage.orders()) == 3


async def test_delta_spread_is_shown_first_and_sold_once(stage: Stage) -> None:
    program = stage.load("delta_spread")
    before = len(stage.orders())
    await program.main(["AAPL"])
    shown = stage.shown()
    short, long = (abs(float(each)) for each in re.findall(r"delta (-0\.\d+)", shown))
    assert 0.1 < short < 0.22
    assert long < short
    assert "for a credit of" in shown
    assert len(stage.orders()) == before
    await program.main(["AAPL", "--send"])
    assert "placed" in stage.shown()
    assert len(stage.orders()) == before + 1
    await program.main(["AAPL", "--send"])
    assert len(stage.orders()) == before + 1


async def test_report_of_a_day(stage: Stage) -> None:
    async with stage.simulator.client() as client:
        await client.orders.submit(stage.account, market(buy_to_open("AAPL", 4)))
        await client.orders.submit(stage.account, limit(buy_to_open("MSFT", 1), price="1.00"))
        stage.simulator.clock.advance(60)
        stage.simulator.settle()
    await stage.load("end_of_day").main()
    shown = stage.shown()
    assert shown.startswith(f"# Account {stage.account}, 2026-06-10\n")
    assert lacks(shown, "| AAPL | 4 |", "| Filled | 1 |", "| Live | 1 |", "| Trade | -") == []


async def test_files_are_written_once_and_a_failure_is_reported_and_made_up_for(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "symbols.txt").write_text("AAPL\nMSFT\n\nNO.SUCH\n")
    program = stage.load("nightly_fetch")
    assert await program.main(["symbols.txt", "data"]) == 0
    files = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert files == ["dividends-2026-06-10.csv", "earnings-2026-06-10.csv", "equities-2026-06-10.csv"]
    assert "equities-2026-06-10.csv: 2 rows, unknown symbols: NO.SUCH" in stage.shown()
    requests = len(stage.simulator.ledger.requests)
    assert await program.main(["symbols.txt", "data"]) == 0
    assert stage.shown().count("complete already") == 3
    assert len(stage.simulator.ledger.requests) - requests <= 2  # a token, and the time
    stage.simulator.faults.add("GET", "/market-metrics/.*/dividends/MSFT", "status(403)", times=1)
    assert await program.main(["symbols.txt", "again"]) == 1
    assert not (tmp_path / "again" / "dividends-2026-06-10.csv").exists()
    assert "1 of" in stage.complaints()
    assert await program.main(["symbols.txt", "again"]) == 0
    assert (tmp_path / "again" / "dividends-2026-06-10.csv").exists()


async def test_roll_is_shown_first_and_sent_when_asked(stage: Stage) -> None:
    program = stage.load("roll_option")
    with pytest.raises(SystemExit, match="no short option on AAPL"):
        await program.main(["AAPL", "--send"])
    assert not stage.orders()
    async with stage.simulator.client() as client:
        chain = OptionChain.of(await client.option_chains.nested("AAPL"))
        old = chain.expirations[0].strike(near=stage.simulator.price("AAPL")).put
        await client.orders.submit(stage.account, market(sell_to_open(old, 2)))
    stage.simulator.clock.advance(60)
    stage.simulator.settle()
    before = len(stage.orders())
    await program.main(["AAPL"])
    shown = stage.shown()
    assert lacks(shown, f"Buy to Close 2 {old}", "change in buying power") == []
    assert len(stage.orders()) == before
    await program.main(["AAPL", "--send"])
    async with stage.simulator.client() as client:
        (order,) = await client.orders.list(stage.account, per_page=1).collect(max_items=1)
    assert order.id == stage.orders()[-1].order_id
    assert [leg.action for leg in order.legs or ()] == ["Buy to Close", "Sell to Open"]
    symbols = [leg.symbol or "" for leg in order.legs or ()]
    assert symbols[0] == old
    assert symbols[0][-9:] == symbols[1][-9:]  # type and strike
    assert symbols[0] < symbols[1]  # a later day


async def test_web_application_answers_and_errors_are_statuses_without_messages(stage: Stage) -> None:
    async with TestClient(TestServer(stage.load("web_application").application())) as browser:

        async def ask(method: str, path: str, order: Any = None) -> tuple[int, str]:
            async with browser.request(method, path, json=order) as answer:
                return answer.status, await answer.text()

        status, price = await ask("GET", "/prices/AAPL")
        assert (status, float(json.loads(price)["mark"]) > 0) == (200, True)
        assert (await ask("GET", "/prices/NO.SUCH"))[0] == 404
        assert isinstance(json.loads((await ask("GET", "/positions"))[1]), list)
        order = {"symbol": "AAPL", "quantity": "10", "price": "187.50"}
        status, effect = await ask("POST", "/previews", order)
        assert (status, "change-in-buying-power" in effect) == (200, True)
        assert not stage.orders()
        status, problem = await ask("POST", "/previews", order | {"quantity": "-1"})
        assert (status, json.loads(problem)) == (400, {"error": "InvalidRequestError"})
        stage.simulator.faults.add("GET", "/market-data/.*", "status(500)", times=20)
        assert (await ask("GET", "/prices/AAPL"))[0] in (502, 504)


ORDER: dict[str, Any] = models.converter.unstructure(limit(buy_to_open("AAPL", 1), price="1.00"))


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    for name in ("first", "second", "third"):
        (folder / f"{name}.json").write_text(json.dumps(ORDER))
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.json"))


async def test_workers_side_by_side_place_each_order_once(stage: Stage, inbox: Path) -> None:
    program = stage.load("worker")
    stage.simulator.faults.add("POST", "/accounts/[^/]+/orders$", "drop_after", times=1)  # an answer is lost
    await asyncio.gather(*(program.main([str(inbox), "--once"]) for _ in range(3)))
    await program.main([str(inbox), "--once"])
    assert names(inbox) == []
    assert names(inbox / "done") == ["first", "second", "third"]
    placed = [order.external_identifier for order in stage.orders()]
    assert sorted(placed) == ["first", "second", "third"]


async def test_invalid_files_are_set_aside(stage: Stage, inbox: Path) -> None:
    (inbox / "first.json").write_text("{")
    (inbox / "second.json").write_text(json.dumps({**ORDER, "prize": "2.00"}))
    (inbox / "third.json").write_text(json.dumps({**ORDER, "price": None}))
    (inbox / "fourth.json").write_text("[]")
    (inbox / "fifth.json").write_text("{}")
    await stage.load("worker").main([str(inbox), "--once"])
    assert names(inbox / "refused") == ["fifth", "first", "fourth", "second", "third"]
    assert not stage.orders()
    assert "second.json invalid: unknown keys prize" in stage.shown()


@pytest.mark.virtual_time
async def test_board_shows_orders_positions_and_buying_power_and_goes_on_after_a_failure(stage: Stage) -> None:
    program, live, console = stage.load("dashboard"), MagicMock(), Console(width=150)

    def shown() -> str:
        with console.capture() as captured:
            console.print(live.call_args.args[0])
        return captured.get()

    stage.patch.setattr(program, "Live", live)  # which would start a thread
    running = asyncio.create_task(program.main(["--seconds", "60"]))
    await asyncio.sleep(5)
    async with stage.simulator.client() as client:
        await client.orders.submit(stage.account, market(buy_to_open("AAPL", 3)))
        await asyncio.sleep(20)
    board = shown()
    stage.simulator.faults.add("GET", "/accounts/.*/positions", "status(500)", times=20)
    await asyncio.sleep(20)
    assert "Last failure: positions.list" in shown()
    await running
    assert lacks(board, "Buy to Open 3 AAPL", "Filled") == []
    assert re.search(r"^Buying power: [\d.]+ USD$", board, re.MULTILINE)
    assert "Last failure" not in board


@pytest.mark.virtual_time
async def test_triggered_alert_is_mailed_once_when_the_server_is_back(stage: Stage) -> None:
    program, server = stage.load("alert_mailer"), MagicMock()
    away, sent = ConnectionRefusedError(), server.__enter__.return_value.send_message
    stage.patch.setattr(program.smtplib, "SMTP", Mock(side_effect=[away, away, server]))
    stage.patch.setattr(asyncio, "to_thread", AsyncMock(side_effect=lambda function, *given: function(*given)))
    stage.patch.setenv("MAIL_TO", "me@example.org")
    watching = asyncio.create_task(program.watch())
    async with stage.simulator.client() as client:
        await asyncio.sleep(10)
        alert = models.NewQuoteAlert(field="Last", operator=">", symbol="AAPL", threshold=Decimal(500))
        await client.quote_alerts.create(alert)
        await asyncio.sleep(20)
        assert not sent.called
        stage.simulator.set_price("AAPL", "501")
        await asyncio.sleep(120)
    watching.cancel()
    await asyncio.wait({watching})
    assert [call.args[0]["Subject"] for call in sent.mock_calls] == ["AAPL: Last > 500"]
    assert stage.shown().count("mail not sent") == 2


async def test_universe_changes_are_told_the_second_night(stage: Stage, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    program = stage.load("universe_changes")
    assert await program.main(["universe", "AAPL"]) == 0
    assert "2026-06-10 equities 50" in stage.shown()
    stage.simulator.clock.advance(86_400)
    assert await program.main(["universe", "AAPL"]) == 0
    told = stage.shown()
    assert "2026-06-11 equities 50" in told
    assert len(sorted((tmp_path / "universe").glob("day=*"))) == 2
    stage.simulator.faults.add("GET", "/option-chains/AAPL.*", "status(422)", times=None)
    stage.simulator.clock.advance(86_400)
    assert await program.main(["universe", "AAPL"]) == 1
    assert "AAPL: " in stage.complaints()


@pytest.mark.browser
@pytest.mark.skipif(chromium.MISSING is not None, reason=chromium.MISSING or "")
async def test_two_customers_see_their_own_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    uvicorn = pytest.importorskip("uvicorn", reason="needs uvicorn and fastapi: `nox -s browser` installs them")
    pytest.importorskip("fastapi", reason="needs uvicorn and fastapi: `nox -s browser` installs them")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        home = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with (
            Simulator(customers=2, redirect_uris=[f"{home}/callback"], **SMALL) as simulator,
            chromium.browser() as started,
        ):
            for name, value in simulator.environ.items():
                monkeypatch.setenv(name, value)
            for number, price in enumerate(("101", "102")):
                async with simulator.client(number) as client:
                    account = simulator.customers[number].account_numbers[0]
                    await client.orders.submit(account, limit(buy_to_open("AAPL", 1), price=price))
            application: Any = runpy.run_path(str(FOLDER / "several_customers.py"))["app"]
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


@pytest.mark.slow
async def test_lumibot_strategy_buys_and_sells_shares_through_the_journal(tmp_path: Path) -> None:
    pytest.importorskip("lumibot", reason="needs lumibot: `nox -s lumibot` installs it")
    async with Simulator(environment="production", equities=50) as sim:
        environ = sim.environ | {"BROKERAGE_ACCOUNT": sim.account_numbers[0]}
        code, output = await run_program(FOLDER / "lumibot_broker.py", cwd=tmp_path, env=environ, seconds=170)
        orders = sim.ledger.orders(account_number=sim.account_numbers[0])
    told = [line.split(" at ")[0] for line in output.splitlines() if line.startswith(("buy", "sell"))]
    assert (code, told) == (0, ["buy 10.0 AAPL", "sell 10.0 AAPL"]), output
    assert [order.status for order in orders] == ["Filled", "Filled"]
    assert (tmp_path / "lumibot.journal").exists()
