import asyncio
import gc
import itertools
import math
import sys
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors, models
from brokerage_async.bulk.fetch import (
    MAX_CONSECUTIVE_AMBIGUOUS,
    MAX_THROTTLE_PAUSE,
    BulkFetch,
    FailureScope,
    by_requested,
    failure_scope,
    url_length,
)
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.tables import for_each
from tests.trading import cancelled

pytestmark = pytest.mark.virtual_time
DENIED = errors.PermissionDeniedError("not permitted", status=403)


class Service:
    """Answers batches after ``latency`` seconds of the loop's clock, leaves out the ``unknown`` keys, and fails on
    any batch with a key of ``poison``."""

    def __init__(
        self, *, latency: Any = 1.0, unknown: Any = (), poison: Any = (), error: Any = errors.ServerError
    ) -> None:
        self.latency, self.unknown, self.poison, self.error = latency, set(unknown), set(poison), error
        self.batches = []
        self.in_flight = self.max_in_flight = self.cancelled = 0

    async def fetch(self, batch: Any) -> Any:
        self.batches.append(batch)
        self.in_flight += 1
        self.max_in_flight = max(self.in_flight, self.max_in_flight)
        try:
            await asyncio.sleep(self.latency(batch) if callable(self.latency) else self.latency)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        if self.poison.intersection(batch):
            raise self.error(f"cannot answer {batch}")
        return {key: key.lower() for key in batch if key not in self.unknown}

    @property
    def asked(self) -> Any:
        return [key for batch in self.batches for key in batch]


def keys(count: Any) -> Any:
    return [f"K{number}" for number in range(count)]


async def later(items: Any, every: Any = 0.0) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(every)
        yield item


async def whole(fetch: BulkFetch[Any]) -> Any:
    return await fetch


async def settle() -> None:
    """Let an abandoned generator be closed by the event loop."""
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)


async def test_await_batches_run_concurrently_and_keep_the_input_order() -> None:
    unknown = ["K3", "K17", "K40"]
    service = Service(unknown=unknown, latency=lambda batch: 1 + (int(batch[0][1:]) // 10) % 3)  # later ones overtake
    fetch = BulkFetch(keys(95), service.fetch, concurrency=4, batch_size=10)
    result = await fetch

    assert (list(result.found), result.found["K7"]) == ([key for key in keys(95) if key not in unknown], "k7")
    assert (result.missing, sorted(fetch.missing), result.failed) == (unknown, sorted(unknown), {})
    assert (len(service.batches), service.max_in_flight) == (10, 4)
    assert asyncio.get_running_loop().time() < 10


@for_each("source", [list, iter, later, dict.fromkeys])
async def test_source_of_any_kind_keeps_its_order(source: Any) -> None:
    service = Service(latency=0)
    assert list((await BulkFetch(source("ABCDEFG"), service.fetch, batch_size=3)).found) == list("ABCDEFG")
    assert service.batches == [("A", "B", "C"), ("D", "E", "F"), ("G",)]


@given(st.lists(st.text("AB/ ü", min_size=1, max_size=12)), st.integers(1, 6), st.integers(1, 90))
def test_batches_keep_their_bounds_and_lose_no_key(asked: Any, size: int, length: int) -> None:
    service = Service(latency=0)
    asyncio.run(whole(BulkFetch(asked, service.fetch, batch_size=size, batch_length=length, concurrency=1)))
    assert service.asked == list(dict.fromkeys(asked))
    assert all(0 < len(batch) <= size for batch in service.batches)
    assert all(url_length(batch) <= length for batch in service.batches if len(batch) > 1)


@for_each(
    "key, length",
    [("AAPL", 20), ("BRK/B", 16 + 7), ("./ESZ6 EW3U6", 16 + 2 + 1 + 3 + 4 + 3 + 5 - 1 - 1), ("Ü", 16 + 6), ("", 16)],
)
def test_url_length_counts_the_encoded_keys(key: str, length: int) -> None:
    assert url_length([key]) == length
    assert url_length([key, "A", key]) == 2 * length + 17
    assert url_length([key, "\ud800"]) > length + 16, "a lone surrogate has a length as well"


async def test_iteration_yields_pairs_as_they_arrive() -> None:
    service = Service(latency=lambda batch: 5 if "K0" in batch else 1)
    order = [key async for key, _ in BulkFetch(keys(6), service.fetch, concurrency=2, batch_size=2)]
    assert order == ["K2", "K3", "K4", "K5", "K0", "K1"]


async def test_empty_source_or_unused_fetch_reads_and_sends_nothing() -> None:
    service, read = Service(), []
    assert (await BulkFetch([], service.fetch)).found == {}
    assert [pair async for pair in BulkFetch(later([]), service.fetch)] == []
    BulkFetch((read.append(key) or key for key in keys(5)), service.fetch)
    await asyncio.sleep(1)
    async with BulkFetch((read.append(key) or key for key in keys(3)), service.fetch) as closed:
        pass
    assert [pair async for pair in closed] == []
    assert (read, service.batches) == ([], [])


async def test_iteration_reads_no_further_than_what_is_in_flight() -> None:
    read = []
    fetch = BulkFetch((read.append(key) or key for key in map(str, itertools.count())), Service().fetch, batch_size=10)
    most = 0
    async with fetch:
        async for number, _ in fetch:
            most = max(most, len(read) - int(number))
            if number == "5000":
                break
    assert most <= 10 * (8 + 8 + 1)  # waiting for the consumer, in flight, and the batch at hand


async def test_busy_consumer_does_not_stop_the_requests() -> None:
    service = Service(latency=1)
    async for _ in BulkFetch(keys(100), service.fetch, concurrency=2, batch_size=10):
        await asyncio.sleep(0.05)  # half a second for each batch: the consumer is exactly as fast as the service
    assert asyncio.get_running_loop().time() == pytest.approx(1 + 100 * 0.05)


@for_each("error", [errors.ServerError, errors.UnprocessableError, errors.NotFoundError, errors.ResponseDecodeError])
async def test_failing_batch_isolates_the_offending_keys(error: Any) -> None:
    service = Service(poison=["K13", "K14", "K77"], unknown=["K15"], error=error)
    result = await BulkFetch(keys(100), service.fetch, batch_size=50)

    assert sorted(result.failed) == ["K13", "K14", "K77"]
    assert all(isinstance(reason, error) for reason in result.failed.values())
    assert result.missing == ["K15"]
    assert list(result.found) == [key for key in keys(100) if key not in {"K13", "K14", "K15", "K77"}]
    assert len(service.batches) <= 2 + 3 * 2 * math.ceil(math.log2(50))


@given(
    st.lists(st.sampled_from([*keys(30), ""])),
    st.sets(st.sampled_from(keys(30))),
    st.sets(st.sampled_from(keys(30)), max_size=4),
    st.integers(1, 9),
    st.integers(1, 4),
)
def test_every_key_is_found_or_missing_or_failed(asked: Any, unknown: Any, poison: Any, size: int, most: int) -> None:
    service = Service(latency=0, unknown=unknown, poison=poison, error=errors.BadRequestError)
    result = asyncio.run(whole(BulkFetch(asked, service.fetch, batch_size=size, concurrency=most)))
    distinct = dict.fromkeys(asked)
    assert list(result.found) == [key for key in distinct if key and key not in unknown | poison]
    assert result.missing == [key for key in distinct if key in unknown - poison]
    assert set(result.failed) == {key for key in distinct if not key or key in poison}
    assert isinstance(result.failed.get("", errors.InvalidRequestError("")), errors.InvalidRequestError)
    assert service.max_in_flight <= most


@for_each(
    "error",
    [
        errors.TokenError("the grant was revoked"),
        errors.DeadlineExceededError("too late"),
        errors.ConfigurationError("the client is closed"),
        errors.AuthenticationError("unauthorized", status=401),
        errors.RequestNotSentError("connection refused"),
        ZeroDivisionError("a mistake in the code"),
    ],
)
async def test_error_of_the_whole_fetch_ends_it(error: Any) -> None:
    service = Service(latency=lambda _: len(service.batches), poison=keys(1000), error=lambda *_: error)
    caught = await raised_by(BulkFetch(keys(1000), service.fetch, concurrency=3), type(error))
    assert caught is error
    assert (len(service.batches), len(asyncio.all_tasks())) == (3, 1)


async def test_any_number_of_failures_beside_successes_is_of_their_keys() -> None:
    denied = keys(2 * MAX_CONSECUTIVE_AMBIGUOUS)
    service = Service(poison=denied, error=lambda *_: DENIED)
    result = await BulkFetch(["first", *denied], service.fetch, concurrency=1, batch_size=1)
    assert list(result.failed.items()) == [(key, DENIED) for key in denied]
    many = keys(4 * MAX_CONSECUTIVE_AMBIGUOUS)
    for asked, poison, options in (
        (keys(10), ["K3"], {"concurrency": 2, "batch_size": 4}),
        (many, many[::2], {"concurrency": 1, "batch_size": 2}),
        (keys(8000), keys(8000)[::1000], {"batch_size": 1000, "batch_length": 100_000}),  # the first of every batch
    ):
        for error in (errors.ServerError, lambda *_: DENIED):
            result = await BulkFetch(asked, Service(poison=poison, error=error).fetch, **options)  # type: ignore[arg-type]
            assert (set(result.failed), len(result.found)) == ({*poison}, len(asked) - len(poison))


@for_each("batch_size", [1, 4])
async def test_fetch_in_which_every_key_is_denied_ends_with_that_error(batch_size: int) -> None:
    service = Service(poison=keys(10), error=lambda *_: DENIED)
    awaited, iterated = (BulkFetch(keys(10), service.fetch, concurrency=2, batch_size=batch_size) for _ in range(2))
    caught = await raised_by(awaited, errors.PermissionDeniedError)
    assert caught is DENIED
    with pytest.raises(errors.PermissionDeniedError):
        [pair async for pair in iterated]
    assert set(iterated.failed) == set(keys(10))


@pytest.mark.virtual_time(False)
async def test_bulk_fetch_given_to_asyncio_run_says_what_to_do() -> None:
    fetch = BulkFetch(keys(1), Service().fetch)
    assert repr(fetch) == "<bulk fetch: await it, or iterate over it, in a coroutine>"
    if sys.version_info < (3, 14):  # later ones run any awaitable
        with pytest.raises(ValueError, match="await it, or iterate over it, in a coroutine"):
            await asyncio.to_thread(asyncio.run, fetch)  # type: ignore[arg-type]


@for_each("error", [errors.ServerError, lambda *_: DENIED])
async def test_too_many_failures_without_a_success_end_the_fetch(error: Any) -> None:
    service = Service(poison=keys(10_000), error=error)
    with pytest.raises((errors.ServerError, errors.PermissionDeniedError)):
        await BulkFetch(keys(10_000), service.fetch, concurrency=1, batch_size=8)
    assert len(service.batches) == MAX_CONSECUTIVE_AMBIGUOUS


@pytest.mark.parametrize(("wish", "waited"), [(None, 1), (0.0, 1), (30.0, 30), (1e12, MAX_THROTTLE_PAUSE)])
async def test_throttled_batch_waits_for_a_bounded_time(wish: float | None, waited: float) -> None:
    service = Service(latency=0, poison="A", error=lambda text: errors.RateLimitError(text, retry_after=wish))
    asyncio.get_running_loop().call_later(waited - 0.5, service.poison.clear)
    assert (await BulkFetch(["A", "B"], service.fetch)).found == {"A": "a", "B": "b"}
    assert asyncio.get_running_loop().time() == waited
    assert service.batches == [("A", "B")] * 2


async def test_endless_throttling_ends_the_fetch() -> None:
    service = Service(poison=keys(1), error=errors.RateLimitError)
    await raised_by(BulkFetch(keys(10), service.fetch), errors.RateLimitError)


async def test_failure_scope_can_be_passed() -> None:
    service = Service(latency=0, poison=["K1"], error=KeyError)
    result = await BulkFetch(keys(4), service.fetch, failure_scope=lambda error: FailureScope.KEYS)
    assert list(result.failed) == ["K1"]
    assert failure_scope(KeyError()) is FailureScope.FETCH


async def test_progress_counts_every_key_once() -> None:
    seen: list[tuple[Any, ...]] = []
    service, note = Service(unknown=["K1"], poison=["K2"]), lambda *event: seen.append(event)
    await BulkFetch([*keys(25), "K3", "K4"], service.fetch, batch_size=10, concurrency=1, on_progress=note)
    assert seen[-1][:2] == (27, 27)  # the last two are duplicates
    assert [done for done, _, _ in seen] == sorted({done for done, _, _ in seen})
    assert seen[1][2] - seen[0][2] == pytest.approx(1)
    seen.clear()  # a source without a length has no total
    await BulkFetch(iter(keys(5)), Service().fetch, on_progress=note)
    assert seen == [(5, None, 1.0)]


async def test_error_of_the_callback_or_the_source_ends_the_fetch() -> None:
    service, stop = Service(), Mock(side_effect=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        await BulkFetch(keys(50), service.fetch, batch_size=1, concurrency=5, on_progress=stop)
    assert service.in_flight == 0

    async def source() -> AsyncIterator[Any]:
        yield "A"
        raise OSError("the file is gone")

    await raised_by(BulkFetch(source(), Service().fetch, batch_size=1), OSError, "gone")


async def test_break_or_leaving_the_block_cancels_the_requests_in_flight() -> None:
    service = Service()
    async for _ in BulkFetch(keys(100), service.fetch, batch_size=1, concurrency=5):
        break
    await settle()
    assert (service.in_flight, len(asyncio.all_tasks())) == (0, 1)
    assert service.cancelled == 5
    service = Service()
    async with BulkFetch(later(keys(100)), service.fetch, batch_size=1, concurrency=5) as fetch:
        pairs = aiter(fetch)
        await anext(pairs)
        assert len(asyncio.all_tasks()) > 1
    assert service.in_flight == 0
    assert len([pair async for pair in pairs]) < 5
    await settle()
    assert len(asyncio.all_tasks()) == 1


async def test_aclose_from_another_task_ends_the_iteration() -> None:
    service, pairs = Service(latency=10), []
    fetch = BulkFetch(later(keys(100), every=0.1), service.fetch, batch_size=1, concurrency=3)
    asyncio.get_running_loop().call_later(25, lambda: pairs.append(asyncio.ensure_future(fetch.aclose())))
    assert len([pair async for pair in fetch]) == 6
    await pairs.pop()
    assert (service.in_flight, len(asyncio.all_tasks())) == (0, 1)


async def test_cancelled_caller_leaves_no_task_behind() -> None:
    service, closed = Service(latency=10), []

    async def source() -> AsyncIterator[Any]:
        try:
            for key in itertools.count():
                yield str(key)
        finally:
            closed.append(True)

    await cancelled(BulkFetch(source(), service.fetch, batch_size=1), after=25)
    assert (service.in_flight, len(asyncio.all_tasks()), closed) == (0, 1, [True])


async def test_second_use_and_await_of_a_closed_one_raise() -> None:
    fetch = BulkFetch(keys(3), Service().fetch)
    await fetch
    await raised_by(fetch, RuntimeError, "runs once")
    raised(RuntimeError, aiter, fetch, match="runs once")
    fetch = BulkFetch(keys(100), Service(latency=10).fetch, batch_size=1, concurrency=3)
    unfinished = asyncio.ensure_future(fetch)
    await asyncio.sleep(25)
    await fetch.aclose()
    await raised_by(unfinished, RuntimeError, "closed before every key was resolved")
    assert len(asyncio.all_tasks()) == 1


@for_each(
    "name, wrong",
    [
        *((name, 5) for name in ("on_progress", "fetch", "length", "failure_scope")),
        *((name, Service().fetch) for name in ("length", "failure_scope", "on_progress")),  # a coroutine function
        *((name, bound) for name in ("concurrency", "batch_size", "batch_length")
          for bound in (0, -1, None, "8", 1.5, True)),
    ],
)  # fmt: skip
def test_invalid_functions_and_bounds_raise_when_made(name: str, wrong: Any) -> None:
    raised(errors.ConfigurationError, BulkFetch, match=name, **{"keys": [], "fetch": Service().fetch, name: wrong})


@for_each("wrong", [5, None, "AAPL", b"AAPL", [1], ("AAPL", None), {1}, 1.5])
def test_invalid_keys_raise(wrong: Any) -> None:
    raised(errors.InvalidRequestError, BulkFetch, wrong, Service().fetch, match=r"symbol.* must be an? .*str, got ")


@for_each("source", [iter, later])
async def test_invalid_key_of_an_iterator_raises_when_it_is_read(source: Any) -> None:
    service = Service()
    with pytest.raises(errors.InvalidRequestError, match="must be a str, got 7"):
        await BulkFetch(source([*keys(3), 7]), service.fetch, batch_size=3)
    assert service.batches == [("K0", "K1", "K2")]


async def test_workers_never_outnumber_keys() -> None:
    fetch = BulkFetch(keys(3), Service().fetch, concurrency=10**9, batch_size=1)
    async with fetch:
        async for _ in fetch:
            assert len(asyncio.all_tasks()) <= 1 + 3


SYMBOLS = st.lists(st.text("aB/. 1", min_size=1, max_size=4), unique=True)


@given(SYMBOLS, SYMBOLS)
def test_by_requested_keys_are_requested_symbols(asked: Any, known: Any) -> None:
    rows = {symbol: models.Equity(symbol=symbol) for symbol in known}
    found = by_requested(asked, rows.values())
    assert all(found[symbol] is rows[symbol] for symbol in asked if symbol in rows)
    assert set(found) <= set(asked)


def test_by_requested_other_spelling_keeps_the_requested_key() -> None:
    rows = [models.Equity(symbol=symbol) for symbol in ("AAPL", "./ESZ6 EW3U6  260918P9100", "BRK/B", "UNASKED")]
    spelled = {"aapl": "AAPL", "./ESZ6 EW3U6 260918P9100": "./ESZ6 EW3U6  260918P9100", "BRK/B": "BRK/B"}
    found = by_requested([*spelled, "MSFT"], [*rows, models.Equity()])
    assert {key: equity.symbol for key, equity in found.items()} == spelled
    found = by_requested(["ESZ6", "/CLZ6"], [models.Future(symbol="/ESZ6"), models.Future(symbol="/CLZ6")])
    assert {key: future.symbol for key, future in found.items()} == {"ESZ6": "/ESZ6", "/CLZ6": "/CLZ6"}
