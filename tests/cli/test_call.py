"""`brokerage-async call`: any operation by name, JSON on stdout, errors on stderr with exit code 1."""

import json
from typing import Any

import pytest
from click.testing import Result

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.cli.call import BETTER, read_arguments, read_body
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import NewQuoteAlert
from brokerage_async.operation import Effect
from tests.tables import lacks

from .conftest import ORDER, invoke, refusal

WATCHLIST = json.dumps({"name": "Mine", "watchlist-entries": [{"symbol": "AAPL"}]})


def call(*arguments: str, **options: Any) -> Result:
    """Call an operation of a simulator, which is to end with exit code 0, or another ``code``."""
    return invoke("call", *arguments, "--simulator", width=1_000, **options)


def test_call_prints_results_as_json() -> None:
    first, *_ = json.loads(call("market_metrics.dividends", "--symbol", "AAPL").stdout)
    assert {"occurred-date", "amount"} <= set(first)
    pages = call("instruments.equities", "--per-page=50", "--max-items", "120")
    assert len(json.loads(pages.stdout)) == 120
    several = call("instruments.equities", "--symbols", "AAPL", "--symbols", "BRK/B")
    assert {each["symbol"] for each in json.loads(several.stdout)} == {"AAPL", "BRK/B"}
    created = call("watchlists.create", "--body", "-", "--yes", input=WATCHLIST)
    assert json.loads(created.stdout)["name"] == "Mine"
    assert "Missing argument" in call(code=2).stderr


def test_call_list_names_every_operation_that_can_be_called_and_describes_one() -> None:
    listed = call("list").stdout
    [line] = [line for line in listed.splitlines() if line.startswith("balances.get ")]
    assert line.split() == ["balances.get", "client", "GET", "/accounts/{account_number}/balances/{currency}"]
    missing = []
    for operation in OPERATIONS.values():
        can_be_called = operation.scope is not None
        assert (operation.name in listed, operation.path in listed) == (can_be_called, can_be_called)
        if not can_be_called:
            continue
        output = call("list", operation.name).stdout
        expected = [f"--{parameter.name.replace('_', '-')} " for parameter in operation.parameters]
        missing += [(operation.name, shown) for shown in lacks(output, *expected, operation.path)]
        missing += [(operation.name, "--body")] if ("--body" in output) is not (operation.body is not None) else []
    assert missing == []
    for option in ("--help", "-h"):
        assert call("instruments.warrant", option).stdout == call("list", "instruments.warrant").stdout
        assert "Call any operation by its name" in call(option).stdout
        assert "unknown operation 'no.such'" in call("no.such", option, code=1).stderr


def test_read_arguments_names_every_wrong_one() -> None:
    words = ["--to-date", "tomorrow", "--colour", "red", "stray", "--from-date"]
    with pytest.raises(InvalidRequestError) as caught:
        read_arguments(OPERATIONS["market_time.sessions"], words)
    assert {problem.domain for problem in caught.value.errors} == {"--to-date", "--colour", "stray", "--from-date"}


def test_call_errors_go_to_stderr_with_exit_code_1() -> None:
    prefix = "InvalidRequestError: watchlists.create: "
    unread, form = prefix + "cannot read the body", prefix + "the JSON must"
    table: list[tuple[list[str], str]] = [
        (["no.such"], "unknown operation 'no.such'"),
        (["list", "no.such"], "unknown operation 'no.such'"),
        (["oauth.token"], "unknown operation 'oauth.token'"),
        (["market_metrics.dividend"], "did you mean market_metrics.dividends?"),
        (["market_time.sessions"], "--to-date: is required"),
        (["market_time.current_sessions"], "--instrument-collections: is required"),
        (["instruments.warrant"], "--symbol: is required"),
        (["watchlists.create"], "a body is required"),
        (["watchlists.create", "--body", "order.json"], "for a file, pass @FILE"),
        (["watchlists.list", "--body", "{}"], "must not have a body"),
        (["instruments.warrant", "--symbol", "NO.SUCH"], "NotFoundError"),
        *((["watchlists.create", "--body", body], unread) for body in ("{", "@/no/such/file", '{"name": NaN}')),
        *((["watchlists.create", "--body", body], form) for body in ("[]", "5", "null", '{"nmae": "a"}')),
        *((["instruments.equities", "--per-page", number], "--per-page") for number in ("1_000", "１０", " 5", "0x10")),
        (["instruments.equities", "--is-etf", "maybe"], "--is-etf: must be of kind boolean, got 'maybe'"),
    ]  # fmt: skip
    said = [(refusal("call", *arguments, "--simulator"), says) for arguments, says in table]
    assert [(told, says) for told, says in said if says not in " ".join(told.split())] == []


def test_call_unreachable_service_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("BASE_URL", "http://127.0.0.1:9"), ("CLIENT_SECRET", "s3cret"), ("REFRESH_TOKEN", "r3fresh")):
        monkeypatch.setenv(f"BROKERAGE_{name}", value)
    result = invoke("call", "watchlists.list", code=1)
    assert "Is BROKERAGE_BASE_URL right (http://127.0.0.1:9), and the network up?" in result.stderr
    assert result.stderr.count("oauth.token") == 1
    assert [secret for secret in ("s3cret", "r3fresh") if secret in result.output] == []


def test_read_body_numbers_keep_their_digits() -> None:
    digits = "0.12345678901234567890123"
    body = f'{{"field":"Last","operator":">","symbol":"AAPL","threshold":{digits}}}'
    alert = read_body(OPERATIONS["quote_alerts.create"], body)
    assert isinstance(alert, NewQuoteAlert)
    assert str(alert.threshold) == digits


def test_call_operation_that_changes_something_asks_and_a_preflight_does_not() -> None:
    refused = call("watchlists.create", "--body", WATCHLIST, code=1, input="n\n")
    asked = "Send watchlists.create to the simulator at http://127.0.0.1:"
    assert lacks(refused.stdout, asked, "Nothing was sent.") == []
    assert '"name": "Mine"' in call("watchlists.create", "--body", WATCHLIST, input="y\n").stdout
    unanswered = call("watchlists.create", "--body", "-", code=1, input=WATCHLIST)  # the body takes the answer's place
    assert lacks(unanswered.stdout, "Nothing was sent.", "--yes") == []
    order = ("--account-number", "5WT00001", "--body", json.dumps(ORDER))
    assert "Couldn't find account" in refusal("call", "orders.dry_run", *order, "--simulator", input="")


def test_call_order_operations_ask_and_name_the_better_command_if_there_is_one() -> None:
    replacement = ["--id", "7", "--body", json.dumps({"order-type": "Market", "time-in-force": "Day"})]
    table = {
        "orders.submit": ("orders place", ["--body", json.dumps(ORDER)]),
        "orders.cancel": ("orders cancel", ["--id", "7"]),
        **dict.fromkeys(["orders.replace", "orders.edit"], ("orders replace", replacement)),
    }
    assert table.keys() == BETTER.keys()
    for name, (better, arguments) in table.items():
        result = call(name, "--account-number", "5WT00001", *arguments, code=1, input="n\n")
        assert ", account 5WT00001?" in result.stdout
        assert f"`brokerage-async {better}`" in result.stderr
    mutations = {each.name for each in OPERATIONS.values() if each.effect is Effect.MUTATE and each.scope is not None}
    assert set(BETTER) < mutations
    assert {name for name in mutations if name.startswith("orders.")} == set(BETTER)
