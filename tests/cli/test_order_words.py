"""Orders from the words of a command line, and words that do not go together."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from brokerage_async._generated.models import NewOrder
from brokerage_async.cli.order_words import Words, read_order, read_ticket
from brokerage_async.errors import InvalidRequestError

BLANK = dict.fromkeys(("limit", "stop", "value", "tif", "until", "source"))
SHARE = BLANK | {"action": "buy-to-open", "symbol": "AAPL", "quantity": "1"}
DAY = dt.datetime(2026, 12, 31)  # noqa: DTZ001 - as the command line gives it


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"limit": "10"}, {"order_type": "Limit", "price": 10, "time_in_force": "Day"}),
        ({}, {"order_type": "Market"}),
        ({"stop": "9"}, {"order_type": "Stop", "stop_trigger": 9}),
        ({"stop": "9", "limit": "8"}, {"order_type": "Stop Limit", "stop_trigger": 9, "price": 8}),
        ({"value": "500", "quantity": None}, {"order_type": "Notional Market", "value": 500}),
        ({"limit": "10", "tif": "GTC"}, {"order_type": "Limit", "time_in_force": "GTC"}),
        ({"limit": "10", "until": DAY}, {"time_in_force": "GTD", "gtc_date": DAY.date()}),
        ({"stop": "10", "until": DAY}, {"time_in_force": "GTD", "gtc_date": DAY.date()}),
    ],
)
def test_words_make_a_ticket(words: dict[str, Any], expected: dict[str, Any]) -> None:
    ticket = read_ticket(Words(**SHARE | words))
    assert isinstance(ticket, NewOrder)
    assert {name: getattr(ticket, name) for name in expected} == expected


def test_a_symbol_is_needed() -> None:
    with pytest.raises(InvalidRequestError, match="then a symbol"):
        read_ticket(Words(action="buy", quantity="1"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"value": "500", "limit": "10"}, "--value does not go together with --limit"),
        ({"value": "500", "stop": "10", "until": DAY}, "--value does not go together with --stop, --until"),
        ({"until": DAY}, "a market order does not go together with --until"),
        ({"source": "-"}, "--order does not go together with ACTION, SYMBOL, QUANTITY"),
        (dict.fromkeys(SHARE) | {"source": "-", "tif": "GTC"}, "--order does not go together with --tif"),
        (dict.fromkeys(SHARE) | {"source": "-", "value": "5", "stop": "1"}, "with --value, --stop"),
    ],
    ids=["value-limit", "value-stop-until", "until", "words", "tif", "prices"],
)
def test_no_word_is_left_out_of_an_order(words: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidRequestError, match=expected):
        read_ticket(Words(**SHARE | words))


def test_an_order_in_a_file(tmp_path: Path) -> None:
    leg = {"action": "Buy to Open", "instrument-type": "Equity", "quantity": "1", "symbol": "AAPL"}
    file = tmp_path / "order.json"
    file.write_text(json.dumps({"order-type": "Market", "time-in-force": "Day", "legs": [leg]}))
    assert read_order(str(file)).legs[0].symbol == "AAPL"


def test_numbers_of_an_order_in_a_file_are_exact(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    digits = "0.1000000000000000055511151231257827021181583404541015625"
    file.write_text(f'{{"order-type": "Limit", "time-in-force": "Day", "price": {digits}, "legs": []}}')
    assert str(read_order(str(file)).price) == digits


@pytest.mark.parametrize("content", ["", "{", '{"a": 1, "a": 2}', '{"price": NaN}', "\ud800"], ids=ascii)
def test_file_that_is_not_plain_json_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "order.json"
    file.write_text(content, errors="surrogatepass")
    with pytest.raises(InvalidRequestError, match=r"cannot read the order from .*order\.json: "):
        read_order(str(file))


@pytest.mark.parametrize("content", ["[]", "5", "null", '"order"', '{"data": {}}', '{"price_effect": "Debit"}'])
def test_file_that_does_not_hold_an_order_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "order.json"
    file.write_text(content)
    with pytest.raises(InvalidRequestError, match="NewOrder"):
        read_order(str(file))


def test_missing_order_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="none: No such file"):
        read_order(str(tmp_path / "none"))
