"""Batches of keys, and the bisection of those that fail."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async.bulk.batches import (
    MAX_CONSECUTIVE_AMBIGUOUS,
    MAX_THROTTLE_PAUSE,
    Batch,
    Batcher,
    Bisection,
    failure_scope,
    url_length,
)


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


async def test_batches_invalid_key_of_an_iterator_raises_when_read() -> None:
    batches = batcher(iter(["A", "B", "C", 7])).batches()
    assert (await anext(batches)).keys == ("A", "B", "C")
    with pytest.raises(errors.InvalidRequestError, match="must be a str, got 7"):
        await anext(batches)


class Service:
    """Answers each key in lower case, leaves out the ``unknown`` keys, and raises the error that ``failures`` maps to a
    key of the batch."""

    def __init__(self, unknown: Any = (), **failures: Any) -> None:
        self.unknown, self.failures, self.asked = unknown, failures, []

    async def fetch(self, keys: Any) -> Any:
        self.asked.append("".join(keys))
        for key in keys:
            if key in self.failures:
                raise self.failures[key]
        return {key: key.lower() for key in keys if key not in self.unknown}


def bisection(service: Any, *, scope: Any = failure_scope, concurrency: Any = 1, max_size: Any = 8) -> Any:
    return Bisection(service.fetch, scope, concurrency=concurrency, max_size=max_size)


async def resolved(service: Any, keys: str = "ABCDEFGH", **options: Any) -> Any:
    batch = Batch(tuple(keys))
    await bisection(service, **options).resolve(batch)
    return batch


async def test_resolve_failing_batch_isolates_the_offending_keys() -> None:
    error = errors.BadRequestError("what is C?")
    service = Service(unknown="F", C=error)
    batch = await resolved(service)
    assert batch.failed == {"C": error}
    assert batch.missing == ["F"]
    assert list(batch.found) == ["A", "B", "D", "E", "G", "H"]
    assert service.asked == ["ABCDEFGH", "ABCD", "AB", "CD", "C", "D", "EFGH"]


@pytest.mark.virtual_time
@pytest.mark.parametrize(("wish", "waited"), [(None, 1), (0.0, 1), (30.0, 30), (1e12, MAX_THROTTLE_PAUSE)])
async def test_resolve_throttled_waits_for_a_bounded_time(wish: float | None, waited: Any) -> None:
    service = Service(A=errors.RateLimitError("slow down", retry_after=wish))
    asyncio.get_running_loop().call_later(waited - 0.5, service.failures.clear)
    batch = await resolved(service, "AB")
    assert asyncio.get_running_loop().time() == waited
    assert batch.found == {"A": "a", "B": "b"}
    assert service.asked == ["AB", "AB"]


async def test_resolve_too_many_ambiguous_failures_raises() -> None:
    error = errors.ServerError("out of order", status=500)
    service = Service(**dict.fromkeys("ABCDEFGH", error))
    one = bisection(service)
    for _ in range(4):  # 15 questions each: 8, 4, 2, 1, 1, 2, 1, 1, 4, ...
        await one.resolve(Batch(tuple("ABCDEFGH")))
    with pytest.raises(errors.ServerError):
        await one.resolve(Batch(tuple("ABCDEFGH")))
    assert len(service.asked) == MAX_CONSECUTIVE_AMBIGUOUS


async def test_resolve_success_resets_the_ambiguous_count() -> None:
    one = bisection(Service(A=errors.ServerError("out of order", status=500)))
    for _ in range(MAX_CONSECUTIVE_AMBIGUOUS):
        await one.resolve(batch := Batch(("A", "B")))
        assert list(batch.failed) == ["A"]


DENIED = errors.PermissionDeniedError("not permitted", status=403)


async def test_resolve_any_number_of_denied_keys_is_theirs_once_a_request_succeeded() -> None:
    one = bisection(Service(A=DENIED))
    await one.resolve(Batch(("B",)))
    for _ in range(2 * MAX_CONSECUTIVE_AMBIGUOUS):
        await one.resolve(Batch(("A",)))
    one.raise_if_denied()


async def test_resolve_too_many_denials_without_any_success_end_the_fetch() -> None:
    service = Service(A=DENIED)
    one = bisection(service)
    for _ in range(MAX_CONSECUTIVE_AMBIGUOUS - 1):
        await one.resolve(Batch(("A",)))
    with pytest.raises(errors.PermissionDeniedError):
        await one.resolve(Batch(("A",)))
    assert len(service.asked) == MAX_CONSECUTIVE_AMBIGUOUS
