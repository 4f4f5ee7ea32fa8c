import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async.bulk.batches import Batcher, url_length


def batcher(source: Any, *, max_size: Any = 3, max_length: Any = 10_000, length: Any = url_length) -> Any:
    return Batcher(source, max_size=max_size, max_length=max_length, length=length)


async def batches_of(batcher: Any) -> Any:
    return [batch.keys async for batch in batcher.batches()]


async def later(items: Any, closed: Any = None) -> AsyncIterator[Any]:
    try:
        for item in items:
            yield item
    finally:
        if closed is not None:
            closed.append(True)


@pytest.mark.parametrize("source", [list, iter, later, dict.fromkeys], ids=["list", "iterator", "async", "dict"])
async def test_batches_of_any_source_keep_the_order(source: Any) -> None:
    assert await batches_of(batcher(source("ABCDEFG"))) == [("A", "B", "C"), ("D", "E", "F"), ("G",)]


async def test_batches_skip_repeated_and_empty_keys() -> None:
    one = batcher(["A", "B", "A", "", "C", "", "B", "D"])
    assert await batches_of(one) == [("A", "B", "C"), ("D",)]
    assert (one.total, one.skipped) == (8, 4)
    assert list(one.rejected) == [""]
    assert isinstance(one.rejected[""], errors.InvalidRequestError)


async def test_total_of_source_without_length_is_none() -> None:
    assert batcher([]).total == 0
    assert batcher(iter([])).total is None
    assert batcher(later([])).total is None


@pytest.mark.parametrize("make", [iter, later], ids=["iterator", "async"])
async def test_batches_read_no_further_than_the_next_batch(make: Any) -> None:
    read = []
    source = make(read.append(key) or key for key in map(str, itertools.count()))
    batches = batcher(source, max_size=10).batches()
    await anext(batches)
    assert len(read) == 10
    await anext(batches)
    assert len(read) == 20
    await batches.aclose()


async def test_batches_closed_early_close_an_async_source() -> None:
    closed = []
    batches = batcher(later("ABCDEFG", closed)).batches()
    await anext(batches)
    await batches.aclose()
    assert closed == [True]


@given(st.lists(st.text("AB/ ü", min_size=1, max_size=12)), st.integers(1, 6), st.integers(1, 90))
async def test_batches_keep_their_bounds_and_lose_no_key(keys: Any, size: int, length: int) -> None:
    batches = await batches_of(batcher(keys, max_size=size, max_length=length))
    assert [key for batch in batches for key in batch] == list(dict.fromkeys(keys))
    assert all(0 < len(batch) <= size for batch in batches)
    assert all(url_length(batch) <= length for batch in batches if len(batch) > 1)


@pytest.mark.parametrize(
    ("key", "length"),
    [("AAPL", 20), ("BRK/B", 16 + 7), ("./ESZ6 EW3U6", 16 + 2 + 1 + 3 + 4 + 3 + 5 - 1 - 1), ("Ü", 16 + 6)],
)
def test_url_length_counts_the_encoded_key(key: str, length: Any) -> None:
    assert url_length([key]) == length
    assert url_length([key, "A"]) == length + 17


@given(st.lists(st.text(max_size=5), max_size=5))
def test_url_length_of_keys_is_the_sum(keys: Any) -> None:
    assert url_length(keys) == sum(url_length([key]) for key in keys)


def test_url_length_of_a_lone_surrogate_is_a_number() -> None:
    assert url_length(["\ud800"]) > 16


@pytest.mark.parametrize("keys", [5, None, "AAPL", b"AAPL", [1], ("AAPL", None), {1}], ids=repr)
def test_batcher_invalid_source_raises_at_once(keys: Any) -> None:
    with pytest.raises(errors.InvalidRequestError, match="symbol"):
        batcher(keys)


async def test_batches_invalid_key_of_an_iterator_raises_when_read() -> None:
    batches = batcher(iter(["A", "B", "C", 7])).batches()
    assert (await anext(batches)).keys == ("A", "B", "C")
    with pytest.raises(errors.InvalidRequestError, match="must be a str, got 7"):
        await anext(batches)
