"""`brokerage-async chain`: on the simulator, and on a service with futures chains and without prices."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from brokerage_async import Client, Environment, RetryPolicy, StaticToken
from brokerage_async.cli import chain as command
from brokerage_async.cli.app import app
from brokerage_async.cli.service import Service
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator
from tests.fake_transport import FakeTransport, fail, ok


def expiration(root: str, underlying: str, day: str, days: int) -> dict[str, Any]:
    strikes = [
        {"strike-price": f"{price}.0", "call": f"./{root} C{price}", "put": f"./{root} P{price}"}
        for price in range(5000, 7000, 10)
    ]
    return {
        "expiration-date": day, "days-to-expiration": days, "expiration-type": "Weekly", "settlement-type": "PM",
        "option-root-symbol": root, "underlying-symbol": underlying, "strikes": strikes,
    }  # fmt: skip


FUTURES = {
    "futures": [],
    "option-chains": [
        {
            "underlying-symbol": "/ES",
            "expirations": [
                expiration("EW2", "/ESM6", "2026-06-12", 2),
                expiration("EW3", "/ESM6", "2026-06-19", 9),
                expiration("ESU", "/ESU6", "2026-09-18", 100),
            ],
        }
    ],
}


class Exchange(FakeTransport):
    """Serves one futures chain, and prices of futures but not of options, unless they are denied."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.priced = True

    @property
    def paths(self) -> list[str]:
        return [request.url.removeprefix("https://service") for request in self.requests]

    def _answer(self, request: Request) -> Response:
        if "/market-data" not in request.url:
            return ok(FUTURES)
        if not self.priced:
            return fail(403, "not_permitted")
        if "future=" in request.url:
            return ok({"items": [{"symbol": "/ESM6", "mark": "6003.75"}]})
        return ok({"items": [{"symbol": "./EW3 C6000", "bid": "41.25"}]})


@pytest.fixture
def exchange(monkeypatch: pytest.MonkeyPatch) -> Exchange:
    transport = Exchange()
    options: Any = {"transport": transport, "retry": RetryPolicy.none()}

    @contextlib.asynccontextmanager
    async def connect(*, simulated: bool) -> AsyncIterator[Service]:
        async with Client(Environment.production("https://service"), StaticToken("token"), **options) as client:
            yield Service(client)

    monkeypatch.setattr(command, "connect", connect)
    return transport


@pytest.fixture(scope="module")
def running() -> Simulator:
    options: Any = {"equities": 50, "equity_options": 2_000, "chain_rows": 10}
    return Simulator(environment="production", **options)


@pytest.fixture
def simulator(running: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.asynccontextmanager
    async def connect(*, simulated: bool) -> AsyncIterator[Service]:
        async with running.client() as client:
            yield Service(client)

    monkeypatch.setattr(command, "connect", connect)


def run(*arguments: str, width: int = 80, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["chain", *arguments], env={"COLUMNS": str(width)})
    assert result.exit_code == code, (result.output, result.exception)
    assert "--json" in arguments or max(map(len, result.stdout.splitlines()), default=0) <= width
    return result


@pytest.mark.usefixtures("simulator")
class TestEquities:
    def test_expirations(self) -> None:
        output = run("AAPL").stdout
        assert output.splitlines()[0].strip() == "Expirations"
        assert "2026-07-17" in output
        assert "Regular" in output

    def test_strikes_around_the_money_with_their_prices(self) -> None:
        output = run("AAPL", "--near", "2026-07-17", "--strikes", "4", width=110).stdout
        title, *rows = output.splitlines()
        assert re.match(r"AAPL 2026-07-17 PM of AAPL around \d+\.\d\d ", title)
        strikes = [line for line in rows if "AAPL  260717C" in line]
        assert len(strikes) == 4
        for line in strikes:
            call, bid, ask, strike, put_bid, put_ask, put = (cell.strip() for cell in line.strip("│").split("│"))
            assert call.replace("C", "P") == put.replace("C", "P")
            assert float(bid) < float(ask)
            assert float(put_bid) < float(put_ask)
            assert float(call[-8:]) / 1000 == float(strike)

    def test_prices_and_strikes_as_json_are_whole(self) -> None:
        found = json.loads(run("AAPL", "--days", "37", "--around", "150", "--strikes", "2", "--json").stdout)
        assert (found["underlying-symbol"], found["around"]) == ("AAPL", "150")
        strikes = found["expiration"]["strikes"]
        assert [set(strike) >= {"call", "put", "call-streamer-symbol"} for strike in strikes] == [True, True]
        assert {price["symbol"] for price in found["prices"]} == {
            strike[side] for strike in strikes for side in ("call", "put")
        }

    def test_whole_chain_as_json(self) -> None:
        (chain,) = json.loads(run("AAPL", "--json").stdout)
        assert chain["expirations"][0]["strikes"][0]["strike-price"]

    def test_unknown_underlying_or_expiration_ends_with_1(self) -> None:
        assert "NotFoundError" in run("NOPE", code=1).stderr
        assert "it lists" in run("AAPL", "--on", "2026-07-16", code=1).stderr


class TestFutures:
    def test_expirations_of_a_product_or_of_one_future(self, exchange: Exchange) -> None:
        output = run("/ES").stdout
        assert all(root in output for root in ("EW2", "EW3", "ESU"))
        assert "ESU" not in run("/ESM6").stdout
        assert "EW2" not in run("/ES", "--root", "EW3").stdout
        assert set(exchange.paths) == {"/futures-option-chains/ES/nested"}

    def test_strikes_are_around_the_price_of_the_future(self, exchange: Exchange) -> None:
        title, *rows = run("/ES", "--days", "9", "--strikes", "2").stdout.splitlines()
        assert title.strip() == "EW3 2026-06-19 PM of /ESM6 around 6003.75"
        (line,) = (row for row in rows if "6000.0" in row)
        assert "41.25" in line
        assert "6010.0" in "".join(rows)
        assert "/market-data/by-type?future=%2FESM6" in exchange.paths

    def test_without_prices_the_strikes_need_a_price_to_be_around(self, exchange: Exchange) -> None:
        exchange.priced = False
        result = run("/ES", "--days", "9", code=1)
        assert "the service gives no price of /ESM6: pass --around PRICE" in result.stderr
        result = run("/ES", "--days", "9", "--around", "6100", "--strikes", "1", width=110)
        assert "PermissionDeniedError" in result.stderr
        assert "./EW3 C6100" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["AAPL", "--around", "5"], "a list of expirations does not go together with --around"),
        (["AAPL", "--strikes", "5"], "a list of expirations does not go together with --strikes"),
        (["AAPL", "--days", "5", "--around", "5%"], "--around must be a plain number such as 187.50, got '5%'"),
        (["/ES", "--days", "5", "--on", "2026-06-12"], "exactly one of near, on and days"),
        (["/ES", "--days", "5", "--root", "XX"], "must list an expiration to choose"),
    ],
)
def test_words_that_do_not_go_together_are_refused(exchange: Exchange, arguments: list[str], message: str) -> None:
    assert message in " ".join(run(*arguments, code=1).stderr.split())


def test_nothing_is_simulated_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERAGE_BASE_URL", raising=False)
    assert "BROKERAGE_BASE_URL: is required" in run("AAPL", code=1).stderr
