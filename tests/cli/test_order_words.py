"""Orders from the words of a command line, and JSON that is read exactly. Everything in doubt is refused."""

import datetime as dt
import json
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from brokerage_async.cli import order_words
from brokerage_async.cli.json_input import MAX_CHARACTERS, read_exactly, read_model, read_source
from brokerage_async.cli.order_words import Words, read_bracket, read_file
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import NewOrder, OrderEdit

from .commands import ORDER

SHARE: dict[str, Any] = {"action": "buy-to-open", "symbol": "AAPL", "quantity": "1"}
NONE: dict[str, Any] = dict.fromkeys(SHARE)
DAY = dt.datetime(2026, 12, 31)  # noqa: DTZ001 - as the command line gives it


def read_ticket(*, value: str | None = None, **words: Any) -> NewOrder:
    return order_words.read_ticket(Words(**words), value)


def refusal(**words: Any) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        read_ticket(**words)
    return str(caught.value)


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
    made = [(read_ticket(**SHARE | words), expected) for words, expected in table]
    assert {type(ticket) for ticket, _ in made} == {NewOrder}
    shown = [({name: getattr(ticket, name) for name in expected}, expected) for ticket, expected in made]
    assert [pair for pair in shown if pair[0] != pair[1]] == []


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
    said = [(refusal(**words), expected) for words, expected in table]
    assert [pair for pair in said if pair[1] not in pair[0]] == []


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
    assert order.legs[0].symbol == "AAPL"
    assert str(order.price) == DIGITS
    unreadable = dict.fromkeys(["", "\ud800"], "cannot read the order from ")
    other = dict.fromkeys(["[]", '{"price_effect": "Debit"}'], "NewOrder")
    incomplete = dict.fromkeys(("{}", '{"legs": null}', json.dumps(ORDER | {"legs": None})), "legs: is required")
    empty = {json.dumps(ORDER | {"legs": []}): "legs: ", json.dumps(ORDER | {"legs": [{}]}): "legs[0].symbol: "}
    for content, message in (unreadable | other | incomplete | empty).items():
        with pytest.raises(InvalidRequestError) as caught:
            read(tmp_path, content)
        assert message in str(caught.value), content


DIGITS = "0.1000000000000000055511151231257827021181583404541015625"


def test_read_exactly_keeps_every_digit_and_refuses_what_is_in_doubt() -> None:
    assert read_exactly(f"[{DIGITS}, 1e400, 12345678901234567890123, 0.10]") == [
        Decimal(DIGITS),
        Decimal("1e400"),
        12345678901234567890123,
        Decimal("0.10"),
    ]
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
        with pytest.raises(ValueError, match=said):
            read_exactly(content)


def test_read_source_takes_only_a_small_file_of_text(tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text("{}", "utf-8-sig")
    assert read_source(str(tmp_path / "order.json")) == "{}"
    with pytest.raises(InvalidRequestError, match="none: No such file"):
        read_file(str(tmp_path / "none"), NewOrder)
    (tmp_path / "order.json").write_bytes(b"{\xff}")
    table = {
        "/dev/zero": f"at most {MAX_CHARACTERS:,}", "/": "Is a directory", "/no/such": "No such file",
        str(tmp_path / "order.json"): "UTF-8",
    }  # fmt: skip
    for source, said in table.items():
        with pytest.raises(ValueError, match=said):
            read_source(source)


def test_read_model_lists_every_field_that_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    document = {
        "order-type": "Limit",
        "price": "1_000",
        "price_effect": "Debit",
        "legs": [{"symbol": "A", "quantity": "１０"}, {"qty": 3}],
        "rules": {"conditions": [{"threshold": "x"}]},
    }
    with pytest.raises(InvalidRequestError) as caught:
        read_model(document, NewOrder)
    assert {problem.domain: problem.code for problem in caught.value.errors} == {
        "price": "invalid",
        "price_effect": "unknown",
        "legs[0].quantity": "invalid",
        "legs[1].qty": "unknown",
        "rules.conditions[0].threshold": "invalid",
    }
    assert "price_effect: unknown field; did you mean price-effect?" in str(caught.value)
    assert not caplog.records
    assert not logging.getLogger("brokerage_async.decode").disabled
    for other in ([], "order", None, 5, [{"order-type": "Limit"}]):
        with pytest.raises(InvalidRequestError, match="must be an object with the fields of an OrderEdit"):
            read_model(other, OrderEdit)
    order = read_model({"price": Decimal(DIGITS), "stop-trigger": "0.10", "value": 7}, NewOrder)
    assert (order.price, str(order.stop_trigger), order.value) == (Decimal(DIGITS), "0.10", 7)
