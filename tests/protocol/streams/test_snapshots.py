"""Rows that belong together are delivered together."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async.protocol.streams import snapshots
from brokerage_async.protocol.streams.events import Snapshot
from brokerage_async.protocol.streams.snapshots import HeldRows, SnapshotAssembler
from tests.tables import for_each

PENDING, REMOVE, BEGIN, END, SNIP = 1, 2, 4, 8, 16


def candle(index: int, flags: int = 0, symbol: str = "ACME{=m}") -> models.Candle:
    return models.Candle(event_symbol=symbol, index=index, event_flags=flags)


def summary(items: list[Any]) -> list[Any]:
    """Return indexes: a list for a snapshot, with '+' if it is partial."""
    return [
        ([each.index for each in item.events], item.is_partial) if isinstance(item, Snapshot) else item.index
        for item in items
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
    monkeypatch.setattr(snapshots, "MAX_ROWS", 6)
    held = HeldRows()
    assemblers = [SnapshotAssembler(models.Candle, held=held), SnapshotAssembler(models.Greeks, held=held)]
    found = []
    for index in range(20):
        for assembler in assemblers:
            for symbol in "ABC":
                found += assembler.add([candle(99 - index, 0 if index else BEGIN, symbol)])
                assert held.count < 6
    assert {item.is_partial for item in found if isinstance(item, Snapshot)} == {True}
    for assembler in assemblers:
        for symbol in "ABC":
            assembler.drop(symbol)
    assert held.count == 0


def test_endless_snapshot_is_delivered_in_part_and_unsorted_rows_are_bounded_lower(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshots, "MAX_ROWS", 3)
    rows = [candle(9, BEGIN | PENDING), *(candle(index, PENDING) for index in (8, 7, 6))]
    assert summary(SnapshotAssembler(models.Candle).add(rows)) == [([7, 8, 9], True)]
    monkeypatch.undo()
    monkeypatch.setattr(snapshots, "MAX_UNSORTED", 3)
    falling, rising = SnapshotAssembler(models.Candle), SnapshotAssembler(models.Candle)
    assert falling.add([candle(9 - number, 0 if number else BEGIN) for number in range(5)]) == []
    found = summary(rising.add([candle(number, 0 if number else BEGIN) for number in range(5)]))
    assert found == [([0, 1, 2], True), 3, 4]


def test_overdue_rows_are_released_by_the_time_of_their_begin() -> None:
    assembler = SnapshotAssembler(models.Candle)
    assembler.add([candle(9, BEGIN, "A")], 0.0)
    assembler.add([candle(9, PENDING, "B")], 1.0)
    assembler.add([candle(9, BEGIN, "C")], 2.0)
    assembler.add([candle(9, BEGIN, "A")], 3.0)
    assert [summary(assembler.overdue(at)) for at in (120.9, 121.0, 122.0, 123.0)] == [
        [], [9], [([9], True)], [([9], True)],
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 31), st.sampled_from("AB"))), st.integers(1, 5))
def test_every_row_is_delivered_or_held_back_however_it_is_cut(rows: list[tuple[int, int, str]], size: int) -> None:
    events = [candle(*row) for row in rows]
    whole, parts = SnapshotAssembler(models.Candle), SnapshotAssembler(models.Candle)
    pieces = [item for start in range(0, len(events), size) for item in parts.add(events[start : start + size])]
    assert pieces == whole.add(events)
