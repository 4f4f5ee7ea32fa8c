"""Documented programs when something goes wrong: a killed nightly fetch, a web application with a failing service."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from aiohttp.test_utils import TestClient, TestServer

from brokerage_async.simulator import Simulator
from tests.documents import program
from tests.processes import program as started

NIGHTLY = program("A nightly fetch into Parquet")
WEB = program("A web application")


@pytest.fixture
async def brokerage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Simulator]:
    async with Simulator(equities=100) as simulator:
        for name, value in simulator.environ.items():
            monkeypatch.setenv(name, value)
        yield simulator


async def nightly(folder: Path, *, kill_at: str | None = None) -> tuple[int, str]:
    """Run the program, and kill it when it prints a line."""
    lines = []
    async with started("-W", "error", "-c", NIGHTLY, cwd=folder) as process, asyncio.timeout(60):
        assert process.stdout is not None
        async for line in process.stdout:
            lines.append(line.decode())
            if lines[-1].strip() == kill_at:
                process.kill()
        return await process.wait(), "".join(lines)


def files(folder: Path) -> list[str]:
    return sorted(path.suffixes[-1] for path in folder.iterdir())


def kept_symbols(folder: Path) -> set[str]:
    [partial] = folder.glob("*.partial")
    return {json.loads(line)[0] for line in partial.read_text().splitlines()[1:]}


async def test_a_killed_nightly_fetch_goes_on_where_it_stopped(brokerage: Simulator, tmp_path: Path) -> None:
    brokerage.latency = 0.1
    code, _ = await nightly(tmp_path, kill_at="3 of 6")
    assert (code, files(tmp_path)) == (-9, [".partial"])
    kept, before = kept_symbols(tmp_path), len(brokerage.ledger.requests)
    assert 2 <= len(kept) < 6

    code, output = await nightly(tmp_path)
    assert (code, files(tmp_path)) == (0, [".parquet"]), output
    assert f"{len(kept)} symbols from an earlier run" in output
    again = [request.target for request in brokerage.ledger.requests[before:]]
    assert not [target for target in again if target.rpartition("/")[2] in kept]
    rows = pq.read_table(tmp_path).select(["key", "occurred_date"]).to_pylist()
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    assert list(dict.fromkeys(row["key"] for row in rows)) == ["AAPL", "MSFT", "SPY", "QQQ", "NVDA", "BRK/B"]


async def test_a_nightly_fetch_with_a_failed_symbol_fails_and_is_repaired(brokerage: Simulator, tmp_path: Path) -> None:
    brokerage.faults.add("GET", "dividends/MSFT", "status(422)", times=None)
    code, output = await nightly(tmp_path)
    assert (code, files(tmp_path)) == (1, [".partial"])
    assert "1 of 6 keys failed" in output
    brokerage.faults.clear()
    asked = brokerage.ledger.count("market_metrics.dividends")
    code, output = await nightly(tmp_path)
    assert (code, files(tmp_path)) == (0, [".parquet"])
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
