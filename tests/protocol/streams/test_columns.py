"""Rows of announced columns become models, misfits included."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async._generated.converters import WIRES
from brokerage_async.errors import ResponseDecodeError
from brokerage_async.protocol.decoding.adaptive import DecoderRegistry
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.decoding.lenient import structure_one
from brokerage_async.protocol.streams.feed_data import MAX_COLUMNS, ColumnDecoder

TYPE = frozenset({"eventType"})


def decoder(model: type[Any], *columns: str) -> ColumnDecoder:
    return ColumnDecoder(model, columns, ignored=TYPE)


def decode(rows: ColumnDecoder, values: list[Any], *, strict: bool = False) -> list[Any]:
    return rows.decode(values, "$.data", Issues("quotes", strict, DecoderRegistry()))


def test_decode_rows_in_another_order_than_the_fields() -> None:
    rows = decoder(models.Quote, "eventType", "askPrice", "eventSymbol", "bidPrice")
    assert decode(
        rows, ["Quote", Decimal("2.15"), ".ACME270115C52.5", "NaN", "Quote", 51, "ACME", Decimal("51.0")]
    ) == [
        models.Quote(event_symbol=".ACME270115C52.5", ask_price=Decimal("2.15")),
        models.Quote(event_symbol="ACME", ask_price=Decimal(51), bid_price=Decimal("51.0")),
    ]


def test_decode_row_without_its_symbol_is_empty_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert decode(decoder(models.Quote, "eventSymbol", "bidPrice"), [None, 7]) == [models.Quote(bid_price=Decimal(7))]
    assert [record.getMessage() for record in caplog.records] == [
        "quotes: $.data[].eventSymbol: missing; read as an empty string"
    ]
    with pytest.raises(ResponseDecodeError, match=r"eventSymbol: missing; rejected in strict mode"):
        decode(decoder(models.Quote, "bidPrice"), [7], strict=True)


def test_decode_times_days_and_64_bit_indexes() -> None:
    candles = decoder(models.Candle, "eventSymbol", "index", "time", "eventFlags", "vwap")
    [candle] = decode(candles, ["ACME{=m}", 7659406734498201600, 1783344600000, 4, Decimal("1E+3")])
    assert candle.index == 7659406734498201600
    assert candle.time == datetime(2026, 7, 6, 13, 30, tzinfo=UTC)
    assert candle.vwap == 1000
    summaries = decoder(models.Summary, "dayId", "prevDayId", "dayClosePriceType")
    [summary] = decode(summaries, [20455, 0, "SETTLED"])
    assert (summary.day_id, summary.prev_day_id) == (date(2026, 1, 2), None)
    assert summary.day_close_price_type == "SETTLED"
    assert not summary.day_close_price_type.is_known


def test_decode_unknown_column_or_infinity_is_kept_in_extra() -> None:
    rows = decoder(models.Quote, "eventSymbol", "mood", "bidPrice", "bidPrice")
    assert decode(rows, ["ACME", {"is": "good"}, 7, 8]) == [
        models.Quote(event_symbol="ACME", bid_price=Decimal(7), extra={"mood": {"is": "good"}})
    ]
    [quote] = decode(decoder(models.Quote, "bidPrice", "askPrice"), ["NaN", "-Infinity"])
    assert (quote.bid_price, quote.ask_price, quote.extra) == (None, None, {"askPrice": "-Infinity"})
    [candle] = decode(decoder(models.Candle, "vwap", "VWAP"), ["NaN", 7])
    assert candle.vwap == Decimal(7)
    assert written(candle) == {"VWAP": "7", "vwap": "NaN"}


def test_decode_rows_of_a_model_that_rows_share() -> None:
    rows = decoder(models.TickSize, "threshold", "value")
    assert decode(rows, ["10", "0.05", None, "0.1"]) == [
        models.TickSize(threshold=Decimal(10), value=Decimal("0.05")),
        models.TickSize(value=Decimal("0.1")),
    ]


def test_decode_misfit_costs_neither_its_row_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    rows = decoder(models.Quote, "eventType", "eventSymbol", "bidPrice")
    found = decode(rows, ["Quote", "A", {"price": 1}, "Quote", "B", 2])
    assert found == [
        models.Quote(event_symbol="A", extra={"bidPrice": {"price": 1}}),
        models.Quote(event_symbol="B", bid_price=Decimal(2)),
    ]
    assert "bidPrice: expected decimal, got an object; kept" in caplog.text
    with pytest.raises(ResponseDecodeError, match="rejected in strict mode"):
        decode(rows, ["Quote", "A", {"price": 1}], strict=True)


def test_unusable_columns_or_part_of_a_row_are_rejected() -> None:
    for columns in ((), ("eventSymbol",) * (MAX_COLUMNS + 1)):
        with pytest.raises(ValueError, match="columns must be 1 to"):
            decoder(models.Quote, *columns)
    with pytest.raises(ValueError, match="rows of 2 columns, got 3"):
        decode(decoder(models.Quote, "eventSymbol", "bidPrice"), ["A", 1, "B"])


@given(st.data())
def test_decode_agrees_with_objects_whatever_the_order(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from([models.Quote, models.Trade, models.Candle, models.TimeAndSale, models.Profile]))
    keys = [field.encode_name for field in msgspec.structs.fields(WIRES[model])]
    columns = data.draw(st.lists(st.sampled_from([*keys, "unknown", "other"]), min_size=1, unique=True))
    numbers = st.integers(0, 2**40) | st.decimals(allow_nan=False, allow_infinity=False, places=3)
    values = st.lists(st.one_of(st.none(), numbers, st.text(max_size=3), st.booleans(), st.just("NaN")))
    row = data.draw(values.map(lambda drawn: (drawn + [None] * len(columns))[: len(columns)]))
    [found] = decode(ColumnDecoder(model, columns), row)
    expected = structure_one(model, dict(zip(columns, row, strict=True)), "$", Issues("x", False, DecoderRegistry()))
    assert written(found) == written(expected)


def written(model: Any) -> Any:
    """Return the JSON of a model, because a NaN in its ``extra`` does not equal itself."""
    return msgspec.json.decode(msgspec.json.encode(models.converter.unstructure(model)))
