"""Events of streams, from elements, rows and columns of data, misfits included, and rows that belong together."""

import contextlib
import json
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
from brokerage_async.protocol.decoding.fields import wire_fields
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.decoding.lenient import structure_one
from brokerage_async.protocol.streams import channel, feed_data
from brokerage_async.protocol.streams.channel import Quota, SnapshotAssembler
from brokerage_async.protocol.streams.events import ACCOUNT_EVENTS, INDEXED, MARKET_EVENTS, AccountEvent, EventFlag
from brokerage_async.protocol.streams.feed_data import MAX_COLUMNS, default_columns, elements_of, events_of, models_of
from brokerage_async.stream import Snapshot
from tests.protocol.values import raised
from tests.tables import for_each


def test_account_number_of_an_event() -> None:
    for data, number in (
        (models.Order(account_number="A"), "A"), ({"account-number": "B"}, "B"), ({"account-number": 7}, None),
        (models.QuoteAlert(), None), (None, None),
    ):  # fmt: skip
        assert AccountEvent(type="X", data=data).account_number == number


def test_events_have_the_names_and_the_bits_of_the_service() -> None:
    renamed = {"CurrentPosition": models.Position, "PublicWatchlists": models.Watchlist}
    others = ("Order", "ComplexOrder", "AccountBalance", "TradingStatus", "ExternalTransaction", "OrderChain")
    names = (*others, "UnderlyingYearGainSummary", "QuoteAlert")
    assert dict(ACCOUNT_EVENTS) == renamed | {name: getattr(models, name) for name in names}
    assert {model for model in MARKET_EVENTS.values() if hasattr(model(), "event_flags")} == INDEXED
    names = ["TX_PENDING", "REMOVE_EVENT", "SNAPSHOT_BEGIN", "SNAPSHOT_END", "SNAPSHOT_SNIP", "SNAPSHOT_MODE"]
    assert {flag.name: flag.value for flag in EventFlag} == dict(zip(names, (1, 2, 4, 8, 16, 64), strict=True))


SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=30) | st.sampled_from('"],{\\')
FLAT = st.lists(SCALARS, max_size=4) | st.dictionaries(st.text(max_size=4), SCALARS, max_size=4)
NESTED = st.lists(SCALARS | FLAT, max_size=4) | st.dictionaries(st.text(max_size=4), FLAT, max_size=3)


@given(st.lists(SCALARS | FLAT | NESTED, max_size=200), st.sampled_from([None, 1]), st.integers(200, 900))
def test_elements_of_any_array_come_in_order(values: list[Any], indent: int | None, size: int) -> None:
    text = json.dumps(values, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed_data, "LARGE", max(size, *(len(json.dumps(one, indent=indent)) * 3 for one in [0, *values])))
        parts = list(elements_of(f"{text}, 7]", 1))
    assert [value for part, _ in parts for value in part] == values
    assert parts[-1][1] == len(text)


LONG = [f'"{"x" * 30_000}"]', "9" * 30_000 + "]"]


@for_each("text", ["", "1", "1,", "1,,2]", "}", "[" * 9 + "]" * 10, "1 2]", '"a', "x]", *LONG])
def test_elements_that_are_not_json_or_too_long_are_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert list(elements_of(text, 0)) == []


@for_each("kind", MARKET_EVENTS)
def test_default_columns_are_fields_and_begin_with_the_symbol(kind: str) -> None:
    columns = default_columns(kind)
    assert columns[0] == "eventSymbol"
    fields = wire_fields(WIRES[MARKET_EVENTS[kind]])
    assert {*columns, "eventTime"} == {key for key, field in fields.items() if field.alias_of is None}


def read(data: list[Any], *, strict: bool = False) -> list[tuple[str, list[Any]]]:
    columns = {"Quote": ["eventSymbol", "bidPrice"]}
    return [(kind, list(events)) for kind, events in events_of(data, columns, Issues("x", strict, DecoderRegistry()))]


def test_events_of_mixed_or_unreadable_rows_come_in_blocks(caplog: pytest.LogCaptureFixture) -> None:
    raised(ResponseDecodeError, read, ["Quote", ["ACME"]], strict=True, match="must fill rows of 2 columns, got 1")
    rows = [{"eventType": kind, "eventSymbol": "A"} for kind in ("Quote", "Quote", "Trade", "Quote")]
    blocks = [(kind, len(events)) for kind, events in read([*rows, 7])]
    assert blocks == [("Quote", 2), ("Trade", 1), ("Quote", 1), ("", 0)]
    caplog.clear()
    found = read(["Quote", ["A", 1], 7, ["B", 2], "Quote", ["C", 3]])
    assert [[event.event_symbol for event in events] for _, events in found] == [["A"]]
    assert caplog.messages == ["x: $.data: expected a type and its rows, got a number; ignored"]


def decode(model: type[Any], columns: str, *values: Any, strict: bool = False) -> list[Any]:
    """Return the models of rows whose columns stand in one string."""
    names = tuple(columns.split())
    rows = list(zip(*[iter(values)] * len(names), strict=True))
    return models_of(model, names, rows, "$.data", Issues("quotes", strict, DecoderRegistry()))


def test_decode_row_without_its_symbol_is_empty_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert decode(models.Quote, "eventSymbol bidPrice", None, 7) == [models.Quote(bid_price=Decimal(7))]
    assert caplog.messages == ["quotes: $.data[].eventSymbol: missing; read as an empty string"]
    reason = "eventSymbol: missing; rejected in strict mode"
    raised(ResponseDecodeError, decode, models.Quote, "bidPrice", 7, strict=True, match=reason)


def test_decode_column_that_comes_again_or_infinity_is_kept_in_extra() -> None:
    [quote] = decode(models.Quote, "eventSymbol mood bidPrice bidPrice askPrice", "A", {"a": 1}, 7, 8, "-Infinity")
    assert quote == models.Quote(event_symbol="A", bid_price=7, extra={"mood": {"a": 1}, "askPrice": "-Infinity"})
    [candle] = decode(models.Candle, "vwap VWAP", "NaN", 7)
    assert (candle.vwap, written(candle)) == (7, {"VWAP": "7", "vwap": "NaN"})
    ticks = decode(models.TickSize, "threshold value", "10", "0.05", None, "0.1")  # rows share its model
    whole, part = models.TickSize(threshold=Decimal(10), value=Decimal("0.05")), models.TickSize(value=Decimal("0.1"))
    assert ticks == [whole, part]


def test_decode_misfit_costs_neither_its_row_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    odd = models.Quote(event_symbol="A", extra={"bidPrice": {"price": 1}})
    rows: list[Any] = ["Quote", "A", {"price": 1}, "Quote", "B", 2]
    found = decode(models.Quote, "eventType eventSymbol bidPrice", *rows)
    assert found == [odd, models.Quote(event_symbol="B", bid_price=Decimal(2))]
    assert "bidPrice: expected decimal, got an object; kept" in caplog.text


def test_unusable_columns_are_rejected() -> None:
    for columns in ([], ["eventSymbol"] * (MAX_COLUMNS + 1)):
        raised(ResponseDecodeError, read, [["Quote", columns], ["A"]], strict=True, match="columns must be 1 to")
    objects = [{"eventType": "Strange", "x": 1}, {"x": 1}, {"eventType": "Quote", "eventSymbol": "A"}]
    assert [kind for kind, _ in events_of(objects, {}, Issues("x"), as_rows=True)] == ["Quote"]


@given(st.data())
def test_decode_agrees_with_objects_whatever_the_order(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from([models.Quote, models.Trade, models.Candle, models.TimeAndSale, models.Profile]))
    keys = [field.encode_name for field in msgspec.structs.fields(WIRES[model])]
    columns = data.draw(st.lists(st.sampled_from([*keys, "unknown", "other"]), min_size=1, unique=True))
    numbers = st.integers(0, 2**40) | st.decimals(allow_nan=False, allow_infinity=False, places=3)
    values = st.lists(st.one_of(st.none(), numbers, st.text(max_size=3), st.booleans(), st.just("NaN")))
    row = data.draw(values.map(lambda drawn: (drawn + [None] * len(columns))[: len(columns)]))
    [found] = decode(model, " ".join(columns), *row)
    expected = structure_one(model, dict(zip(columns, row, strict=True)), "$", Issues("x", False, DecoderRegistry()))
    assert written(found) == written(expected)


def written(model: Any) -> Any:
    """Return the JSON of a model, because a NaN in its ``extra`` does not equal itself."""
    return msgspec.json.decode(msgspec.json.encode(models.converter.unstructure(model)))


PENDING, REMOVE, BEGIN, END, SNIP = 1, 2, 4, 8, 16


def candle(index: int, flags: int = 0, symbol: str = "ACME{=m}") -> models.Candle:
    return models.Candle(event_symbol=symbol, index=index, event_flags=flags)


def summary(items: list[Any]) -> list[Any]:
    """Return indexes: a list for a snapshot, with '+' if it is partial."""
    return [
        ([each.index for each in it.events], it.is_partial) if isinstance(it, Snapshot) else it.index for it in items
    ]


@for_each(
    "rows, delivered",
    [
        ([(9, BEGIN), (8, 0), (7, REMOVE | END)], [([8, 9], False)]),  # recorded: marker at the end
        ([(9, BEGIN | END)], [([9], False)]),  # one row
        ([(9, BEGIN | END | REMOVE)], [([], False)]),  # empty
        ([(9, BEGIN), (8, SNIP)], [([8, 9], True)]),  # snipped
        ([(9, BEGIN), (9, 0), (8, END)], [([8, 9], False)]),  # row replaced within
        ([(9, BEGIN), (8, 0)], []),  # incomplete
        ([(9, BEGIN | PENDING), (8, END | PENDING), (9, 0)], [([8, 9], False)]),  # pending across the end
        ([(9, BEGIN), (5, BEGIN), (4, END)], [([4, 5], False)]),  # begun once more
        ([(9, 0), (9, 0)], [9, 9]),  # updates
        ([(9, PENDING), (8, PENDING), (7, 0)], [9, 8, 7]),  # transaction
        ([(9, PENDING), (8, PENDING)], []),  # pending transaction
        ([(9, REMOVE)], [9]),  # removal
        ([(9, END)], [9]),  # end without a beginning
    ],
)
def test_rows_are_delivered_together(rows: list[tuple[int, int]], delivered: list[Any]) -> None:
    assembler = SnapshotAssembler(models.Candle)
    assert summary(assembler.add([candle(*row) for row in rows])) == delivered


def test_rows_are_ordered_by_index_forgotten_when_dropped_and_kept_apart_by_symbol() -> None:
    assembler = SnapshotAssembler(models.Candle)
    assert summary(assembler.add([candle(2, BEGIN), candle(1), candle(0, END)])) == [([0, 1, 2], False)]
    assembler.add([candle(9, BEGIN)])
    assembler.drop("ACME{=m}")
    assert summary(assembler.add([candle(8, 0)])) == [8]
    assert summary(assembler.add([candle(9, BEGIN), candle(1, 0, "B{=m}")])) == [1]
    [snapshot] = assembler.add([candle(8, END)])
    assert (snapshot.type, snapshot.symbol) == (models.Candle, "ACME{=m}")


def test_rows_of_all_symbols_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "MAX_ROWS", 6)
    held = Quota()
    assemblers = [SnapshotAssembler(models.Candle, quota=held), SnapshotAssembler(models.Greeks, quota=held)]
    found = []
    for index in range(20):
        for assembler in assemblers:
            for symbol in "ABC":
                found += assembler.add([candle(99 - index, 0 if index else BEGIN, symbol)])
                assert held.rows < 6
    assert {item.is_partial for item in found if isinstance(item, Snapshot)} == {True}
    for assembler in assemblers:
        for symbol in "ABC":
            assembler.drop(symbol)
    assert held.rows == 0


def test_endless_snapshot_comes_in_part_and_unsorted_rows_are_bounded_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "MAX_ROWS", 3)
    rows = [candle(9, BEGIN | PENDING), *(candle(index, PENDING) for index in (8, 7, 6))]
    assert summary(SnapshotAssembler(models.Candle).add(rows)) == [([7, 8, 9], True)]
    monkeypatch.undo()
    monkeypatch.setattr(channel, "MAX_UNSORTED", 3)
    falling, rising = SnapshotAssembler(models.Candle), SnapshotAssembler(models.Candle)
    assert falling.add([candle(9 - number, 0 if number else BEGIN) for number in range(5)]) == []
    found = summary(rising.add([candle(number, 0 if number else BEGIN) for number in range(5)]))
    assert found == [([0, 1, 2], True), 3, 4]


def test_overdue_rows_are_released_by_the_time_of_their_begin() -> None:
    assembler = SnapshotAssembler(models.Candle)
    for second, (flags, symbol) in enumerate([(BEGIN, "A"), (PENDING, "B"), (BEGIN, "C"), (BEGIN, "A")]):
        assembler.add([candle(9, flags, symbol)], float(second))
    released = [summary(assembler.overdue(at)) for at in (120.9, 121.0, 122.0, 123.0)]
    assert released == [[], [9], [([9], True)], [([9], True)]]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 31), st.sampled_from("AB"))), st.integers(1, 5))
def test_every_row_is_delivered_or_held_back_however_it_is_cut(rows: list[tuple[int, int, str]], size: int) -> None:
    events = [candle(*row) for row in rows]
    whole, parts = SnapshotAssembler(models.Candle), SnapshotAssembler(models.Candle)
    pieces = [item for start in range(0, len(events), size) for item in parts.add(events[start : start + size])]
    assert pieces == whole.add(events)
