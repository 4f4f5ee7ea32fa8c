"""Rows of FEED_DATA. The forms of rows are tested with the connection."""

from __future__ import annotations

import logging

import pytest

from brokerage_async._generated.converters import WIRES
from brokerage_async.errors import ResponseDecodeError
from brokerage_async.protocol.decoding.adaptive import DecoderRegistry
from brokerage_async.protocol.decoding.fields import wire_fields
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.streams.events import MARKET_EVENTS
from brokerage_async.protocol.streams.feed_data import default_columns, events_of


@pytest.mark.parametrize("kind", MARKET_EVENTS)
def test_default_columns_are_fields_and_begin_with_the_symbol(kind: str) -> None:
    columns = default_columns(kind)
    assert columns[0] == "eventSymbol"
    fields = wire_fields(WIRES[MARKET_EVENTS[kind]])
    assert {*columns, "eventTime"} == {key for key, field in fields.items() if field.alias_of is None}


def test_unreadable_rows_are_reported() -> None:
    with pytest.raises(ResponseDecodeError, match="values must fill rows of 2 columns, got 1"):
        list(
            events_of(["Quote", ["ACME"]], {"Quote": ["eventSymbol", "bidPrice"]}, Issues("x", True, DecoderRegistry()))
        )


def test_objects_of_several_types_come_in_blocks() -> None:
    rows = [{"eventType": kind, "eventSymbol": "A"} for kind in ("Quote", "Quote", "Trade", "Quote")]
    blocks = list(events_of([*rows, 7], {}, Issues("x", False, DecoderRegistry())))
    assert [(kind, len(events)) for kind, events in blocks] == [("Quote", 2), ("Trade", 1), ("Quote", 1), ("", 0)]


def test_block_without_a_type_is_reported_and_ends_the_reading(caplog: pytest.LogCaptureFixture) -> None:
    data = ["Quote", ["A", 1], 7, ["B", 2], "Quote", ["C", 3]]
    with caplog.at_level(logging.WARNING, "brokerage_async.decode"):
        blocks = list(events_of(data, {"Quote": ["eventSymbol", "bidPrice"]}, Issues("x", False, DecoderRegistry())))
    assert [[event.event_symbol for event in events] for _, events in blocks] == [["A"]]
    assert [record.getMessage() for record in caplog.records] == [
        "x: $.data: expected a type and its rows, got a number; ignored"
    ]
