import tracemalloc
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.protocol.dedup import CompactSet, RowIndex


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
        for number in range(200_000, 400_000):
            add(number)
        return tracemalloc.get_traced_memory()[0] / 200_000
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
