"""`brokerage-async quote | search` against a simulator in the same process."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from brokerage_async.cli import market as command
from brokerage_async.cli.app import app
from brokerage_async.cli.market import price_of, quote_row
from brokerage_async.cli.service import Service
from brokerage_async.models import MarketDataSnapshot
from brokerage_async.simulator import Simulator


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Simulator:
    options: Any = {"equities": 50, "equity_options": 10, "chain_rows": 10}
    simulator = Simulator(environment="production", **options)

    @contextlib.asynccontextmanager
    async def connect(*, simulated: bool) -> AsyncIterator[Service]:
        assert not simulated
        async with simulator.client() as client:
            yield Service(client)

    monkeypatch.setattr(command, "connect", connect)
    return simulator


def run(*arguments: str, width: int = 80, code: int = 0) -> Result:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": str(width)})
    assert result.exit_code == code, (result.output, result.exception)
    assert "--json" in arguments or max(map(len, result.stdout.splitlines()), default=0) <= width
    return result


def test_quotes_of_several_types(service: Simulator) -> None:
    output = run("quote", "AAPL", "/ESU6", "BTC/USD", "--index", "SPX", width=140).stdout
    for shown in ("AAPL", "Equity", "/ESU6", "Future", "BTC/USD", "Cryptocurrency", "SPX", "Index"):
        assert shown in output


def test_unknown_symbols_are_named_and_end_with_1(service: Simulator) -> None:
    result = run("quote", "NOPE", "AAPL", code=1)
    assert "unknown to the service: NOPE" in result.stderr
    assert "AAPL" in result.stdout
    assert run("quote", "NOPE", code=1).stdout == ""


def test_failed_symbols_are_named_with_their_errors(service: Simulator) -> None:
    result = run("quote", "A,B", "AAPL", "--json", code=1)
    assert "failed: A,B: " in result.stderr
    assert [row["symbol"] for row in json.loads(result.stdout)] == ["AAPL"]


def test_quotes_as_json_are_whole(service: Simulator) -> None:
    (row,) = json.loads(run("quote", "AAPL", "--json").stdout)
    assert {"symbol", "bid", "ask", "prev-close", "updated-at", "summary-date"} <= set(row)


def test_search(service: Simulator) -> None:
    assert "Apple Inc." in run("search", "apple").stdout
    rows = json.loads(run("search", "a", "--limit", "3", "--json").stdout)
    assert len(rows) == 3
    assert "Nothing was found for 'zzzz'." in run("search", "zzzz").stdout
    assert json.loads(run("search", "a", "--type", "Future", "--json").stdout) == []


def test_long_symbols_leave_out_what_has_no_room(service: Simulator) -> None:
    symbol = service.brokerage.state.catalogue.equity_options.definitions[0].symbol
    output = run("quote", symbol, "BTC/USD", width=76).stdout
    assert symbol in output
    assert "No room for: type, at" in output


@pytest.mark.parametrize("arguments", [["quote", "AAPL"], ["search", "apple"]])
def test_nothing_is_simulated_unasked(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERAGE_BASE_URL", raising=False)
    assert "BROKERAGE_BASE_URL: is required" in run(*arguments, code=1).stderr


def test_simulator_on_request_serves_prices() -> None:
    result = run("quote", "AAPL", "--simulator", "--json")
    assert "SIMULATED" in result.stderr
    assert json.loads(result.stdout)


def test_quote_row_change_is_that_since_the_previous_close() -> None:
    row = quote_row("X", MarketDataSnapshot(last=Decimal("9.9"), prev_close=Decimal("10.0"), volume=Decimal(12345)))
    assert (row["change"], row["%"], row["volume"]) == ("-0.1", "-1.00", "12,345")
    assert quote_row("X", MarketDataSnapshot(last=Decimal(1), prev_close=Decimal(0)))["%"] == ""
    assert quote_row("X", MarketDataSnapshot())["change"] == ""


def test_price_of_takes_the_first_row_with_a_price() -> None:
    rows = [
        MarketDataSnapshot(),
        MarketDataSnapshot(mid=Decimal(2), close=Decimal(3)),
        MarketDataSnapshot(last=Decimal(4)),
    ]
    assert price_of(rows) == 2
    assert price_of([]) is None
