"""When a paged list ends, and rows that come again in a walk: dropped if they say the same, kept if they do not."""

import logging
import tracemalloc
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brokerage_async._generated.operations import INSTRUMENTS_EQUITIES, ORDERS_LIST, TRANSACTIONS_LIST
from brokerage_async.errors import ResponseDecodeError
from brokerage_async.models import Equity, Order
from brokerage_async.operation import Operation, Page, Shape
from brokerage_async.protocol.dedup import CompactSet, RowIndex
from brokerage_async.protocol.pagination import DriftDetector, next_offset
from tests.protocol.values import operation, raised
from tests.tables import for_each


@attrs.frozen
class Row:
    id: str | None = None
    symbol: str | None = None
    note: str = ""
    extra: Mapping[str, Any] = attrs.field(factory=dict, hash=False)


def rows_by(*identity: str) -> Operation[list[Row]]:
    return operation("rows.list", "/rows", Shape.PAGE, identity=identity, result=Row)


def page(offset: int, *rows: Any, total: int | None = None) -> Page[Any]:
    return Page(rows, SimpleNamespace(page_offset=offset, total_items=total), offset)


@pytest.fixture
def detector() -> DriftDetector[Row]:
    return DriftDetector(rows_by("id"))


def walk(pages: list[list[Any]], walked: Operation[Any], max_held: int = 20_000) -> tuple[list[Page[Any]], int]:
    detector: DriftDetector[Any] = DriftDetector(walked, max_held=max_held)
    return [detector.take(page(offset, *rows)) for offset, rows in enumerate(pages)], detector.repeats


IDS, WORDS = st.sampled_from([None, "0", "1", "2", "3"]), st.sampled_from(["", "a"])
ROWS = st.builds(Row, IDS, IDS, WORDS, st.sampled_from([{}, {"new": 1}, {"new": [2]}]))


@given(st.lists(st.lists(ROWS, max_size=6), max_size=12), st.sampled_from([("id",), ("id", "symbol"), ()]),
       st.sampled_from([1, 3, 20_000]))  # fmt: skip
@example([[Row("1", extra={"a": 1})], [Row("2")], *[[Row("1", extra={"a": 2})]] * 2], ("id",), 1)
@example([[Row("1", extra={"a": 1})], [Row("2")], *[[Row("1", extra={"a": 2})]] * 2], ("id",), 20_000)
def test_exactly_the_rows_an_earlier_page_held_unchanged_are_dropped(pages: Any, identity: Any, max_held: int) -> None:
    latest: dict[tuple[Any, ...], Row] = {}
    expected: list[list[Row]] = []
    changed = []

    def key(row: Row) -> tuple[Any, ...] | None:
        found = tuple(getattr(row, name) for name in identity)
        return None if set(found) <= {None} else found

    for rows in pages:
        known = [row for row in rows if key(row) in latest]
        expected.append([row for row in rows if row not in known or latest[key(row)] != row])  # type: ignore[index]
        changed.append(len(known) - (len(rows) - len(expected[-1])))
        latest.update({found: row for row in rows if (found := key(row)) is not None})
    seen, repeats = walk(pages, rows_by(*identity), max_held)
    assert [list(page.items) for page in seen] == expected
    assert [page.changed for page in seen] == changed
    dropped = [len(rows) - len(kept) for rows, kept in zip(pages, expected, strict=True)]
    assert ([page.repeats for page in seen], repeats) == (dropped, sum(dropped))


def test_ids_that_repeat_under_other_symbols_cost_no_row(caplog: pytest.LogCaptureFixture) -> None:
    equities = [Equity(id=str(number % 97), symbol=f"S{number}") for number in range(5_000)]
    pages = [equities[start : start + 100] for start in range(0, 5_000, 100)]
    seen, repeats = walk(pages, INSTRUMENTS_EQUITIES)
    assert ([row for page in seen for row in page.items], repeats, caplog.messages) == (equities, 0, [])


def test_an_order_that_changed_between_pages_is_kept_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    pages = [[Order(id="1", status=status)] for status in ("Live", "Filled", "Removed")]
    seen, repeats = walk(pages, ORDERS_LIST)
    assert ([list(page.items) for page in seen], repeats) == (pages, 0)
    assert caplog.messages == [
        "orders.list: a row with the id of an earlier one differs from it otherwise; both are kept"
    ]


def test_rows_dropped_are_counted_in_the_log(detector: DriftDetector[Row], caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "brokerage_async.pager"):
        for offset in range(2):
            detector.take(page(offset, Row("1"), Row(f"2{offset}")))
        detector.report()
    assert caplog.messages == ["rows.list: repeated rows dropped: 1"]


def test_a_walk_holds_a_bounded_number_of_rows_and_ends_where_only_values_change() -> None:
    detector: DriftDetector[Row] = DriftDetector(rows_by("id"), max_held=50)
    for offset in range(100):
        detector.take(page(offset, *(Row(f"{offset} {number}") for number in range(10))))
        assert len(detector._recent) <= 50 + 10
    assert len(detector._pages) <= 6
    pages = [[Row("1", note=str(number))] for number in range(200)]
    endless = raised(ResponseDecodeError, walk, pages, rows_by("id"), match="100 pages in a row held nothing new")
    assert endless.json_path == "$.data.items"
    assert str(endless).count("$.data.items: 100") == 1


def test_total_that_changes_is_a_disagreement_and_warned_of_once(detector: DriftDetector[Row], caplog: Any) -> None:
    for offset, total in enumerate((20, None, 20, 21, 22)):
        detector.take(page(offset, Row(f"{offset}"), total=total))
        assert (detector.disagreement is not None) == (offset >= 3)
    assert detector.disagreement == "the list changed while it was read: 21 items instead of 20"
    [warning] = caplog.messages
    assert warning.startswith("rows.list: the list changed from 20 to 21 items while it was read; a row may have slip")


@for_each("first, totals, misses", [(0, [2, 2], 0), (0, [3, 3], 1), (1, [3, 3], 0), (0, [3, None], 1)])
def test_rows_that_a_whole_list_lacks_are_a_disagreement_at_its_end(first: int, totals: list[Any], misses: int) -> None:
    detector: DriftDetector[Row] = DriftDetector(rows_by("id"))
    for offset, total in enumerate(totals, first):
        detector.take(page(offset, Row(f"{offset}"), total=total))
    detector.finish()
    assert detector.disagreement == ("the list changed while it was read: 2 rows of 3" if misses else None)


def test_list_of_values_without_a_model_is_walked_and_documented_lists_name_what_identifies_a_row() -> None:
    assert all("id" in paged.identity for paged in (INSTRUMENTS_EQUITIES, ORDERS_LIST, TRANSACTIONS_LIST))
    for result in (None, str):
        values: Operation[Any] = attrs.evolve(rows_by(), result=result)
        pages, repeats = walk([["a", "b"], ["b"]], values)
        assert ([page.items for page in pages], repeats) == ([("a", "b"), ("b",)], 0)


@attrs.frozen(kw_only=True)
class Block:
    per_page: int | None = None
    total_pages: int | None = None
    current_item_count: int | None = None


PAGES_OF_THREE = Block(per_page=10, total_pages=3, current_item_count=10)


@for_each(
    "offset, asked, count, block, following",
    [
        # the total decides
        (0, 10, 10, PAGES_OF_THREE, 1),
        (1, 10, 10, PAGES_OF_THREE, 2),
        (2, 10, 10, PAGES_OF_THREE, None),
        (7, 10, 10, PAGES_OF_THREE, None),  # beyond the end
        (0, 10, 9, attrs.evolve(PAGES_OF_THREE, current_item_count=9), 1),  # a short page in the middle
        (4, 2, 2, Block(per_page=2, total_pages=5, current_item_count=2), None),
        *((0, 10, 10, Block(total_pages=total), None) for total in (0, 1, -1)),
        (0, 10, 10, Block(total_pages=3, current_item_count=-1), 1),
        # without a total, the count of the items
        (0, None, 9, Block(per_page=10, current_item_count=9), None),
        (0, None, 10, Block(per_page=10, current_item_count=10), 1),
        (0, 5000, 250, Block(per_page=250, current_item_count=250), 1),  # the size that the service used
        (0, 10, 8, Block(per_page=10, current_item_count=10), 1),  # rows were left out on the way
        (0, 10, 10, Block(per_page=10, current_item_count=0), 1),  # rows that the service did not count
        (0, 10, 10, Block(current_item_count=10), 1),
        (0, 10, 9, Block(current_item_count=9), None),
        (0, 10, 9, Block(), None),
        (0, None, 9, Block(), 1),
        # without a block
        (3, 10, 9, None, None),
        (3, 10, 10, None, 4),
        (0, None, 5, None, 1),
        # an empty page ends any list
        *(
            (3, size, 0, block, None)
            for size in (10, None)
            for block in (None, Block(), Block(total_pages=9), Block(total_pages=9, current_item_count=0))
        ),
    ],
)
def test_next_offset_follows_total_and_size(offset: int, asked: Any, count: int, block: Any, following: Any) -> None:
    assert next_offset(offset, asked, count, block) == following


@given(st.lists(st.text(max_size=3)), st.integers(0, 5))
def test_it_answers_like_a_set_whatever_it_keeps_exactly(keys: Any, exact: Any) -> None:
    seen, model = CompactSet(exact=exact), set()
    for key in keys:
        assert seen.add(key) is (key not in model)
        model.add(key)


def test_a_digest_that_straddles_two_neighbours_is_no_match() -> None:
    seen = CompactSet(exact=0)
    keys = ["\ud800", *(f"key {number}" for number in range(300_000))]  # several in each bucket
    assert sum(map(seen.add, keys)) == len(keys)
    assert not any(map(seen.add, keys[::7]))


def bytes_for_each(add: Callable[[int], object]) -> float:
    """Return the bytes that each of many numbers takes, without those of the buckets."""
    for number in range(65_536 * 2):
        add(number)
    tracemalloc.start()
    try:
        for number in range(200_000, 300_000):
            add(number)
        return tracemalloc.get_traced_memory()[0] / 100_000
    finally:
        tracemalloc.stop()


def test_a_key_beyond_the_exact_ones_and_a_row_take_few_bytes() -> None:
    seen, index = CompactSet(exact=0), RowIndex()
    assert bytes_for_each(lambda number: seen.add(f"symbol {number}")) < 40
    assert bytes_for_each(lambda number: index.put(hash((number, "id")), number)) < 50


HASHES = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(st.integers(-3, 3) | HASHES, HASHES)))
def test_row_index_returns_the_last_content_of_each_identity(rows: list[tuple[int, int]]) -> None:
    index, model = RowIndex(), dict[int, int]()
    for identity, content in rows:
        assert index.get(identity) == model.get(identity)
        index.put(identity, content)
        model[identity] = content
    assert {identity: index.get(identity) for identity in model} == model
    assert bool(index) is bool(model)


def test_row_index_with_many_rows_in_a_bucket_confuses_none() -> None:
    index = RowIndex()
    rows = {number * 2654435761 % 2**62: -number for number in range(100_000)}
    for identity, content in rows.items():
        index.put(identity, content)
    assert all(index.get(identity) == content for identity, content in rows.items())
    assert index.get(-1) is None
