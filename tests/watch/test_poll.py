"""Changes that a watcher reports, with their fields, and how it is closed."""

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any
from unittest.mock import AsyncMock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async.models import QuoteAlert
from brokerage_async.watch.diff import UNCHANGED, Change, ChangeKind, change_of, keyed
from brokerage_async.watch.feed import Cursor, Feed, Schedule
from brokerage_async.watch.poll import Watcher, poll
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.protocol.values import raised
from tests.tables import for_each
from tests.watch.scripted_service import NOON, quiet

Item = tuple[str, int]
first = itemgetter(0)
pytestmark = pytest.mark.virtual_time


def loop_clock() -> datetime:
    return NOON + timedelta(seconds=asyncio.get_running_loop().time())


class Script:
    """A fetch that returns one scripted answer after another, and then the last one again and again."""

    def __init__(self, *answers: dict[str, int] | BaseException | Any, takes: float = 0.0) -> None:
        self.answers = list(answers)
        self.takes = takes
        self.starts: list[float] = []
        self.in_flight = 0
        self.cancelled = 0

    async def __call__(self) -> Iterable[Item] | Any:
        self.starts.append(asyncio.get_running_loop().time())
        self.in_flight += 1
        assert self.in_flight == 1
        try:
            await asyncio.sleep(self.takes)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return list(answer.items()) if isinstance(answer, dict) else answer


def watch(script: Callable[[], Any], interval: Any = 1.0, **options: Any) -> Watcher[Item]:
    return poll(script, key=first, interval=interval, now=loop_clock, **options)


def brief(change: Change[Item]) -> tuple[str, str, int | None, int | None]:
    before, after = change.before, change.after
    return change.kind.value, change.key, before and before[1], after and after[1]


async def take(watcher: Watcher[Item], count: int) -> list[tuple[str, str, int | None, int | None]]:
    return [brief(await anext(watcher)) for _ in range(count)]


async def test_poll_collection_becomes_a_stream_of_changes() -> None:
    script = Script({"a": 1, "b": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1, "c": 1}, {"a": 2, "c": 1})
    async with watch(script) as watcher:
        assert await take(watcher, 2) == [("added", "a", None, 1), ("added", "b", None, 1)]
        assert await take(watcher, 2) == [("changed", "a", 1, 2), ("added", "c", None, 1)]
        change = await anext(watcher)
        assert brief(change) == ("removed", "b", 1, None)
        assert change.at == NOON + timedelta(seconds=3)
        assert watcher.snapshot == {"a": ("a", 2), "c": ("c", 1)}
        await quiet(watcher)
    assert script.starts[:13] == list(range(13))


SEED = [("a", 1), ("b", 1), ("c", 1)]
SINCE_THEN = [("changed", "b", 1, 2), ("added", "d", None, 1), ("removed", "c", 1, None)]


@for_each(
    "answers, options, expected",
    [
        ([{"a": 1}, {"a": 2}], {"initial": False}, [("changed", "a", 1, 2)]),
        ([{"a": 1, "b": 2, "d": 1}], {"initial": False, "seed": SEED}, SINCE_THEN),
        ([{"a": 1, "b": 2, "d": 1}], {"seed": {item[0]: item for item in SEED}}, SINCE_THEN),  # a snapshot
        ([{"a": 1}, UNCHANGED, UNCHANGED, {"a": 2}], {}, [("added", "a", None, 1), ("changed", "a", 1, 2)]),
    ],
)
async def test_poll_initial_seed_or_unchanged_reports_later_changes(
    answers: list[Any], options: dict[str, Any], expected: list[Any]
) -> None:
    async with watch(Script(*answers), **options) as watcher:
        assert await take(watcher, len(expected)) == expected
        await quiet(watcher)


@for_each(
    "takes, expected",
    [(0.0, [0, 1, 2, 3, 4]), (0.9, [0, 1, 2, 3, 4]), (1.2, [0, 1.2, 3, 4.2, 6]), (2.5, [0, 3, 6, 9, 12])],
)
@on_virtual_time
async def test_poll_slow_fetches_stay_on_the_grid(takes: float, expected: list[float]) -> None:
    script = Script({}, takes=takes)
    async with watch(script) as watcher:
        await quiet(watcher, 15)
    assert script.starts[:5] == pytest.approx(expected)


async def test_poll_jitter_is_bounded_and_does_not_add_up() -> None:
    script = Script({})
    async with watch(script, jitter=0.5) as watcher:
        await quiet(watcher, 200)
    late = [start - tick for tick, start in enumerate(script.starts)]
    assert len(late) in (200, 201)
    assert min(late) >= 0
    assert 0.3 < max(late) <= 0.5


async def test_poll_pacing_function_is_called_after_every_poll() -> None:
    script, pace = Script({}), AsyncMock(side_effect=[1.0, 5.0, 0.5, *[100.0] * 9])
    async with watch(script, interval=pace, min_interval=1.0) as watcher:
        await quiet(watcher, 50)
    assert script.starts == [0, 1, 6, 7]


async def test_poll_transient_failures_are_reported_and_back_off() -> None:
    failures: list[Exception] = []
    outage = errors.ServerError("down", status=502)
    limited = errors.RateLimitError("slowly", status=429, retry_after=30)
    script = Script({"a": 1}, outage, outage, outage, limited, {"a": 2}, outage, {"a": 3})
    async with watch(script, on_error=failures.append) as watcher:
        assert await take(watcher, 3) == [("added", "a", None, 1), ("changed", "a", 1, 2), ("changed", "a", 2, 3)]
    assert failures == [outage, outage, outage, limited, outage]
    assert script.starts == [0, 1, 2, 4, 8, 38, 39, 40]


async def test_poll_failures_are_logged_without_their_message(caplog: pytest.LogCaptureFixture) -> None:
    outage = errors.ServerError("says too much", status=502, operation="orders.live")
    with caplog.at_level(logging.WARNING, "brokerage_async.watch"):
        async with watch(Script(outage, {"a": 1})) as watcher:
            await take(watcher, 1)
    assert "ServerError orders.live 502" in caplog.text
    assert "too much" not in caplog.text


@for_each(
    "error",
    [errors.PermissionDeniedError("no"), errors.NotFoundError("none"), errors.TokenError("dead"), KeyError("bug")],
)
@on_virtual_time
async def test_poll_fatal_failure_ends_after_the_due_changes(error: Exception) -> None:
    script = Script({"a": 1, "b": 1}, error)
    watcher = watch(script)
    assert await take(watcher, 1) == [("added", "a", None, 1)]
    await asyncio.sleep(5)
    assert await take(watcher, 1) == [("added", "b", None, 1)]
    caught = await raised_by(anext(watcher), type(error))
    assert caught is error
    await raised_by(anext(watcher), StopAsyncIteration)
    assert script.starts == [0, 1]


async def test_poll_rejected_tokens_count_only_in_a_row() -> None:
    refused, outage = errors.AuthenticationError("no", status=401), errors.ServerError("down", status=502)
    answers = [*[refused] * 9, outage, *[refused] * 9, {"a": 1}, *[refused] * 10]
    async with watch(Script(*answers), max_backoff=1.0, on_error=lambda error: None) as watcher:
        assert await take(watcher, 1) == [("added", "a", None, 1)]
        await raised_by(anext(watcher), errors.AuthenticationError)


async def test_poll_function_that_raises_ends_the_iteration() -> None:
    def enough(error: Exception) -> None:
        raise error

    script = Script(errors.ServerError("down", status=502))
    await raised_by(anext(watch(script, on_error=enough)), errors.ServerError, "down")
    assert script.starts == [0]
    await raised_by(anext(poll(Script({"a": 1}), key=lambda item: 1 // 0, interval=1)), ZeroDivisionError)
    for error, kind in ((StopAsyncIteration(), RuntimeError), (GeneratorExit(), GeneratorExit)):
        await raised_by(anext(watch(Script(error))), kind)


async def test_poll_slow_consumer_gets_the_latest_state() -> None:
    counter = 0

    async def fetch() -> list[Item]:
        nonlocal counter
        counter += 1
        return [("a", counter), ("b", 1), (f"n{counter}", 1)]

    async with watch(fetch) as watcher:
        assert await take(watcher, 2) == [("added", "a", None, 1), ("added", "b", None, 1)]
        await asyncio.sleep(100.5)
        assert await take(watcher, 2) == [("changed", "a", 1, 101), ("added", "n101", None, 1)]
        await asyncio.sleep(0.1)
        changes = [("changed", "a", 101, 102), ("added", "n102", None, 1), ("removed", "n101", 1, None)]
        assert await take(watcher, 3) == changes


def is_nine(item: Item) -> bool:
    return item[1] == 9


async def test_watcher_keep_reports_the_last_state_of_removed_items_though_newer_states_come() -> None:
    script = Script({"a": 1, "c": 1, "e": 1}, {"a": 9, "b": 9, "c": 9, "e": 2}, {}, {"d": 1})
    feed = Feed(script, key=first, schedule=Schedule(interval=1.0), keep=is_nine)
    async with Watcher[Item]({"": Cursor(feed)}) as watcher:
        await take(watcher, 3)
        await asyncio.sleep(2.5)
        assert await take(watcher, 1) == [("changed", "a", 1, 9)]
        await asyncio.sleep(1)
        assert await take(watcher, 7) == [
            ("added", "b", None, 9), ("removed", "b", 9, None), ("changed", "c", 1, 9), ("removed", "c", 9, None),
            ("added", "d", None, 1), ("removed", "a", 9, None), ("removed", "e", 1, None),
        ]  # fmt: skip
        await quiet(watcher)


async def test_watcher_without_initial_does_not_report_what_left_before_the_first_change() -> None:
    feed = Feed(Script({"a": 9}, {}, {"b": 1}), key=first, schedule=Schedule(interval=1.0), keep=is_nine)
    late_one = Cursor[Item](feed, initial=False)
    async with Watcher[Item]({"": Cursor(feed)}), Watcher[Item]({"": late_one}) as late:
        feed.begin()
        await asyncio.sleep(1.5)
        assert await take(late, 1) == [("added", "b", None, 1)]


async def test_poll_large_collection_does_not_block_the_loop() -> None:
    turns = fetched = 0

    async def other_work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def fetch() -> list[Item]:
        nonlocal fetched
        fetched = turns
        return [(f"k{number}", number) for number in range(20_000)]

    working = asyncio.create_task(other_work())
    async with watch(fetch) as watcher:
        await anext(watcher)
    working.cancel()
    assert turns - fetched >= 19


@for_each("turns", range(8))
async def test_watcher_cancelled_at_the_error_raises_it_next_time(turns: int) -> None:
    broken = asyncio.Event()

    async def fetch() -> list[Item]:
        await broken.wait()
        raise errors.NotFoundError("gone")

    watcher = poll(fetch, key=first, interval=1)
    waiting = asyncio.create_task(anext(watcher))  # type: ignore[arg-type]
    await asyncio.sleep(1)
    broken.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    waiting.cancel()
    reported = (await asyncio.gather(waiting, return_exceptions=True))[0]
    if isinstance(reported, asyncio.CancelledError):
        await raised_by(anext(watcher), errors.NotFoundError)
    else:
        assert isinstance(reported, errors.NotFoundError)
    await raised_by(anext(watcher), StopAsyncIteration)


async def test_aclose_cancels_a_poll_under_way() -> None:
    script = Script({"a": 1}, takes=1000)
    watcher = watch(script)
    waiting = asyncio.create_task(anext(watcher))  # type: ignore[arg-type]
    await asyncio.sleep(5)
    await watcher.aclose()
    await watcher.aclose()
    assert (asyncio.get_running_loop().time(), script.cancelled, script.in_flight) == (5, 1, 0)
    await raised_by(anext(watcher), StopAsyncIteration)
    await raised_by(waiting, StopAsyncIteration)


async def test_aclose_ends_a_fetch_that_swallows_its_cancellation() -> None:
    async def fetch() -> list[Item]:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(10)
        return [("a", 1)]

    async with watch(fetch, interval=3600) as watcher:
        await quiet(watcher, 1)
    assert asyncio.get_running_loop().time() == 1


async def test_watcher_cancelled_wait_loses_no_change() -> None:
    script = Script({"a": 1}, {"a": 2}, takes=0.5)
    async with watch(script) as watcher:
        await quiet(watcher, 0.3)
        assert asyncio.get_running_loop().time() == pytest.approx(0.3)
        await asyncio.sleep(0.5)
        assert await take(watcher, 1) == [("added", "a", None, 1)]
        await quiet(watcher, 0.3)
        assert await take(watcher, 1) == [("changed", "a", 1, 2)]


async def test_watcher_loop_cancelled_from_outside_raises() -> None:
    async with watch(Script({"a": 1})) as watcher:
        await take(watcher, 1)
        (task,) = [task for task in asyncio.all_tasks() if "poll" in task.get_name()]
        task.cancel()
        await raised_by(anext(watcher), errors.BrokerageError, "cancelled")


async def test_watchers_of_one_feed_share_polls_and_error() -> None:
    script = Script({"a": 1}, {"a": 2}, errors.NotFoundError("gone"))
    feed = Feed(script, key=first, schedule=Schedule(interval=1.0), now=loop_clock)
    watchers = [Watcher[Item]({"": Cursor(feed)}) for _ in range(500)]

    async def consume(watcher: Watcher[Item]) -> list[Any]:
        changes = await take(watcher, 2)
        for error in await asyncio.gather(anext(watcher), anext(watcher), return_exceptions=True):
            assert isinstance(error, errors.NotFoundError)
            assert len(traceback.extract_tb(error.__traceback__)) < 20
        return changes

    results = await asyncio.gather(*map(consume, watchers))
    assert results == [[("added", "a", None, 1), ("changed", "a", 1, 2)]] * 500
    assert script.starts == [0, 1, 2]
    assert feed.ended


async def test_watcher_attached_late_starts_with_the_known_state() -> None:
    feed = Feed(Script({"a": 1}), key=first, schedule=Schedule(interval=100.0))
    async with Watcher[Item]({"": Cursor(feed)}) as early:
        await take(early, 1)
        async with Watcher[Item]({"": Cursor(feed)}) as late:
            assert await asyncio.wait_for(take(late, 1), 1) == [("added", "a", None, 1)]
        async with Watcher[Item]({"": Cursor(feed, initial=False)}) as silent:
            await quiet(silent, 1)


Steps = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3), max_size=4) | st.just("fail"),
        st.floats(0, 4),  # how long the consumer is busy after each change
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(Steps, st.floats(0, 2.5))
async def test_poll_changes_lead_to_the_last_state_at_any_pace(steps: list[Any], takes: float) -> None:
    answers = [errors.ServerError(status=502) if state == "fail" else state for state, _ in steps]
    states = [state for state, _ in steps if state != "fail"] or [{}]
    busy = iter([seconds for _, seconds in steps] * 100)
    known: dict[str, int] = {}
    script = Script(*answers, states[-1], takes=takes)
    async with watch(script, max_backoff=2.0, on_error=lambda error: None) as watcher:
        while True:
            try:
                change = await asyncio.wait_for(anext(watcher), 90)  # longer than all failures of a script
            except TimeoutError:
                break
            before, after = change.before, change.after
            assert known.get(change.key) == (before and before[1])
            known.pop(change.key, None)
            if after is not None:
                known[change.key] = after[1]
            assert {key: item[1] for key, item in watcher.snapshot.items()} == known
            await asyncio.sleep(next(busy))
    assert known == states[-1]


@for_each("name, wrong", [
        ("fetch", None), ("fetch", []), ("key", "id"), ("key", asyncio.sleep), ("now", NOON), ("fatal", True),
        ("fatal", asyncio.sleep), ("on_error", "log"), ("on_error", asyncio.sleep), ("seed", 5), ("seed", [5]),
        ("seed", {"1": None}), ("state must", "watch.db"), ("interval", "1"), ("min_interval", -1), ("jitter", 2),
        ("max_backoff", None), ("initial", "false"),
    ])  # fmt: skip
async def test_poll_invalid_argument_raises_at_once(name: str, wrong: object) -> None:
    usable: dict[str, Any] = {"fetch": Script({}), "key": first, "interval": 1.0, "name": "things"}
    raised(errors.ConfigurationError, poll, match=name, **usable | {name.split()[0]: wrong})


pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)))


@given(pairs, pairs)
def test_keyed_equal_items_keep_their_objects(old: Any, new: Any) -> None:
    before = keyed(old, lambda item: item[0])
    after = keyed(new, lambda item: item[0], before)
    assert after == {key: (key, value) for key, value in new}
    assert all(item is before[key] for key, item in after.items() if before.get(key) == item)
    assert all(item is after[key] for key, item in keyed(new, lambda item: item[0], after).items())


def test_change_has_fields_and_item() -> None:
    old, new = QuoteAlert(symbol="A", created_at=NOON), QuoteAlert(symbol="A", triggered_at=NOON, threshold="5")
    change = Change(kind=ChangeKind.CHANGED, key=1, before=old, after=new, at=NOON)
    assert (set(change.fields), change.item) == ({"created_at", "triggered_at", "threshold"}, new)
    gone = Change(kind=ChangeKind.REMOVED, key=1, before=old, after=None, at=NOON)
    assert (gone.fields, gone.item) == ((), old)
    assert change_of(1, {"a": 1, "b": 2}, {"b": 3, "c": 4}, NOON).fields == ("a", "b", "c")
    assert change_of(1, 1, 2, NOON).fields == change_of(1, old, {}, NOON).fields == ()
