"""Events of streams, from elements and rows of data."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async._generated.converters import WIRES
from brokerage_async.errors import ResponseDecodeError
from brokerage_async.protocol.decoding.adaptive import DecoderRegistry
from brokerage_async.protocol.decoding.fields import wire_fields
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.streams import elements
from brokerage_async.protocol.streams.elements import elements_of
from brokerage_async.protocol.streams.events import ACCOUNT_EVENTS, INDEXED, MARKET_EVENTS, AccountEvent, EventFlag
from brokerage_async.protocol.streams.feed_data import default_columns, events_of
from tests.tables import for_each


def test_account_number_of_an_event() -> None:
    for data, number in (
        (models.Order(account_number="A"), "A"), ({"account-number": "B"}, "B"), ({"account-number": 7}, None),
        (models.QuoteAlert(), None), (None, None),
    ):  # fmt: skip
        assert AccountEvent(type="X", data=data).account_number == number


def test_indexed_events_are_those_with_flags() -> None:
    assert {model for model in MARKET_EVENTS.values() if hasattr(model(), "event_flags")} == INDEXED


def test_account_events_have_the_names_of_the_service() -> None:
    assert dict(ACCOUNT_EVENTS) == {
        "Order": models.Order,
        "ComplexOrder": models.ComplexOrder,
        "AccountBalance": models.AccountBalance,
        "CurrentPosition": models.Position,
        "TradingStatus": models.TradingStatus,
        "ExternalTransaction": models.ExternalTransaction,
        "OrderChain": models.OrderChain,
        "UnderlyingYearGainSummary": models.UnderlyingYearGainSummary,
        "QuoteAlert": models.QuoteAlert,
        "PublicWatchlists": models.Watchlist,
    }


def test_event_flags_have_the_bits_of_the_protocol() -> None:
    assert {flag.name: flag.value for flag in EventFlag} == {
        "TX_PENDING": 0b1,
        "REMOVE_EVENT": 0b10,
        "SNAPSHOT_BEGIN": 0b100,
        "SNAPSHOT_END": 0b1000,
        "SNAPSHOT_SNIP": 0b1_0000,
        "SNAPSHOT_MODE": 0b100_0000,
    }


SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=30) | st.sampled_from('"],{\\')
FLAT = st.lists(SCALARS, max_size=4) | st.dictionaries(st.text(max_size=4), SCALARS, max_size=4)
NESTED = st.lists(SCALARS | FLAT, max_size=4) | st.dictionaries(st.text(max_size=4), FLAT, max_size=3)


@given(st.lists(SCALARS | FLAT | NESTED, max_size=200), st.sampled_from([None, 1]), st.integers(200, 900))
def test_elements_of_any_array_come_in_order(values: list[Any], indent: int | None, size: int) -> None:
    text = json.dumps(values, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            elements, "LARGE", max(size, *(len(json.dumps(each, indent=indent)) * 3 for each in [0, *values]))
        )
        parts = list(elements_of(f"{text}, 7]", 1))
    assert [value for part, _ in parts for value in part] == values
    assert parts[-1][1] == len(text)


def test_elements_that_are_not_json_or_too_long_are_refused() -> None:
    short = ["", "1", "1,", "1,,2]", "}", "[" * 9 + "]" * 10, "1 2]", '"a', "x]"]
    cases = [*short, f'"{"x" * 30_000}"]', "9" * 30_000 + "]"]
    assert [case[:20] for case in cases if not refuses(case)] == []


def refuses(text: str) -> bool:
    try:
        return not list(elements_of(text, 0))
    except ValueError:
        return True


@for_each("kind", MARKET_EVENTS)
def test_default_columns_are_fields_and_begin_with_the_symbol(kind: str) -> None:
    columns = default_columns(kind)
    assert columns[0] == "eventSymbol"
    fields = wire_fields(WIRES[MARKET_EVENTS[kind]])
    assert {*columns, "eventTime"} == {key for key, field in fields.items() if field.alias_of is None}


def read(data: list[Any], *, strict: bool = False) -> list[tuple[str, list[Any]]]:
    columns = {"Quote": ["eventSymbol", "bidPrice"]}
    return [(kind, list(events)) for kind, events in events_of(data, columns, Issues("x", strict, DecoderRegistry()))]


def test_events_of_mixed_or_unreadable_rows_come_in_blocks() -> None:
    with pytest.raises(ResponseDecodeError, match="values must fill rows of 2 columns, got 1"):
        read(["Quote", ["ACME"]], strict=True)
    rows = [{"eventType": kind, "eventSymbol": "A"} for kind in ("Quote", "Quote", "Trade", "Quote")]
    blocks = [(kind, len(events)) for kind, events in read([*rows, 7])]
    assert blocks == [("Quote", 2), ("Trade", 1), ("Quote", 1), ("", 0)]


def test_block_without_a_type_is_reported_and_ends_the_reading(caplog: pytest.LogCaptureFixture) -> None:
    blocks = read(["Quote", ["A", 1], 7, ["B", 2], "Quote", ["C", 3]])
    assert [[event.event_symbol for event in events] for _, events in blocks] == [["A"]]
    assert [record.getMessage() for record in caplog.records] == [
        "x: $.data: expected a type and its rows, got a number; ignored"
    ]
