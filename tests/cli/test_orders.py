"""`brokerage-async orders`, and the words and files that become orders. Everything in doubt is refused."""

import asyncio
import datetime as dt
import json
import logging
import os
import signal
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import Result

from brokerage_async.cli import reading
from brokerage_async.cli.command import open_journal
from brokerage_async.cli.console import INTERRUPTED
from brokerage_async.cli.reading import (
    MAX_CHARACTERS,
    Words,
    read_bracket,
    read_exactly,
    read_file,
    read_model,
    read_source,
)
from brokerage_async.errors import InvalidRequestError
from brokerage_async.journal import EntryKey, SqliteJournal
from brokerage_async.models import NewOrder, OrderEdit
from brokerage_async.order_entry import OrderEntry
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator, faults
from tests.protocol.values import raised
from tests.tables import lacks, misses

from .conftest import ORDER, invoke, refusal

BUY = ["buy-to-open", "AAPL", "10", "--limit", "10"]


def orders(*arguments: str, **options: Any) -> Result:
    """Run a command of the group that is to end with exit code 0, or another ``code``."""
    return invoke("orders", *arguments, width=1_000, **options)


def told(*arguments: str, **options: Any) -> Any:
    return json.loads(orders(*arguments, "--json", **options).stdout)


def simulated(*arguments: str, **options: Any) -> Result:
    return orders(*arguments, "--simulator", **options)


def placed(service: Simulator) -> int:
    return len(service.ledger.orders(account_number=service.account_numbers[0]))


def test_dry_run_and_a_place_without_a_yes_send_nothing() -> None:
    output = simulated("dry-run", *BUY).output
    assert lacks(output, "Buy to Open 10 AAPL; Limit at 10 Debit, Day", "change in buying power", "all fees") == []
    assert told("dry-run", *BUY, "--simulator")["buying-power-effect"]["change-in-buying-power"]
    for answer in ("n\n", ""):
        output = simulated("place", *BUY, code=1, input=answer).output
        assert lacks(output, "Place this order?", "Nothing was sent.") == []
    assert "buy-to-open" in simulated("place", "fly", "AAPL", "--yes", code=1).stderr


def test_place_without_a_price_asks_for_a_market_order() -> None:
    priceless = ["place", "buy-to-open", "AAPL", "10"]
    for answers, is_placed in (("n\n", False), ("y\nn\n", False), ("y\ny\n", True)):
        result = simulated(*priceless, "--allow-warnings", code=not is_placed, input=answers)
        assert "No price is given." in result.output
        assert ("Place this order?" in result.output) is answers.startswith("y")
        assert ("placed: " in result.output, "Nothing was sent." in result.output) == (is_placed, not is_placed)


def test_place_without_a_price_and_a_question_needs_market(service: Simulator) -> None:
    priceless = ["place", "buy-to-open", "AAPL", "10", "--yes", "--allow-warnings"]
    assert "an order without a price needs --market" in orders(*priceless, code=1).stderr
    assert placed(service) == 0
    orders(*priceless, "--market")
    assert placed(service) == 1
    orders("dry-run", *priceless[1:4])


def test_place_ctrl_c_is_an_answer_to_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(question: str) -> bool:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise typer.Abort from None
        raise AssertionError("the question goes on")

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(typer, "confirm", ask)
    assert "Nothing was sent." in simulated("place", *BUY, code=1).output
    assert signal.getsignal(signal.SIGINT) is before


def test_orders_json_follows_an_order_to_its_end(service: Simulator) -> None:
    made = told("place", *BUY, "--yes", "--external-identifier", "mine")
    assert (made["outcome"], made["external-identifier"], made["attempts"]) == ("placed", "mine", 1)
    order_id = str(made["order"]["id"])
    assert [str(order["id"]) for order in told("list")] == [order_id]
    assert "mine" in orders("list", "--since", "2026-06-01").output.replace("\n", "")
    cancelled = told("cancel", order_id, "--wait", "--yes")
    assert (cancelled["outcome"], cancelled["order"]["status"], cancelled["fills"]) == ("applied", "Cancelled", [])
    # It is over by now: a cancel under way would count as applied.
    assert "refused" in orders("cancel", order_id, "--yes", code=1).output


def test_cancel_all_asks_and_says_what_became_of_each_order_and_position(service: Simulator) -> None:
    numbers = [placed_order(service), placed_order(service)]
    assert "Cancel all orders?" in orders("cancel-all", code=1, input="n\n").output
    assert {record.status for record in service.ledger.orders()} & {"Cancelled"} == set()
    result = told("cancel-all", "--yes")
    assert (result["proven"], result["closing"]) == (True, [])
    assert {number: result["orders"][number]["outcome"] for number in numbers} == dict.fromkeys(numbers, "cancelled")
    orders("place", "buy-to-open", "AAPL", "10", "--market", "--yes")
    service.fill_order(service.ledger.orders()[-1].order_id)
    output = orders("cancel-all", "--flatten", input="y\n").output
    assert "Cancel all orders and close all positions?" in " ".join(output.split())
    assert "No order works any more." in output
    assert "placed" in output.partition("Closing orders")[2]


def placed_order(service: Simulator) -> str:
    return str(told("place", *BUY, "--yes")["order"]["id"])


def test_prompts_of_a_service_name_environment_address_and_account(service: Simulator) -> None:
    where = f"(sandbox at {service.base_url}, account {service.account_numbers[0]})"
    order_id = placed_order(service)
    for command in (["place", *BUY], ["cancel", order_id], ["replace", order_id, "--limit", "11"]):
        output = " ".join(orders(*command, code=1, input="n\n").stdout.split())
        assert lacks(output, where, "Nothing was sent.") == []
    assert placed(service) == 1


def test_replace_changes_the_given_terms_or_takes_all_from_a_file(service: Simulator, tmp_path: Path) -> None:
    order_id = placed_order(service)
    changed = told("replace", order_id, "--limit", "11.5", "--yes")
    assert (changed["outcome"], changed["order"]["price"]) == ("applied", "11.50")
    assert (changed["order"]["order-type"], changed["order"]["time-in-force"]) == ("Limit", "Day")
    assert changed["order"]["legs"][0]["quantity"] == "10"
    assert changed["order"]["id"] != order_id
    output = orders("replace", placed_order(service), "--tif", "GTC", input="y\n").stdout
    assert lacks(output, "Buy to Open 10 AAPL; Limit at 10.00 Debit, GTC", "change in buying power", "applied") == []
    stop = {"order-type": "Stop Limit", "time-in-force": "Day", "stop-trigger": 12}
    terms = stop | {"price": 12.5, "price-effect": "Debit"}
    (tmp_path / "terms.json").write_text(json.dumps(terms))
    changed = told("replace", placed_order(service), "--order", str(tmp_path / "terms.json"), "--yes")
    assert changed["order"]["stop-trigger"] == "12.00"
    assert "has no order 999" in orders("replace", "999", "--limit", "1", "--yes", code=1).stderr
    targets = [request.target for request in service.ledger.requests]
    assert any("start-date=2025-05-05" in target for target in targets)  # 401 days before the service's today


def test_replace_terms_that_make_no_sense_are_refused(service: Simulator, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("{}")
    refused = {
        (): "a replacement needs new terms",
        ("--stop", "9"): "--stop does not go with order",
        ("--limit", "1_1"): "--limit must be a plain number",
        ("--limit", "-1"): "price must not be negative",
        ("--tif", "GTC", "--until", "2030-01-01"): "--until does not go together with --tif",
        ("--order", "x", "--limit", "1"): "--order does not go together with --limit",
        ("--order", str(tmp_path / "empty.json")): "order-type: is required",
    }
    order_id = placed_order(service)
    assert misses(refused, lambda words: refusal("orders", "replace", order_id, *words, "--yes")) == {}


def test_place_simulated_stays_out_of_account_and_journal_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BROKERAGE_ACCOUNT", "REAL")
    monkeypatch.setenv("BROKERAGE_JOURNAL", str(tmp_path / "real.journal"))
    assert told("place", *BUY, "--yes", "--simulator")["account-number"] != "REAL"
    assert not list(tmp_path.iterdir())


def leave_open(key: EntryKey, body: bytes = b"{}", replaces: str = "") -> None:
    """Record an attempt of a process that is dead by now in the journal of the environment."""

    async def record() -> None:
        async with SqliteJournal(os.environ["BROKERAGE_JOURNAL"]) as journal:
            await journal.open(key, body, owner="host:1:dead", lease=2.0, replaces=replaces)

    asyncio.run(record())


def test_recover_says_what_it_waits_for_and_reports_every_open_order(service: Simulator) -> None:
    key = EntryKey(service.environment.origin, "sandbox", service.account_numbers[0], "lost")
    leave_open(key, b'{"external-identifier":"lost"}')
    service.faults.add("GET", r"/orders(/live)?($|\?)", "status(403)", times=None)
    result = orders("recover", code=1)
    assert "unknown" in result.output
    waits = "waits for order lost, which host:1:dead holds, until "
    assert lacks(result.stderr, waits, "searches for 1 order of account", "if the lists cannot be read") == []
    found = told("recover", code=1)
    assert [(each["external-identifier"], each["outcome"]) for each in found] == [("lost", "unknown")]
    assert found[0]["body"] == {"external-identifier": "lost"}


def test_halt_stops_orders_until_resume_and_status_shows_it(service: Simulator) -> None:
    assert orders("status").output == "orders are not halted\nno order is open\n"
    assert "all orders (model drifts)" in orders("halt", "model drifts").output
    assert "model drifts" in orders("place", *BUY, "--yes", code=1).output
    assert placed(service) == 0
    orders("halt", "one only", "--account", "A1", "--label", "dip")
    shown = [(each["account-number"], each["label"], each["reason"]) for each in told("status")["halts"]]
    assert shown == [(None, None, "model drifts"), ("A1", "dip", "one only")]
    assert "no halt of this account and label" in orders("resume", "--label", "dip", code=1).stderr
    for name in ("--account", "--label"):  # an unset variable of a shell lifts nothing
        assert f"{name} must not be empty" in orders("resume", name, "", code=1).stderr
    assert "account A1 and label dip" in orders("resume").output
    orders("place", *BUY, "--yes")


def test_halt_shows_the_attempts_recorded_before_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a service nor credentials are needed."""
    monkeypatch.setenv("BROKERAGE_JOURNAL", str(tmp_path / "j"))
    for name, old in (("lost", ""), ("changed", "77")):
        leave_open(EntryKey("http://a.example", "sandbox", "A1", name), replaces=old)
    shown = ("order lost of account A1, attempt 1", "replacement of order 77 of account A1, attempt 1")
    assert lacks(orders("halt", "stop").output, *shown) == []


def test_place_takes_an_order_from_a_file_and_says_why_one_is_refused(service: Simulator, tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text(json.dumps(ORDER))
    orders("place", "--order", str(tmp_path / "order.json"), "--yes")
    orders("place", "--order", "-", "--yes", input=json.dumps(ORDER))
    assert placed(service) == 2
    told = refusal("orders", "place", "--order", "-", input="{}")
    assert "InvalidRequestError: the order from - is not a valid NewOrder" in told
    assert "refused" in orders("place", "buy-to-open", "AAPL", "100000000", "--limit", "150", "--yes", code=1).output
    assert placed(service) == 2


HOSTILE = "\x1b]8;;http://example.com\x07[red]mine\x9b2J\u202e"
OBEYED = set("\x1b\x07\x9b\u202e")


def test_list_strings_of_the_service_are_shown_and_not_obeyed(service: Simulator) -> None:
    error = {"error": {"code": "validation_error", "message": HOSTILE}}
    answer = Response(status=422, headers={"content-type": "application/json"}, body=json.dumps(error).encode())
    service.faults.add("GET", "/orders", faults.Fault(name="refusal", processed=False, answer=lambda _: answer))
    outputs = [refusal("orders", "list")]
    order = {"id": "7", "status": HOSTILE, "legs": [{"action": "Buy", "quantity": "1", "symbol": HOSTILE}]}
    service.faults.add("GET", "/orders", faults.body(json.dumps({"data": {"items": [order]}}).encode()), times=None)
    for output in (*outputs, orders("list").output, orders("list", "--json").output):
        assert not OBEYED & set(output)
        assert "[red]mine" in output


def test_place_ctrl_c_says_which_order_is_open(service: Simulator) -> None:
    service.faults.add("POST", r"/orders$", "hang_after")

    def interrupt() -> None:
        while not placed(service):
            threading.Event().wait(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    result = orders("place", *BUY, "--yes", "--external-identifier", "mine", code=INTERRUPTED)
    thread.join()
    assert "order mine of account" in " ".join(result.stderr.split())
    assert told("recover")[0]["outcome"] == "placed"


def test_cancel_ctrl_c_says_that_it_may_have_been_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)

    monkeypatch.setattr(OrderEntry, "cancel", interrupted)
    result = simulated("cancel", "7", "--yes", code=INTERRUPTED)
    assert "the cancellation of order 7 may have been sent" in result.stderr


def test_open_journal_is_a_file_of_the_user_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, value in (("BASE_URL", "http://localhost:1"), ("CLIENT_SECRET", "s"), ("REFRESH_TOKEN", "r")):
        monkeypatch.setenv(f"BROKERAGE_{name}", value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))  # a folder that cannot be made is one message
    assert orders("recover", code=1).stderr.startswith("NotADirectoryError: ")
    assert isinstance(open_journal(str(tmp_path / "j")), SqliteJournal)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    default = open_journal(None)
    assert isinstance(default, SqliteJournal)
    assert default.path == tmp_path / "brokerage-async" / "orders.journal"


BRACKET = ["bracket", "buy-to-open", "AAPL", "10", "--limit", "150", "--profit", "290.5", "--loss", "140"]


def test_bracket_after_a_yes_is_previewed_and_placed(service: Simulator) -> None:
    output = invoke("orders", *BRACKET, input="y\n").stdout
    account = service.account_numbers[0]
    expected = [
        f"entry {account}: Buy to Open 10 AAPL; Limit at 150 Debit, Day",
        f"profit {account}: Sell to Close 10 AAPL; Limit at 290.5 Credit, GTC",
        f"loss {account}: Sell to Close 10 AAPL; Stop when it trades at 140, GTC",
        "change in buying power",
        f"Place this bracket? (sandbox at {service.base_url}, account {account})",
        "placed: ",
    ]
    assert lacks(output, *expected) == []
    assert service.ledger.count("complex_orders.submit") == 1


def test_bracket_json_is_whole_and_journaled(service: Simulator) -> None:
    mine = [*BRACKET, "--yes", "--external-identifier", "mine"]
    found = told(*mine)
    assert (found["outcome"], found["external-identifier"]) == ("placed", "mine")
    assert found["complex-order"]["type"] == "OTOCO"
    assert found["complex-order"]["trigger-order"]["external-identifier"] == "mine"
    assert found["body"]["orders"][1]["stop-trigger"] == "140"
    assert (told(*mine)["outcome"], service.ledger.count("complex_orders.submit")) == ("placed", 1)
    assert "No order is open." in orders("recover").stdout
    assert "--profit" in orders("bracket", "buy-to-open", "AAPL", "10", "--loss", "1", code=2).stderr


SHARE: dict[str, Any] = {"action": "buy-to-open", "symbol": "AAPL", "quantity": "1"}
NONE: dict[str, Any] = dict.fromkeys(SHARE)
DAY = dt.datetime(2026, 12, 31)  # noqa: DTZ001 - as the command line gives it


def read_ticket(*, value: str | None = None, **words: Any) -> NewOrder:
    return reading.read_ticket(Words(**words), value)


def test_read_ticket_words_make_an_order() -> None:
    table: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"limit": "10"}, {"order_type": "Limit", "price": 10, "time_in_force": "Day"}),
        ({}, {"order_type": "Market"}),
        ({"market": True}, {"order_type": "Market"}),
        ({"stop": "9"}, {"order_type": "Stop", "stop_trigger": 9}),
        ({"stop": "9", "limit": "8"}, {"order_type": "Stop Limit", "stop_trigger": 9, "price": 8}),
        ({"value": "500", "quantity": None}, {"order_type": "Notional Market", "value": 500}),
        ({"limit": "10", "tif": "GTC"}, {"order_type": "Limit", "time_in_force": "GTC"}),
        ({"limit": "10", "until": DAY}, {"time_in_force": "GTD", "gtc_date": DAY.date()}),
        ({"stop": "10", "until": DAY}, {"time_in_force": "GTD", "gtc_date": DAY.date()}),
    ]
    for words, expected in table:
        ticket = read_ticket(**SHARE | words)
        assert type(ticket) is NewOrder
        assert {name: getattr(ticket, name) for name in expected} == expected


def test_read_ticket_words_that_do_not_go_together_are_named() -> None:
    table: list[tuple[dict[str, Any], str]] = [
        (SHARE | {"symbol": None}, "then a symbol"),
        (SHARE | {"value": "500", "limit": "10"}, "--value does not go together with --limit"),
        (SHARE | {"value": "5", "stop": "10", "until": DAY}, "--value does not go together with --stop, --until"),
        (SHARE | {"until": DAY}, "a market order does not go together with --until"),
        (SHARE | {"market": True, "limit": "10"}, "--market does not go together with --limit"),
        (SHARE | {"market": True, "value": "10"}, "--value does not go together with --market"),
        (SHARE | {"order": "-"}, "--order does not go together with ACTION, SYMBOL, QUANTITY"),
        (NONE | {"order": "-", "tif": "GTC"}, "--order does not go together with --tif"),
        (NONE | {"order": "-", "market": True}, "--order does not go together with --market"),
        (NONE | {"order": "-", "value": "5", "stop": "1"}, "with --value, --stop"),
    ]
    for words, said in table:
        raised(InvalidRequestError, read_ticket, **words, match=said)


def test_read_bracket_short_futures_entry_has_limited_loss() -> None:
    entry = read_ticket(action="sell", symbol="/ESU6", quantity="1")
    order = read_bracket(entry, profit="5900", loss="6100", loss_limit="6105", tif="Day")
    profit, loss = order.orders
    assert [(each.legs[0].action, each.time_in_force) for each in order.orders] == [("Buy", "Day")] * 2
    assert (profit.price, loss.stop_trigger, loss.price) == (5900, 6100, 6105)


def test_read_bracket_exits_that_do_not_fit_are_refused() -> None:
    table: list[tuple[dict[str, Any], dict[str, str], str]] = [
        ({"action": "sell-to-close"}, {}, "must open a position"),
        ({"value": "50", "quantity": None}, {}, "must have a quantity"),
        ({"limit": "150"}, {"profit": "12o"}, "12o"),
        ({"limit": "150"}, {"profit": "100"}, "profit"),
    ]
    for words, exits, message in table:
        with pytest.raises(InvalidRequestError, match=message):
            read_bracket(read_ticket(**SHARE | words), **{"profit": "290", "loss": "140"} | exits)


def read(folder: Path, content: str) -> NewOrder:
    (folder / "order.json").write_text(content, errors="surrogatepass")
    return read_file(str(folder / "order.json"), NewOrder)


def test_read_order_takes_a_file_with_exact_numbers_that_holds_an_order(tmp_path: Path) -> None:
    order = read(tmp_path, json.dumps(ORDER).replace('"10"', DIGITS))
    assert (order.legs[0].symbol, str(order.price)) == ("AAPL", DIGITS)
    unreadable = dict.fromkeys(["", "\ud800"], "cannot read the order from ")
    other = dict.fromkeys(["[]", '{"price_effect": "Debit"}'], "NewOrder")
    incomplete = dict.fromkeys(("{}", '{"legs": null}', json.dumps(ORDER | {"legs": None})), "legs: is required")
    empty = {json.dumps(ORDER | {"legs": []}): "legs: ", json.dumps(ORDER | {"legs": [{}]}): "legs[0].symbol: "}
    for content, message in (unreadable | other | incomplete | empty).items():
        error = raised(InvalidRequestError, read, tmp_path, content)
        assert message in str(error), content


DIGITS = "0.1000000000000000055511151231257827021181583404541015625"


def test_read_exactly_keeps_every_digit_and_refuses_what_is_in_doubt() -> None:
    numbers = [Decimal(DIGITS), Decimal("1e400"), 12345678901234567890123, Decimal("0.10")]
    assert read_exactly(f"[{DIGITS}, 1e400, 12345678901234567890123, 0.10]") == numbers
    assert str(read_exactly("0.10")) == "0.10"
    table = {
        "NaN": "must be finite, got NaN",
        '{"price": -Infinity}': "must be finite, got -Infinity",
        "1e9999999999999999999": "too large",
        '{"quantity": 1, "price": 2, "quantity": 100}': "the key 'quantity' occurs twice",
        '{"legs": [{"symbol": "A", "symbol": "A"}]}': "the key 'symbol' occurs twice",
        "[" * 100_000: "nested too deeply",
        "9" * 5000: "digits",
        "1_000": "Extra data",
        "{": "Expecting",
        "": "Expecting",
    }
    for content, said in table.items():
        raised(ValueError, read_exactly, content, match=said)


def test_read_source_takes_only_a_small_file_of_text(tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text("{}", "utf-8-sig")
    assert read_source(str(tmp_path / "order.json")) == "{}"
    raised(InvalidRequestError, read_file, str(tmp_path / "none"), NewOrder, match="none: No such file")
    (tmp_path / "order.json").write_bytes(b"{\xff}")
    table = {
        "/dev/zero": f"at most {MAX_CHARACTERS:,}", "/": "Is a directory", "/no/such": "No such file",
        str(tmp_path / "order.json"): "UTF-8",
    }  # fmt: skip
    for source, said in table.items():
        raised(ValueError, read_source, source, match=said)


def test_read_model_lists_every_field_that_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    document = {
        "order-type": "Limit",
        "price": "1_000",
        "price_effect": "Debit",
        "legs": [{"symbol": "A", "quantity": "１０"}, {"qty": 3}],
        "rules": {"conditions": [{"threshold": "x"}]},
    }
    error = raised(InvalidRequestError, read_model, document, NewOrder)
    assert {problem.domain: problem.code for problem in error.errors} == {
        "price": "invalid",
        "price_effect": "unknown",
        "legs[0].quantity": "invalid",
        "legs[1].qty": "unknown",
        "rules.conditions[0].threshold": "invalid",
    }
    assert "price_effect: unknown field; did you mean price-effect?" in str(error)
    assert not caplog.records
    assert not logging.getLogger("brokerage_async.decode").disabled
    for other in ([], "order", None, 5, [{"order-type": "Limit"}]):
        with pytest.raises(InvalidRequestError, match="must be an object with the fields of an OrderEdit"):
            read_model(other, OrderEdit)
    order = read_model({"price": Decimal(DIGITS), "stop-trigger": "0.10", "value": 7}, NewOrder)
    assert (order.price, str(order.stop_trigger), order.value) == (Decimal(DIGITS), "0.10", 7)
