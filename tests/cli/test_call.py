"""`brokerage-async call`: any operation by name, JSON on stdout, errors on stderr with exit code 1."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.cli.app import app
from brokerage_async.cli.call import BETTER, read_arguments, read_body
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import NewQuoteAlert
from brokerage_async.operation import Effect, Operation


def call(*arguments: str, **options: Any) -> Result:
    """Call an operation of a simulator."""
    return CliRunner().invoke(app, ["call", *arguments, "--simulator"], **options)


def test_a_list_is_printed_as_json() -> None:
    result = call("market_metrics.dividends", "--symbol", "AAPL")
    assert result.exit_code == 0, result.stderr
    dividends = json.loads(result.stdout)
    assert dividends
    assert {"occurred-date", "amount"} <= set(dividends[0])


def test_a_paginated_list_stops_where_asked() -> None:
    result = call("instruments.equities", "--per-page=50", "--max-items", "120")
    assert len(json.loads(result.stdout)) == 120


def test_repeated_parameters_make_a_list() -> None:
    result = call("instruments.equities", "--symbols", "AAPL", "--symbols", "BRK/B")
    assert {each["symbol"] for each in json.loads(result.stdout)} == {"AAPL", "BRK/B"}


def test_a_body_comes_from_standard_input() -> None:
    body = json.dumps({"name": "Mine", "watchlist-entries": [{"symbol": "AAPL"}]})
    result = call("watchlists.create", "--body", "-", "--yes", input=body)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["name"] == "Mine"


def test_list_names_every_operation_that_can_be_called() -> None:
    output = call("list").stdout
    for operation in OPERATIONS.values():
        assert (operation.name in output) is (operation.scope is not None)
        assert (operation.path in output) is (operation.scope is not None)
    [line] = [line for line in output.splitlines() if line.startswith("balances.get ")]
    assert line.split() == ["balances.get", "client", "GET", "/accounts/{account_number}/balances/{currency}"]


@pytest.mark.parametrize("operation", [each for each in OPERATIONS.values() if each.scope is not None])
def test_list_tells_all_of_one_operation(operation: Operation[Any]) -> None:
    output = call("list", operation.name).stdout
    for parameter in operation.parameters:
        assert f"--{parameter.name.replace('_', '-')} " in output
    assert ("--body" in output) is (operation.body is not None)
    assert operation.path in output


def test_list_of_an_unknown_operation() -> None:
    result = call("list", "no.such")
    assert result.exit_code == 1
    assert "unknown operation 'no.such'" in result.stderr


def test_every_wrong_argument_is_named_at_once_and_nothing_is_sent() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_arguments(
            OPERATIONS["market_time.sessions"], ["--to-date", "tomorrow", "--colour", "red", "stray", "--from-date"]
        )
    assert {problem.domain for problem in caught.value.errors} == {"--to-date", "--colour", "stray", "--from-date"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no.such"], "unknown operation 'no.such'"),
        (["oauth.token"], "unknown operation 'oauth.token'"),
        (["market_metrics.dividend"], "did you mean market_metrics.dividends?"),
        (["market_time.sessions"], "--to-date: is required"),
        (["market_time.current_sessions"], "--instrument-collections: is required"),
        (["instruments.warrant"], "--symbol: is required"),
        (["watchlists.create"], "a body is required"),
        (["watchlists.create", "--body", "order.json"], "for a file, pass @FILE"),
        (["watchlists.create", "--body", "{"], "cannot read the body"),
        (["watchlists.list", "--body", "{}"], "must not have a body"),
        (["watchlists.create", "--body", "@/no/such/file"], "cannot read the body"),
        (["instruments.warrant", "--symbol", "NO.SUCH"], "NotFoundError"),
    ],
)
def test_errors_go_to_stderr_with_exit_code_1(arguments: list[str], says: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 1
    assert says in result.stderr
    assert result.stdout == ""


def test_an_unreachable_service_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "BASE_URL": "http://127.0.0.1:9",
        "CLIENT_SECRET": "s3cret",
        "REFRESH_TOKEN": "r3fresh",
    }.items():
        monkeypatch.setenv(f"BROKERAGE_{name}", value)
    result = CliRunner().invoke(app, ["call", "watchlists.list"])
    assert result.exit_code == 1
    assert "127.0.0.1:9" in result.stderr
    assert "Is BROKERAGE_BASE_URL right (http://127.0.0.1:9), and the network up?" in result.stderr
    assert result.stderr.count("oauth.token") == 1
    assert "s3cret" not in result.output
    assert "r3fresh" not in result.output


@pytest.mark.parametrize("body", ["{", "@/none", '{"name": "a", "name": "b"}', '{"name": NaN}'])
def test_body_that_cannot_be_read_is_refused(body: str) -> None:
    result = CliRunner().invoke(app, ["call", "watchlists.create", "--body", body])
    assert result.exit_code == 1
    assert "InvalidRequestError: watchlists.create: cannot read the body" in result.stderr


@pytest.mark.parametrize("body", ["[]", "5", "null", '{"nmae": "a"}'])
def test_body_of_another_form_is_refused(body: str) -> None:
    result = CliRunner().invoke(app, ["call", "watchlists.create", "--body", body])
    assert result.exit_code == 1
    assert "InvalidRequestError: watchlists.create: the JSON must" in result.stderr


@pytest.mark.parametrize("number", ["1_000", "１０", " 5", "0x10"])
def test_integer_parameter_must_be_plain(number: str) -> None:
    result = call("instruments.equities", "--per-page", number)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "--per-page" in result.stderr


def test_the_numbers_of_a_body_keep_their_digits() -> None:
    digits = "0.12345678901234567890123"
    body = f'{{"field":"Last","operator":">","symbol":"AAPL","threshold":{digits}}}'
    alert = read_body(OPERATIONS["quote_alerts.create"], body)
    assert isinstance(alert, NewQuoteAlert)
    assert str(alert.threshold) == digits


def test_a_body_that_is_nested_absurdly_is_told() -> None:
    result = call("watchlists.create", "--body", "[" * 100_000)
    assert result.exit_code == 1
    assert "cannot read the body: the JSON is nested too deeply" in " ".join(result.stderr.split())


WATCHLIST = json.dumps({"name": "Mine", "watchlist-entries": [{"symbol": "AAPL"}]})


def test_operation_that_changes_something_asks() -> None:
    result = call("watchlists.create", "--body", WATCHLIST, input="n\n")
    assert result.exit_code == 1
    assert "Send watchlists.create to the simulator at http://127.0.0.1:" in result.stdout
    assert "Nothing was sent." in result.stdout


def test_operation_that_changes_something_is_sent_after_a_yes() -> None:
    result = call("watchlists.create", "--body", WATCHLIST, input="y\n")
    assert result.exit_code == 0, result.output
    assert '"name": "Mine"' in result.stdout


def test_body_on_standard_input_leaves_no_answer_and_is_not_sent() -> None:
    result = call("watchlists.create", "--body", "-", input=WATCHLIST)
    assert result.exit_code == 1
    assert "Nothing was sent." in result.stdout
    assert "--yes" in result.stdout


ORDER = json.dumps({
    "order-type": "Market", "time-in-force": "Day",
    "legs": [{"action": "Buy to Open", "instrument-type": "Equity", "symbol": "AAPL", "quantity": "1"}],
})  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("orders.submit", ["--body", ORDER], "orders place"),
        ("orders.cancel", ["--id", "7"], "orders cancel"),
        ("orders.replace", ["--id", "7", "--body", ORDER], "orders replace"),
        ("orders.edit", ["--id", "7", "--body", ORDER], "orders replace"),
    ],
)
def test_order_sent_by_call_asks_and_points_to_orders(name: str, arguments: list[str], command: str) -> None:
    result = call(name, "--account-number", "5WT00001", *arguments, input="n\n")
    assert result.exit_code == 1
    assert ", account 5WT00001?" in result.stdout
    assert f"`brokerage-async {command}`" in result.stderr


def test_every_operation_that_changes_something_needs_a_yes() -> None:
    mutations = {each.name for each in OPERATIONS.values() if each.effect is Effect.MUTATE and each.scope is not None}
    assert set(BETTER) < mutations
    assert {name for name in mutations if name.startswith("orders.")} == set(BETTER)


def test_preflight_does_not_ask() -> None:
    account = "5WT00001"
    result = call("orders.dry_run", "--account-number", account, "--body", ORDER, input="")
    assert "Send" not in result.stdout
