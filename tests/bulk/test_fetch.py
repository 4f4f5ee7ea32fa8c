import asyncio
import gc
import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async.bulk.bisect import PATIENCE, Verdict, judge
from brokerage_async.bulk.fetch import BulkFetch


class Service:
    """Answers batches after ``latency`` seconds of the loop's clock, knows nothing of ``unknown``, and fails on any
    batch with a key of ``poison``."""

    def __init__(self, *, latency=1.0, unknown=(), poison=(), error=errors.ServerError):
        self.latency, self.unknown, self.poison, self.error = latency, set(unknown), set(poison), error
        self.batches = []
        self.in_flight = self.most_in_flight = self.cancelled = 0

    async def fetch(self, batch):
        self.batches.append(batch)
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
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
    def asked(self):
        return [key for batch in self.batches for key in batch]


def keys(count):
    return [f"K{number}" for number in range(count)]


async def later(items, every=0.0):
    for item in items:
        await asyncio.sleep(every)
        yield item


async def settle():
    """Let an abandoned generator be closed by the event loop."""
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.looptime
async def test_batches_are_asked_together_and_collected_in_the_order_of_the_input(looptime):
    service = Service(latency=lambda batch: 1 + (int(batch[0][1:]) // 10) % 3)  # later batches overtake
    result = await BulkFetch(keys(95), service.fetch, concurrency=4, batch_size=10)

    assert list(result.found) == keys(95)
    assert result.found["K7"] == "k7"
    assert (result.missing, result.failed) == ([], {})
    assert len(service.batches) == 10
    assert service.most_in_flight == 4
    assert looptime < 10


@pytest.mark.looptime
async def test_the_time_taken_is_the_number_of_rounds(looptime):
    await BulkFetch(keys(1000), Service(latency=1).fetch, concurrency=8, batch_size=10)
    assert looptime == math.ceil(100 / 8)


@pytest.mark.looptime
async def test_pairs_come_as_they_arrive(looptime):
    service = Service(latency=lambda batch: 5 if "K0" in batch else 1)
    order = [key async for key, _ in BulkFetch(keys(6), service.fetch, concurrency=2, batch_size=2)]
    assert order == ["K2", "K3", "K4", "K5", "K0", "K1"]


@pytest.mark.looptime
@pytest.mark.parametrize("source", [keys, lambda n: iter(keys(n)), lambda n: later(keys(n)), lambda n: set(keys(n))])
async def test_any_kind_of_source_serves(source):
    result = await BulkFetch(source(25), Service().fetch, batch_size=7)
    assert sorted(result.found) == sorted(keys(25))


@pytest.mark.looptime
async def test_nothing_to_ask_is_nothing_asked():
    service = Service()
    assert (await BulkFetch([], service.fetch)).found == {}
    assert [pair async for pair in BulkFetch(later([]), service.fetch)] == []
    assert service.batches == []


@pytest.mark.looptime
async def test_nothing_is_read_or_asked_before_it_is_used():
    service, read = Service(), []
    BulkFetch((read.append(key) or key for key in keys(5)), service.fetch)
    await asyncio.sleep(1)
    assert (read, service.batches) == ([], [])


@pytest.mark.looptime
async def test_duplicates_are_asked_once():
    service = Service(latency=lambda batch: len(batch))
    result = await BulkFetch(["B", "A", "B", "C", "A", "B"], service.fetch, batch_size=2, concurrency=2)
    assert list(result.found) == ["B", "A", "C"]
    assert sorted(service.asked) == ["A", "B", "C"]


@pytest.mark.looptime
async def test_the_source_is_read_no_further_than_what_is_in_flight():
    read = []
    fetch = BulkFetch((read.append(key) or key for key in map(str, itertools.count())), Service().fetch, batch_size=10)
    most = 0
    async with fetch:
        async for number, _ in fetch:
            most = max(most, len(read) - int(number))
            if number == "5000":
                break
    assert most <= 10 * (8 + 8 + 1)  # waiting for the consumer, in flight, and the batch at hand


@pytest.mark.looptime
async def test_a_busy_consumer_does_not_stop_what_is_in_flight(looptime):
    service = Service(latency=1)
    async for _ in BulkFetch(keys(100), service.fetch, concurrency=2, batch_size=10):
        await asyncio.sleep(0.05)  # half a second for each batch: the consumer is exactly as fast as the service
    assert looptime == pytest.approx(1 + 100 * 0.05)


@pytest.mark.looptime
async def test_batches_are_bounded_by_length():
    service = Service()
    long = ["A" * 84, "B" * 84, "C" * 84, "D" * 300, "E"]
    await BulkFetch(long, service.fetch, batch_length=250)
    assert [len(batch) for batch in service.batches] == [2, 1, 1, 1]  # one that is too long by itself goes alone


@pytest.mark.looptime
async def test_missing_keys_are_exact_and_in_order():
    service = Service(unknown=["K3", "K17", "K40"], latency=lambda batch: 1 / len(batch))
    fetch = BulkFetch(keys(41), service.fetch, batch_size=10)
    result = await fetch
    assert result.missing == ["K3", "K17", "K40"]
    assert set(fetch.missing) == set(result.missing)
    assert list(result.found) == [key for key in keys(41) if key not in service.unknown]


@pytest.mark.looptime
@pytest.mark.parametrize(
    "error", [errors.ServerError, errors.UnprocessableError, errors.NotFoundError, errors.ResponseDecodeError]
)
async def test_a_batch_that_fails_for_good_is_halved_until_the_guilty_stand_alone(error):
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
def test_every_key_is_found_or_missing_or_failed(asked, unknown, poison, batch_size, concurrency):
    service = Service(latency=0, unknown=unknown, poison=poison, error=errors.BadRequestError)
    fetch = BulkFetch(asked, service.fetch, batch_size=batch_size, concurrency=concurrency)
    result = asyncio.run(collect(fetch))

    distinct = dict.fromkeys(asked)
    assert list(result.found) == [key for key in distinct if key and key not in unknown | poison]
    assert result.missing == [key for key in distinct if key in unknown - poison]
    assert set(result.failed) == {key for key in distinct if not key or key in poison}
    assert service.most_in_flight <= concurrency


async def collect(fetch):
    return await fetch


@pytest.mark.looptime
@pytest.mark.parametrize(
    "error",
    [
        errors.TokenError("the grant was revoked"),
        errors.DeadlineExceededError("too late"),
        errors.ConfigurationError("the client is closed"),
        errors.AuthenticationError("unauthorized", status=401),
        errors.PermissionDeniedError("not permitted", status=403),
        errors.RequestNotSentError("connection refused"),
        ZeroDivisionError("a mistake in the code"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_that_is_no_keys_fault_ends_the_fetch(error):
    calls = 0

    async def fetch(batch):
        nonlocal calls
        calls += 1
        await asyncio.sleep(calls)
        raise error

    with pytest.raises(type(error)) as caught:
        await BulkFetch(keys(1000), fetch, concurrency=3)
    assert caught.value is error
    assert calls == 3
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.looptime
async def test_a_service_that_fails_on_everything_is_not_asked_for_every_key():
    service = Service(poison=keys(10_000))
    with pytest.raises(errors.ServerError):
        await BulkFetch(keys(10_000), service.fetch, concurrency=4, batch_size=10)
    assert len(service.batches) <= PATIENCE + 4


@pytest.mark.looptime
async def test_the_first_key_of_every_large_batch_may_be_guilty():
    service = Service(poison=[f"K{number}" for number in range(0, 8000, 1000)])
    result = await BulkFetch(keys(8000), service.fetch, concurrency=8, batch_size=1000, batch_length=100_000)
    assert set(result.failed) == service.poison


@pytest.mark.looptime
async def test_a_refusal_for_the_rate_is_nobodys_fault(looptime):
    refusals = [errors.RateLimitError("slow down", retry_after=retry_after) for retry_after in (None, 30.0)]

    async def fetch(batch):
        if refusals:
            raise refusals.pop(0)
        return dict.fromkeys(batch, 1)

    result = await BulkFetch(keys(10), fetch)
    assert len(result.found) == 10
    assert looptime == 31


@pytest.mark.looptime
async def test_an_endless_refusal_ends_the_fetch():
    async def fetch(batch):
        raise errors.RateLimitError("slow down")

    with pytest.raises(errors.RateLimitError):
        await BulkFetch(keys(10), fetch)


async def test_the_verdict_can_be_passed():
    service = Service(latency=0, poison=["K1"], error=KeyError)
    result = await BulkFetch(keys(4), service.fetch, verdict=lambda error: Verdict.KEYS)
    assert list(result.failed) == ["K1"]
    assert judge(KeyError()) is Verdict.END


async def test_the_empty_key_is_never_asked():
    service = Service(latency=0)
    result = await BulkFetch(["A", "", "B"], service.fetch)
    assert service.batches == [("A", "B")]
    assert isinstance(result.failed[""], errors.ConfigurationError)


@pytest.mark.looptime
async def test_progress_counts_every_key_once():
    seen = []
    service = Service(unknown=["K1"], poison=["K2"])
    source = [*keys(25), "K3", "K4"]  # the last two are duplicates
    await BulkFetch(source, service.fetch, batch_size=10, concurrency=1, on_progress=lambda *event: seen.append(event))

    assert seen[-1][:2] == (27, 27)
    assert [done for done, _, _ in seen] == sorted({done for done, _, _ in seen})
    assert seen[1][2] - seen[0][2] == pytest.approx(1)


@pytest.mark.looptime
async def test_progress_of_a_source_without_a_length_has_no_total():
    seen = []
    await BulkFetch(iter(keys(5)), Service().fetch, on_progress=lambda *event: seen.append(event))
    assert seen == [(5, None, 1.0)]


@pytest.mark.looptime
async def test_an_error_of_the_callback_ends_the_fetch():
    service = Service()

    def stop(*_):
        raise KeyboardInterrupt

    async def main():
        await BulkFetch(keys(50), service.fetch, batch_size=1, concurrency=5, on_progress=stop)

    with pytest.raises(KeyboardInterrupt):
        await main()
    assert service.in_flight == 0


@pytest.mark.looptime
async def test_an_error_of_the_source_ends_the_fetch():
    async def source():
        yield "A"
        raise OSError("the file is gone")

    with pytest.raises(OSError, match="gone"):
        await BulkFetch(source(), Service().fetch, batch_size=1)
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.looptime
async def test_leaving_the_loop_cancels_what_is_in_flight():
    service = Service()
    async for _ in BulkFetch(keys(100), service.fetch, batch_size=1, concurrency=5):
        break
    await settle()
    assert (service.in_flight, len(asyncio.all_tasks())) == (0, 1)
    assert service.cancelled == 5


@pytest.mark.looptime
async def test_leaving_the_block_cancels_what_is_in_flight_at_once():
    service = Service()
    async with BulkFetch(later(keys(100)), service.fetch, batch_size=1, concurrency=5) as fetch:
        async for _ in fetch:
            break
        assert len(asyncio.all_tasks()) > 1
    assert service.in_flight == 0
    await settle()
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.looptime
async def test_leaving_the_block_ends_an_iteration_that_goes_on():
    async with BulkFetch(keys(100), Service().fetch, batch_size=1, concurrency=5) as fetch:
        pairs = aiter(fetch)
        await anext(pairs)
    rest = [pair async for pair in pairs]
    assert len(rest) < 5


@pytest.mark.looptime
async def test_closing_it_from_another_task_ends_the_iteration():
    service, pairs = Service(latency=10), []
    fetch = BulkFetch(later(keys(100), every=0.1), service.fetch, batch_size=1, concurrency=3)

    async def consume():
        async for pair in fetch:
            pairs.append(pair)

    consumer = asyncio.create_task(consume())
    await asyncio.sleep(25)
    await fetch.aclose()
    await consumer
    assert len(pairs) == 6
    assert (service.in_flight, len(asyncio.all_tasks())) == (0, 1)


@pytest.mark.looptime
async def test_cancelling_the_caller_leaves_nothing_behind():
    service, closed = Service(latency=10), []

    async def source():
        try:
            for key in itertools.count():
                yield str(key)
        finally:
            closed.append(True)

    async def main():
        await BulkFetch(source(), service.fetch, batch_size=1)

    caller = asyncio.create_task(main())
    await asyncio.sleep(25)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert (service.in_flight, len(asyncio.all_tasks()), closed) == (0, 1, [True])


@pytest.mark.looptime
async def test_it_runs_once():
    fetch = BulkFetch(keys(3), Service().fetch)
    await fetch
    with pytest.raises(RuntimeError, match="runs once"):
        await fetch
    with pytest.raises(RuntimeError, match="runs once"):
        aiter(fetch)


@pytest.mark.looptime
async def test_a_block_that_never_asks_is_fine():
    async with BulkFetch(keys(3), Service().fetch):
        pass


def test_one_string_is_not_a_list_of_symbols():
    with pytest.raises(errors.InvalidRequestError, match="'AAPL'"):
        BulkFetch("AAPL", Service().fetch)


@pytest.mark.parametrize("bound", ["concurrency", "batch_size", "batch_length"])
def test_bounds_are_positive(bound):
    for wrong in (0, -1, None, "8", 1.5, True):
        with pytest.raises(errors.ConfigurationError, match=bound):
            BulkFetch([], Service().fetch, **{bound: wrong})


@pytest.mark.parametrize("keys", [5, None, b"AAPL", [1], ("AAPL", None), {1}, 1.5], ids=repr)
def test_keys_are_an_iterable_of_texts(keys):
    with pytest.raises(errors.InvalidRequestError, match=r"symbol.*not (int|bytes|NoneType|the one string|float)"):
        BulkFetch(keys, Service().fetch)


@pytest.mark.looptime
async def test_a_wrong_key_in_a_stream_is_found_before_it_is_asked():
    service = Service()
    with pytest.raises(errors.InvalidRequestError, match="not int 7"):
        await BulkFetch(iter(["A", 7]), service.fetch)
    assert service.batches == []


def test_progress_is_told_to_something_that_can_be_called():
    with pytest.raises(errors.ConfigurationError, match="on_progress"):
        BulkFetch([], Service().fetch, on_progress=5)


@pytest.mark.parametrize("name", ["fetch", "length", "verdict"])
def test_functions_are_checked_when_the_fetch_is_made(name):
    with pytest.raises(errors.ConfigurationError, match=name):
        BulkFetch(**{"keys": [], "fetch": Service().fetch, name: 5})


@pytest.mark.parametrize("name", ["length", "verdict", "on_progress"])
def test_what_is_called_and_not_awaited_is_no_coroutine_function(name):
    with pytest.raises(errors.ConfigurationError, match=name):
        BulkFetch([], Service().fetch, **{name: Service().fetch})


@pytest.mark.looptime
async def test_no_more_lanes_than_keys():
    fetch = BulkFetch(keys(3), Service().fetch, concurrency=10**9, batch_size=1)
    async with fetch:
        async for _ in fetch:
            assert len(asyncio.all_tasks()) <= 1 + 3


@pytest.mark.looptime
async def test_once_closed_it_asks_for_nothing():
    service = Service()
    fetch = BulkFetch(keys(3), service.fetch)
    await fetch.aclose()
    assert [pair async for pair in fetch] == []
    assert service.batches == []


@pytest.mark.looptime
async def test_a_result_that_was_cut_short_is_not_taken_for_a_whole_one():
    fetch = BulkFetch(keys(100), Service(latency=10).fetch, batch_size=1, concurrency=3)

    async def main():
        return await fetch

    whole = asyncio.create_task(main())
    await asyncio.sleep(25)
    await fetch.aclose()
    with pytest.raises(RuntimeError, match="closed before every key was answered"):
        await whole
    assert len(asyncio.all_tasks()) == 1
