"""`brokerage-async orders bracket` on a simulator in the same process."""

import json

import pytest

from brokerage_async.simulator import Simulator

from .commands import invoke

BRACKET = ["orders", "bracket", "buy-to-open", "AAPL", "10", "--limit", "150", "--profit", "290.5", "--loss", "140"]


def submits(service: Simulator) -> int:
    return sum(request.operation == "complex_orders.submit" for request in service.ledger.requests)


def test_bracket_after_a_yes_is_previewed_and_placed(service: Simulator) -> None:
    output = invoke(*BRACKET, input="y\n").stdout
    account = service.account_numbers[0]
    expected = (
        f"entry {account}: Buy to Open 10 AAPL; Limit at 150 Debit, Day",
        f"profit {account}: Sell to Close 10 AAPL; Limit at 290.5 Credit, GTC",
        f"loss {account}: Sell to Close 10 AAPL; Stop when it trades at 140, GTC",
        "change in buying power",
        f"Place this bracket? (sandbox at {service.base_url}, account {account})",
        "placed: ",
    )
    assert [line for line in expected if line not in output] == []
    assert submits(service) == 1
    assert max(len(line) for line in output.splitlines() if line[:1] in "┏┃┡│└") <= 80


def test_bracket_without_a_yes_sends_nothing(service: Simulator) -> None:
    for answer in ("n\n", ""):
        assert "Nothing was sent." in invoke(*BRACKET, input=answer, code=1).stdout
    assert submits(service) == 0


def test_bracket_without_a_price_needs_market(service: Simulator) -> None:
    priceless = [word for word in BRACKET if word not in ("--limit", "150")]
    assert "needs --market" in invoke(*priceless, "--yes", code=1).stderr
    assert "No price is given." in invoke(*priceless, input="n\n", code=1).stdout
    assert submits(service) == 0
    assert "placed: " in invoke(*priceless, "--market", "--yes", "--allow-warnings").stdout


def test_bracket_json_is_whole_and_journaled(service: Simulator) -> None:
    mine = [*BRACKET, "--yes", "--json", "--external-identifier", "mine"]
    found = json.loads(invoke(*mine).stdout)
    assert (found["outcome"], found["external-identifier"]) == ("placed", "mine")
    assert found["complex-order"]["type"] == "OTOCO"
    assert found["complex-order"]["trigger-order"]["external-identifier"] == "mine"
    assert found["body"]["orders"][1]["stop-trigger"] == "140"
    assert (json.loads(invoke(*mine).stdout)["outcome"], submits(service)) == ("placed", 1)
    assert "No order is open." in invoke("orders", "recover").stdout


def test_bracket_whose_answer_is_lost_is_found_and_sent_once(service: Simulator) -> None:
    service.faults.add("POST", r"/complex-orders$", "drop_after")
    assert "placed: " in invoke(*BRACKET, "--yes").stdout
    assert submits(service) == 1


def test_bracket_that_the_service_refuses_ends_with_1(service: Simulator) -> None:
    service.faults.add("POST", r"/complex-orders/dry-run$", "status(422)")
    assert "refused: " in invoke(*BRACKET, "--yes", code=1).stdout
    assert submits(service) == 0


def test_bracket_is_simulated_on_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERAGE_BASE_URL", raising=False)
    monkeypatch.setenv("BROKERAGE_JOURNAL", "/nowhere/orders.journal")
    assert "BROKERAGE_BASE_URL: is required" in invoke(*BRACKET, "--yes", code=1).stderr
    result = invoke(*BRACKET, "--yes", "--simulator")
    assert "SIMULATED" in result.stderr
    assert "placed: " in result.stdout


def test_bracket_words_that_are_missing_are_named() -> None:
    assert "--profit" in invoke("orders", "bracket", "buy-to-open", "AAPL", "10", "--loss", "1", code=2).stderr
    said = invoke("orders", "bracket", "--profit", "290", "--loss", "140", "--yes", code=1).stderr
    assert "an order needs one of" in said
