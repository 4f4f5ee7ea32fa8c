"""Documented programs when something goes wrong: killed and started again, with a failing or forgetful service."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from brokerage_async.simulator import Simulator
from tests.documents import ROOT, blocks, program
from tests.processes import program as started
from tests.processes import run_program
from tests.trading import SMALL

NIGHTLY = program("A nightly fetch into Parquet")
WEB = program("A web application")
BOT = blocks(ROOT / "docs" / "programs.md")[0][1].replace("PATIENCE = 1.0", "PATIENCE = 0.1")
[(_, WRITTEN)] = blocks(ROOT / "docs" / "before-you-run.md")
QUICK = "guard=GUARD, lease=0.5, reconcile=ReconcilePolicy(visibility_delay=0.5, first=0.1, max_interval=0.2))"
CAPPED = WRITTEN.replace("guard=GUARD)", QUICK).replace("OrderGuard\n", "OrderGuard, ReconcilePolicy\n", 1)
ALLOWED = 5
"""Orders of 100 dollars under the cap of 500 dollars a day of the program in docs/before-you-run.md."""


@pytest.fixture
async def brokerage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Simulator]:
    async with Simulator(equities=100) as simulator:
        for name, value in simulator.environ.items():
            monkeypatch.setenv(name, value)
        yield simulator


async def nightly(folder: Path) -> tuple[int | None, str]:
    return await run_program("-W", "error", "-c", NIGHTLY, cwd=folder)


def files(folder: Path) -> list[str]:
    return sorted(path.suffixes[-1] for path in folder.iterdir())


async def test_a_nightly_fetch_with_a_failed_symbol_fails_and_is_repaired(brokerage: Simulator, tmp_path: Path) -> None:
    brokerage.faults.add("GET", "dividends/MSFT", "status(422)", times=None)
    code, output = await nightly(tmp_path)
    assert (code, files(tmp_path)) == (1, [".partial"])
    assert "1 of 6 keys failed" in output
    brokerage.faults.clear()
    asked = brokerage.ledger.count("market_metrics.dividends")
    code, output = await nightly(tmp_path)
    assert (code, files(tmp_path)) == (0, [".parquet"])
    assert "5 symbols from an earlier run" in output
    assert brokerage.ledger.count("market_metrics.dividends") == asked + 1


@pytest.fixture
async def browser(brokerage: Simulator) -> AsyncIterator[TestClient[Any, Any]]:
    module: dict[str, Any] = {"__name__": "web"}
    exec(WEB.removesuffix("asyncio.run(try_out())\n"), module)
    async with TestClient(TestServer(module["application"]())) as client:
        yield client


async def test_all_requests_share_one_client(brokerage: Simulator, browser: TestClient[Any, Any]) -> None:
    async def status(symbol: str) -> int:
        async with browser.get(f"/dividends/{symbol}") as answer:
            return answer.status

    assert await asyncio.gather(*(status(symbol) for symbol in ["AAPL", "MSFT"] * 20)) == [200] * 40
    assert brokerage.ledger.count("oauth.token") == 1


@pytest.mark.parametrize(
    ("symbol", "fault", "status", "name"),
    [
        ("NO.SUCH", None, 404, "NotFoundError"),
        ("AAPL", "status(400)", 400, "BadRequestError"),
        ("AAPL", "status(422)", 400, "UnprocessableError"),
        ("AAPL", "status(401)", 500, "AuthenticationError"),
        ("AAPL", "status(403)", 502, "PermissionDeniedError"),
        ("AAPL", "status(503)", 502, "ServerError"),
        ("AAPL", "garbage", 502, "ResponseDecodeError"),
    ],
)
async def test_errors_become_answers_without_the_words_of_the_service(
    brokerage: Simulator, browser: TestClient[Any, Any], symbol: str, fault: str | None, status: int, name: str
) -> None:
    if fault is not None:
        brokerage.faults.add("GET", "/dividends", fault, times=None)
    async with browser.get(f"/dividends/{symbol}") as answer:
        assert (answer.status, await answer.json()) == (status, {"error": name})


async def run_bot(brokerage: Simulator, folder: Path) -> tuple[int | None, str]:
    assert "PATIENCE = 0.1" in BOT
    return await run_program("-W", "error", "-c", BOT, cwd=folder, env=brokerage.environ)


async def test_bot_started_again_finds_its_order_and_says_so_when_the_service_has_forgotten_it(tmp_path: Path) -> None:
    async with Simulator(seed=3, **SMALL) as brokerage:
        port = int(brokerage.base_url.rpartition(":")[2])
        code, output = await run_bot(brokerage, tmp_path)
        assert code == 0, output
        assert re.search(r"^placed \nreplace: applied \ncancel: applied \n\w+ Cancelled\n$", output), output
        code, again = await run_bot(brokerage, tmp_path)
        assert code == 0, again
        assert again.startswith("placed journaled before")
        assert again.endswith(output.splitlines()[-1] + "\n")
        orders = brokerage.ledger.orders(account_number=brokerage.account_numbers[0])
        assert [order.replaces_order_id is None for order in orders].count(True) == 1
        assert len(orders) == 2
    async with Simulator(seed=3, port=port, **SMALL) as restarted:
        code, output = await run_bot(restarted, tmp_path)
        assert code == 1
        assert re.search(r"cannot go on with order \w+: .*not listed any more", output), output
        assert "Traceback" not in output
        assert restarted.ledger.count("orders.submit") == 0


def booked(brokerage: Simulator) -> Counter[str | None]:
    orders = brokerage.ledger.orders(account_number=brokerage.account_numbers[0])
    return Counter(order.external_identifier for order in orders)


async def test_program_that_is_killed_anywhere_never_passes_its_cap(tmp_path: Path) -> None:
    chance = random.Random(29)
    async with Simulator(seed=3, latency=0.01, **SMALL) as brokerage:
        environ = brokerage.environ | {"BROKERAGE_JOURNAL": str(tmp_path / "orders.journal")}
        options: dict[str, Any] = {"cwd": tmp_path, "env": environ}
        for _ in range(2):
            async with started("-W", "error", "-c", CAPPED, **options) as process:
                await process.stdout.readline()
                await asyncio.sleep(chance.uniform(0, 0.15))
            assert sum(booked(brokerage).values()) <= ALLOWED
        _, output = await run_program("-W", "error", "-c", CAPPED, **options)
        orders = booked(brokerage)
        assert set(orders.values()) == {1}, orders
        assert sum(orders.values()) + output.count(" unknown ") == ALLOWED, output
        assert "guard_refused" in output
        assert "max_value_per_day: 500 of 500 dollars are used" in output

        _, output = await run_program("-m", "brokerage_async", "orders", "halt", "drift", "--label", "dip", **options)
        assert "label dip (drift)" in output
        _, output = await run_program("-W", "error", "-c", CAPPED, **options)
        assert "refused halted" in output
        assert "1 halts" in output
        assert booked(brokerage) == orders
