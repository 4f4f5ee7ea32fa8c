from typing import Any

import pytest

from brokerage_async.errors import InvalidRequestError
from brokerage_async.symbols import instrument_type_of
from tests.tables import for_each


@for_each(
    "symbol, kind",
    [
        ("AAPL", "Equity"),
        ("BRK/B", "Equity"),
        ("AAPL  260612C00110000", "Equity Option"),
        ("/ESZ6", "Future"),
        ("./ESZ6 EW3U6 260918P9100", "Future Option"),
        ("./ESZ6  EW3U6 260918P9100", "Future Option"),
        ("BTC/USD", "Cryptocurrency"),
    ],
)
def test_kinds_by_form(symbol: str, kind: str) -> None:
    assert instrument_type_of(symbol) == kind


@for_each("wrong", [None, 1, b"AAPL", []])
def test_kind_of_another_type_is_rejected(wrong: Any) -> None:
    with pytest.raises(InvalidRequestError, match="symbol must be a str"):
        instrument_type_of(wrong)
