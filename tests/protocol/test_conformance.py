"""Comparison of single answers with the schema, and the words that a report may show."""

import json
from typing import Any

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.conformance import Finding, Words, compare, compare_refusal
from tests.tables import for_each

ORDER = {"id": 7, "status": "Live", "order-type": "Limit", "price": "1.5", "legs": [{"symbol": "AAPL"}]}


def page(**change: Any) -> dict[str, Any]:
    block = {"per-page": 100, "page-offset": 0, "total-items": 1, "total-pages": 1}
    return {"data": {"items": [{**ORDER, **change}]}, "pagination": block, "context": "/accounts/5WT00001/orders"}


def findings(name: str, document: Any, status: int = 200) -> list[tuple[str, str, str]]:
    found = compare(OPERATIONS[name], status, json.dumps(document).encode())
    assert {each.operation for each in found} <= {name}
    return [(each.where, each.expected, each.seen) for each in found]


ROW = "$.data.items[]"
UNLISTED = [(f"{ROW}.status", "a value of OrderStatus", "an unlisted value")]
PAGED = [("$.pagination", "a list that comes whole, or no list", "a page")]
PRODUCT = {"data": {"items": [{"symbol": "/ESM6"}]}, "context": "/futures-option-chains"}


@for_each(
    "name, document, expected",
    [
        ("orders.list", page(price=None), []),
        ("orders.list", page(ticker="AAPL"), [(f"{ROW}.ticker", "no such field", "string")]),
        ("orders.list", page(**{"Jane Doe": 1, "username": "Jane Doe"}), [(f"{ROW}.*", "no such field", "integer")]),
        ("orders.list", page(status="On Hold"), [(f"{ROW}.status", "a value of OrderStatus", "On Hold")]),
        ("orders.list", page(status="Jane Doe", username="jane"), UNLISTED),
        ("orders.list", page(status="5WT 00001"), UNLISTED),
        ("orders.list", page(price=1.5), [(f"{ROW}.price", "decimal", "number, which does not fit")]),
        ("orders.list", page(legs={}), [(f"{ROW}.legs", "a list", "object, which does not fit")]),
        ("orders.list", page(legs=[{"size": 1}]), [(f"{ROW}.legs[].size", "no such field", "integer")]),
        ("orders.list", page(**{"live-at": "soon"}), [(f"{ROW}.live-at", "datetime", "string, which does not fit")]),
        ("orders.list", {**page(), "data": {"items": [{}]}}, [(f"{ROW}.id", "present in every row", "absent")]),
        ("orders.list", {**page(), "api": 1}, [("$.api", "no such field", "integer")]),
        ("orders.list", {**page(), "data": {"items": [ORDER], "n": 1}}, [("$.data.n", "no such field", "integer")]),
        ("oauth.token", {"access_token": "t", "odd": 1}, [("$.odd", "no such field", "integer")]),
        ("orders.list", {"data": [ORDER]}, [("$.data.items", "a list", "list under data")]),
        ("orders.list", [ORDER], [("$", "an object", "list")]),
        ("instruments.futures_option_chain", PRODUCT, []),
        ("instruments.futures_option_chain", {**PRODUCT, "pagination": {"total-pages": 9}}, PAGED),
        ("balances.list", {"data": {"cash-balance": "1.0"}}, []),
        ("balances.list", {"data": {"items": [{"cash-balance": "1.0", "currency": "USD"}]}}, []),
        ("orders.get", {"data": {"items": []}}, [("$.data.items", "no such field", "list")]),
        ("backtests.list", ["a", 1], [("$[]", "string", "integer")]),
        ("quote_alerts.cancel", None, []),
    ],
)
def test_compare_names_each_difference(name: str, document: Any, expected: list[tuple[str, str, str]]) -> None:
    assert findings(name, document, OPERATIONS[name].status) == expected


def test_compare_other_status_or_no_json_is_a_difference() -> None:
    assert findings("orders.list", page(), 206) == [("status", "200", "206")]
    found = compare(OPERATIONS["orders.get"], 200, b"<html>Jane Doe")
    assert found == [Finding("orders.get", "$", "JSON", "something else")]


def test_compare_refusal_names_unknown_codes_only() -> None:
    dry_run, words = OPERATIONS["orders.dry_run"], Words(texts=["order 5WT00001 of Jane Doe is refused"])
    for codes, seen in (
        (("preflight_check_failure", "margin_check_failed"), []),
        (("preflight_check_failure", "too_odd"), ["422 too_odd"]),
        *(((code,), ["422 an unlisted code"]) for code in ("account_of_jane", "5WT00001", None)),
    ):
        assert [each.seen for each in compare_refusal(dry_run, 422, codes, words)] == seen
    assert compare_refusal(dry_run, 502, ("odd",), words) == []


def test_words_hide_what_answers_say_about_their_owner() -> None:
    """``Live`` and ``Order`` are words of the schema, although a text has them."""
    answers = {
        "accounts.customer": {
            "data": {"first-name": "Jane", "last-name": "Doe", "address": {"street-one": "1 Elm St"}}
        },
        "orders.list": page(username="the live order"),
        "instruments.equities": {"data": {"items": [{"symbol": "WXYZ", "description": "Fresh Elk"}]}},
    }
    words = Words([(OPERATIONS[name], json.dumps(document).encode()) for name, document in answers.items()])
    for word in ("On Hold", "fresh_code.of-two", "Live Order", "Elk"):
        assert words.shown(word, "hidden") == word
    hidden = ["doe", "DoeJane", "of jane", "Elm", "call 5550100000", "AAPL", "jane@example.com", "wxyz", "", 7]
    assert [word for word in [*hidden, "x" * 60] if words.shown(word, "hidden") != "hidden"] == []
