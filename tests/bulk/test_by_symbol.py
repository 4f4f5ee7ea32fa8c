"""Adapters from endpoints to batches, without any I/O."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async.bulk.by_symbol import by_requested, by_type, checked_types
from brokerage_async.errors import InvalidRequestError

SYMBOL = st.text("aB/. 1", min_size=1, max_size=4)


@given(st.lists(SYMBOL, unique=True), st.data())
def test_by_requested_keys_are_requested_symbols(asked: Any, data: st.DataObject) -> None:
    rows = {symbol: models.Equity(symbol=symbol) for symbol in data.draw(st.lists(SYMBOL, unique=True))}
    found = by_requested(asked, rows.values())
    for symbol in asked:
        if symbol in rows:
            assert found[symbol] is rows[symbol]
    assert set(found) <= set(asked)


def test_by_requested_other_spelling_keeps_the_requested_key() -> None:
    rows = [models.Equity(symbol=symbol) for symbol in ("AAPL", "./ESZ6 EW3U6  260918P9100", "BRK/B", "UNASKED")]
    asked = ["aapl", "./ESZ6 EW3U6 260918P9100", "BRK/B", "MSFT"]
    found = by_requested(asked, [*rows, models.Equity()])
    assert {key: equity.symbol for key, equity in found.items()} == {
        "aapl": "AAPL",
        "./ESZ6 EW3U6 260918P9100": "./ESZ6 EW3U6  260918P9100",
        "BRK/B": "BRK/B",
    }


def test_by_requested_slash_of_a_future_is_optional() -> None:
    found = by_requested(["ESZ6", "/CLZ6"], [models.Future(symbol="/ESZ6"), models.Future(symbol="/CLZ6")])
    assert {key: future.symbol for key, future in found.items()} == {"ESZ6": "/ESZ6", "/CLZ6": "/CLZ6"}


def test_by_type_groups_by_parameter_and_given_types_win() -> None:
    symbols = ["AAPL", "SPX", "/ESZ6", "BTC/USD", "ES"]
    assert by_type(symbols, {"SPX": "Index"}) == {
        "equity": ["AAPL", "ES"],
        "index": ["SPX"],
        "future": ["/ESZ6"],
        "cryptocurrency": ["BTC/USD"],
    }


def test_checked_types_are_names_in_the_order_of_the_symbols() -> None:
    assert list(checked_types({"VIX": "Index", "SPX": models.InstrumentType.INDEX}).items()) == [
        ("SPX", "Index"),
        ("VIX", "Index"),
    ]


@pytest.mark.parametrize("wrong", [{"X": "index"}, {"X": "Warrant"}, {"X": None}, [("X", "Index")], None])
def test_checked_types_unknown_type_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidRequestError, match="type"):
        checked_types(wrong)
