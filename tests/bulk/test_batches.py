import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async.bulk.batches import Cutter, url_length


def cutter(source, *, size=3, room=10_000, length=url_length):
    return Cutter(source, size=size, room=room, length=length)


async def batches_of(cutter):
    return [batch.keys async for batch in cutter.batches()]


async def later(items, closed=None):
    try:
        for item in items:
            yield item
    finally:
        if closed is not None:
            closed.append(True)


@pytest.mark.parametrize("source", [list, iter, later, dict.fromkeys], ids=["list", "iterator", "async", "dict"])
async def test_keys_are_cut_in_order_whatever_they_come_from(source):
    assert await batches_of(cutter(source("ABCDEFG"))) == [("A", "B", "C"), ("D", "E", "F"), ("G",)]


async def test_batches_are_counted():
    assert [batch.index async for batch in cutter(list("ABCDEFG")).batches()] == [0, 1, 2]


async def test_a_key_comes_once_and_the_others_are_accounted_for():
    cut = cutter(["A", "B", "A", "", "C", "", "B", "D"])
    assert await batches_of(cut) == [("A", "B", "C"), ("D",)]
    assert (cut.total, cut.passed) == (8, 4)
    assert list(cut.refused) == [""]
    assert isinstance(cut.refused[""], errors.ConfigurationError)


async def test_the_total_is_known_where_the_source_knows_it():
    assert cutter([]).total == 0
    assert cutter(iter([])).total is None
    assert cutter(later([])).total is None


@pytest.mark.parametrize("make", [iter, later], ids=["iterator", "async"])
async def test_the_source_is_read_no_further_than_the_next_batch(make):
    read = []
    source = make(read.append(key) or key for key in map(str, itertools.count()))
    batches = cutter(source, size=10).batches()
    await anext(batches)
    assert len(read) == 10
    await anext(batches)
    assert len(read) == 20
    await batches.aclose()


async def test_an_async_source_is_closed_with_the_batches():
    closed = []
    batches = cutter(later("ABCDEFG", closed)).batches()
    await anext(batches)
    await batches.aclose()
    assert closed == [True]


@given(st.lists(st.text("AB/ ü", min_size=1, max_size=12)), st.integers(1, 6), st.integers(1, 90))
async def test_every_batch_keeps_to_its_bounds_and_no_key_is_lost(keys, size, room):
    batches = await batches_of(cutter(keys, size=size, room=room))
    assert [key for batch in batches for key in batch] == list(dict.fromkeys(keys))
    assert all(0 < len(batch) <= size for batch in batches)
    assert all(url_length(batch) <= room for batch in batches if len(batch) > 1)


@pytest.mark.parametrize(
    ("key", "length"),
    [("AAPL", 20), ("BRK/B", 16 + 7), ("./ESZ6 EW3U6", 16 + 2 + 1 + 3 + 4 + 3 + 5 - 1 - 1), ("Ü", 16 + 6)],
)
def test_the_length_of_a_key_is_that_of_its_encoding(key, length):
    assert url_length([key]) == length
    assert url_length([key, "A"]) == length + 17


@given(st.lists(st.text(max_size=5), max_size=5))
def test_lengths_add_up(keys):
    assert url_length(keys) == sum(url_length([key]) for key in keys)


def test_the_length_of_what_is_no_text_is_a_number_all_the_same():
    assert url_length(["\ud800"]) > 16


@pytest.mark.parametrize("keys", [5, None, "AAPL", b"AAPL", [1], ("AAPL", None), {1}], ids=repr)
def test_a_source_of_the_wrong_kind_is_refused_at_once(keys):
    with pytest.raises(errors.InvalidRequestError, match="symbol"):
        cutter(keys)


async def test_a_wrong_key_in_a_stream_is_refused_when_it_is_met():
    batches = cutter(iter(["A", "B", "C", 7])).batches()
    assert (await anext(batches)).keys == ("A", "B", "C")
    with pytest.raises(errors.InvalidRequestError, match="not int 7"):
        await anext(batches)
