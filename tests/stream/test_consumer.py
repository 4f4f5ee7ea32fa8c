"""Buffers and sinks: policies for slow consumers, order of events, gaps, errors and the end."""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async.errors import ConfigurationError, SlowConsumerError
from brokerage_async.protocol.streams.events import MARKET_EVENTS, AccountEvent, Gap, Snapshot
from brokerage_async.stream.consumer import (
    MARKET_POLICIES,
    BufferFullError,
    Conflate,
    DropOldest,
    EventBuffer,
    Fail,
    Sink,
)
from tests.protocol.values import raised
from tests.tables import for_each

GAP = Gap(since=None, reason="test")
SNAPSHOT = Snapshot(type=models.Candle, symbol="A{=m}", events=())


def quote(symbol: str, sequence: int) -> models.Quote:
    return models.Quote(event_symbol=symbol, sequence=sequence)


def trade(symbol: str, sequence: int) -> models.Trade:
    return models.Trade(event_symbol=symbol, sequence=sequence)


def drained(buffer: EventBuffer) -> list[Any]:
    return [buffer.get() for _ in range(len(buffer))]


TWO_TRADES = {**MARKET_POLICIES, models.Trade: DropOldest(limit=2)}


@for_each(
    "policies, events, waiting, dropped",
    [
        (MARKET_POLICIES, [quote("A", 1), quote("B", 2), quote("A", 3)], [quote("A", 3), quote("B", 2)], 0),
        (
            TWO_TRADES,
            [trade("A", 1), quote("A", 2), trade("A", 3), trade("A", 4), trade("B", 5)],
            [quote("A", 2), trade("A", 4), trade("B", 5)],
            2,
        ),
        (MARKET_POLICIES, [GAP, GAP, GAP, trade("A", 1), GAP], [GAP, trade("A", 1), GAP], 0),
        (
            TWO_TRADES,
            [trade("A", 1), GAP, trade("A", 2), GAP, trade("A", 3), GAP, trade("A", 4), GAP],
            [GAP, trade("A", 3), GAP, trade("A", 4), GAP],
            2,
        ),
        (TWO_TRADES, [SNAPSHOT, quote("A", 1), GAP, SNAPSHOT, quote("A", 2), GAP], [SNAPSHOT, quote("A", 1), GAP], 0),
    ],
)
def test_events_wait_as_their_policy_says(policies: Any, events: Any, waiting: Any, dropped: int) -> None:
    buffer = EventBuffer(policies)
    for event in events:
        (buffer.put_gap if event is GAP else buffer.put)(event)
    assert (drained(buffer), buffer.dropped) == (waiting, dropped)
    raised(KeyError, buffer.get)


def test_account_events_on_both_sides_of_a_gap_count() -> None:
    buffer = EventBuffer({AccountEvent: Fail(limit=2)})
    buffer.put(AccountEvent(type="Order", data=1))
    buffer.put_gap(GAP)
    buffer.put(AccountEvent(type="Order", data=2))
    raised(BufferFullError, buffer.put, AccountEvent(type="Order", data=3))
    assert buffer.get().data == 1
    buffer.put(AccountEvent(type="Order", data=4))
    assert [getattr(each, "data", None) for each in drained(buffer)] == [None, 2, 4]


def test_every_market_event_has_a_policy_and_limits_are_positive() -> None:
    assert MARKET_POLICIES.keys() >= set(MARKET_EVENTS.values())
    assert MARKET_POLICIES[models.Quote] == Conflate()
    assert isinstance(MARKET_POLICIES[models.Candle], DropOldest)
    for policy in (DropOldest, Fail):
        raised(ConfigurationError, policy, limit=0, match="limit must be an integer of at least 1")


@given(st.lists(st.tuples(st.sampled_from(["quote", "trade", "gap", "get"]), st.sampled_from("AB")), max_size=60))
def test_buffer_is_bounded_and_every_event_on_its_side_of_each_gap(steps: list[tuple[str, str]]) -> None:
    buffer = EventBuffer({**MARKET_POLICIES, models.Trade: DropOldest(limit=3)})
    trades: deque[Any] = deque()
    delivered: list[Any] = []
    gaps = 0
    for number, (step, symbol) in enumerate(steps):
        if step == "quote":
            buffer.put(quote(symbol, 1000 * gaps + number))
        elif step == "trade":
            trades.append(trade(symbol, 1000 * gaps + number))
            buffer.put(trades[-1])
        elif step == "gap":
            gaps += 1
            buffer.put_gap(Gap(since=None, reason=str(gaps)))
        elif len(buffer):
            delivered.append(buffer.get())
        assert len(buffer) <= (2 + 3 + 4) + (2 + 3)
    delivered += drained(buffer)
    got = [each for each in delivered if isinstance(each, models.Trade)]
    assert len(got) + buffer.dropped == len(trades)
    assert [each for each in trades if each in got] == got
    assert got[len(got) - min(3, len(trades)) :] == list(trades)[len(trades) - min(3, len(trades)) :]
    side, passed = 0, 0
    for each in delivered:
        if isinstance(each, Gap):
            passed = int(each.reason)
            assert passed > side
        else:
            assert side <= each.sequence // 1000
            assert passed > side or each.sequence // 1000 == side, "events of two sides without a gap between them"
            side = each.sequence // 1000
            assert passed <= side


NOW = datetime(2026, 6, 10, tzinfo=UTC)


def event(number: int) -> AccountEvent:
    return AccountEvent(type="Order", data=number)


def test_sink_lost_twice_reports_the_first_loss() -> None:
    sink = Sink({AccountEvent: Fail(limit=10)})
    sink.resume()
    sink.put(event(1))
    sink.lose(NOW, "first")
    sink.lose(None, "second")
    sink.resume()
    sink.resume()
    assert drained(sink.buffer) == [event(1), Gap(since=NOW, reason="first")]
    sink.put(event(1))
    sink.close()
    assert (sink.is_closed, len(sink.buffer)) == (True, 0)


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
