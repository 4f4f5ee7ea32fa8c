"""`brokerage-async orders bracket` on a simulator in the same process."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from brokerage_async.cli import orders as command
from brokerage_async.cli.app import app
from brokerage_async.cli.brackets import Exits, read_bracket
from brokerage_async.cli.order_words import Words
from brokerage_async.cli.service import Service
from brokerage_async.errors import InvalidRequestError
from brokerage_async.simulator import Simulator

BRACKET = ["bracket", "buy-to-open", "AAPL", "10", "--limit", "150", "--profit", "290.5", "--loss", "140"]
ENTRY = Words(action="buy-to-open", symbol="AAPL", quantity="10", limit="150")
EXITS = Exits(profit="290", loss="140")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Simulator:
    options: Any = {"equities": 50, "equity_options": 10, "chain_rows": 10}
    simulator = Simulator(**options)

    @contextlib.asynccontextmanager
    async def connect(*, simulated: bool) -> AsyncIterator[Service]:
        assert not simulated
        async with simulator.client() as client:
            yield Service(client)

    monkeypatch.setattr(command, "connect", connect)
    monkeypatch.setenv("BROKERAGE_ACCOUNT", simulator.account_numbers[0])
    monkeypatch.setenv("BROKERAGE_JOURNAL", str(tmp_path / "orders.journal"))
    return simulator


def run(*arguments: str, answer: str = "", code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["orders", *arguments], input=answer, env={"COLUMNS": "80"})
    assert result.exit_code == code, (result.output, result.exception)
    return result


def submits(service: Simulator) -> int:
    return sum(request.operation == "complex_orders.submit" for request in service.ledger.requests)


def test_bracket_is_previewed_and_placed_after_a_yes(service: Simulator) -> None:
    output = run(*BRACKET, answer="y\n").stdout
    account = service.account_numbers[0]
    for line in (
        f"entry {account}: Buy to Open 10 AAPL; Limit at 150 Debit, Day",
        f"profit {account}: Sell to Close 10 AAPL; Limit at 290.5 Credit, GTC",
        f"loss {account}: Sell to Close 10 AAPL; Stop when it trades at 140, GTC",
        "change in buying power",
        f"Place this bracket? (sandbox at {service.base_url}, account {account})",
        "placed: ",
    ):
        assert line in output
    assert submits(service) == 1
    assert max(len(line) for line in output.splitlines() if line[:1] in "┏┃┡│└") <= 80


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_bracket_without_a_yes_sends_nothing(service: Simulator, answer: str) -> None:
    result = run(*BRACKET, answer=answer, code=1)
    assert "Nothing was sent." in result.stdout
    assert submits(service) == 0


def test_bracket_as_json_is_whole_and_journaled(service: Simulator) -> None:
    name = ["--external-identifier", "mine"]
    found = json.loads(run(*BRACKET, "--yes", "--json", *name).stdout)
    assert (found["outcome"], found["external-identifier"]) == ("placed", "mine")
    assert found["complex-order"]["type"] == "OTOCO"
    assert found["complex-order"]["trigger-order"]["external-identifier"] == "mine"
    assert found["body"]["orders"][1]["stop-trigger"] == "140"
    again = json.loads(run(*BRACKET, "--yes", "--json", *name).stdout)
    assert (again["outcome"], submits(service)) == ("placed", 1)
    assert "No order is open." in run("recover").stdout


def test_bracket_whose_answer_is_lost_is_found_and_sent_once(service: Simulator) -> None:
    service.faults.add("POST", r"/complex-orders$", "drop_after")
    assert "placed: " in run(*BRACKET, "--yes").stdout
    assert submits(service) == 1


def test_bracket_that_the_service_refuses_ends_with_1(service: Simulator) -> None:
    service.faults.add("POST", r"/complex-orders/dry-run$", "status(422)")
    assert "refused: " in run(*BRACKET, "--yes", code=1).stdout
    assert submits(service) == 0


def test_bracket_is_simulated_on_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERAGE_BASE_URL", raising=False)
    monkeypatch.setenv("BROKERAGE_JOURNAL", "/nowhere/orders.journal")
    assert "BROKERAGE_BASE_URL: is required" in run(*BRACKET, "--yes", code=1).stderr
    result = run(*BRACKET, "--yes", "--simulator")
    assert "SIMULATED" in result.stderr
    assert "placed: " in result.stdout


def test_exits_are_needed() -> None:
    assert "--profit" in run("bracket", "buy-to-open", "AAPL", "10", "--loss", "1", code=2).stderr


def test_read_bracket_short_futures_entry_and_limited_loss() -> None:
    words = Words(action="sell", symbol="/ESU6", quantity="1")
    order = read_bracket(words, Exits(profit="5900", loss="6100", loss_limit="6105", tif="Day"))
    profit, loss = order.orders
    assert [(each.legs[0].action, each.time_in_force) for each in order.orders] == [("Buy", "Day")] * 2
    assert (profit.price, loss.stop_trigger, loss.price) == (5900, 6100, 6105)


@pytest.mark.parametrize(
    ("entry", "exits", "message"),
    [
        (Words(action="sell-to-close", symbol="AAPL", quantity="1"), EXITS, "must open a position"),
        (Words(action="buy-to-open", symbol="AAPL", value="50"), EXITS, "must have a quantity"),
        (Words(), EXITS, "an order needs one of"),
        (ENTRY, Exits(profit="12o", loss="140"), "12o"),
        (ENTRY, Exits(profit="100", loss="140"), "profit"),
    ],
)
def test_read_bracket_words_that_make_none_are_refused(entry: Words, exits: Exits, message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        read_bracket(entry, exits)
