"""Sinks: order of events, gaps, errors and the end."""

from collections.abc import Callable
from datetime import UTC, datetime

from brokerage_async.errors import SlowConsumerError
from brokerage_async.protocol.streams.events import AccountEvent, Gap
from brokerage_async.stream.consumer import Sink
from brokerage_async.stream.policies import Fail

NOW = datetime(2026, 6, 10, tzinfo=UTC)


def event(number: int) -> AccountEvent:
    return AccountEvent(type="Order", data=number)


def test_first_loss_counts_until_the_connection_is_up_again() -> None:
    sink = Sink({AccountEvent: Fail(limit=10)})
    sink.resume()
    sink.put(event(1))
    sink.lose(NOW, "first")
    sink.lose(None, "second")
    sink.resume()
    sink.resume()
    assert [sink.buffer.get() for _ in range(len(sink.buffer))] == [event(1), Gap(since=NOW, reason="first")]


def test_full_sink_keeps_its_events_and_its_first_error() -> None:
    sink = Sink({AccountEvent: Fail(limit=1)})
    sink.now = lambda: NOW
    for number in range(3):
        sink.put(event(number))
    sink.fail(ValueError("later"))
    assert isinstance(sink.error, SlowConsumerError)
    assert sink.error.since == NOW
    assert sink.buffer.get() == event(0)


def test_held_gap_is_released_by_the_end_of_the_subscriptions_or_of_the_stream() -> None:
    releases: list[Callable[[Sink], None]] = [
        lambda sink: sink.release(), lambda sink: sink.lose(NOW, "again"), lambda sink: sink.fail(ValueError()),
        lambda sink: sink.close(),
    ]  # fmt: skip
    for release in releases:
        sink = Sink({AccountEvent: Fail(limit=10)})
        sink.lose(NOW, "first")
        sink.resume(held=True)
        assert (sink.is_held, len(sink.buffer)) == (True, 1)
        release(sink)
        assert not sink.is_held


def test_closed_sink_is_empty() -> None:
    sink = Sink({AccountEvent: Fail(limit=1)})
    sink.put(event(1))
    sink.close()
    assert (sink.is_closed, len(sink.buffer)) == (True, 0)
