"""JSON given to a command is read exactly. Everything in doubt is refused."""

import logging
from decimal import Decimal
from pathlib import Path

import pytest

from brokerage_async.cli.json_input import MAX_CHARACTERS, read_exactly, read_model, read_source
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import NewOrder, OrderEdit

DIGITS = "0.1000000000000000055511151231257827021181583404541015625"


def test_read_exactly_keeps_every_digit() -> None:
    assert read_exactly(f"[{DIGITS}, 1e400, 12345678901234567890123, 0.10]") == [
        Decimal(DIGITS),
        Decimal("1e400"),
        12345678901234567890123,
        Decimal("0.10"),
    ]
    assert str(read_exactly("0.10")) == "0.10"


def test_read_exactly_refuses_what_is_in_doubt() -> None:
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


def test_read_source_returns_a_file_without_its_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_text("{}", "utf-8-sig")
    assert read_source(str(file)) == "{}"


def test_read_source_refuses_what_is_not_a_small_file_of_text(tmp_path: Path) -> None:
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


def test_read_model_refuses_what_is_not_an_object() -> None:
    for document in ([], "order", None, 5, [{"order-type": "Limit"}]):
        with pytest.raises(InvalidRequestError, match="must be an object with the fields of an OrderEdit"):
            read_model(document, OrderEdit)


def test_read_model_takes_numbers_and_strings() -> None:
    order = read_model({"price": Decimal(DIGITS), "stop-trigger": "0.10", "value": 7}, NewOrder)
    assert (order.price, str(order.stop_trigger), order.value) == (Decimal(DIGITS), "0.10", 7)
