"""Buffers of slow consumers."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async.errors import ConfigurationError
from brokerage_async.protocol.streams.events import MARKET_EVENTS, AccountEvent, Gap
from brokerage_async.stream.policies import (
    MARKET_POLICIES,
    BufferFullError,
    Conflate,
    DropOldest,
    EventBuffer,
    Fail,
    account_policies,
)  # fmt: skip

GAP = Gap(since=None, reason="test")


def quote(symbol: str, sequence: int) -> models.Quote:
    return models.Quote(event_symbol=symbol, sequence=sequence)


def trade(symbol: str, sequence: int) -> models.Trade:
    return models.Trade(event_symbol=symbol, sequence=sequence)


def drained(buffer: EventBuffer) -> list[Any]:
    return [buffer.get() for _ in range(len(buffer))]


def test_quotes_are_conflated_by_symbol_and_keep_their_turn() -> None:
    buffer = EventBuffer(MARKET_POLICIES)
    for event in (quote("A", 1), quote("B", 2), quote("A", 3)):
        buffer.put(event)
    assert drained(buffer) == [quote("A", 3), quote("B", 2)]
    assert buffer.dropped == 0
    with pytest.raises(IndexError):
        buffer.get()


def test_trades_are_dropped_oldest_first_and_counted() -> None:
    buffer = EventBuffer({**MARKET_POLICIES, models.Trade: DropOldest(limit=2)})
    for event in (trade("A", 1), quote("A", 2), trade("A", 3), trade("A", 4), trade("B", 5)):
        buffer.put(event)
    assert drained(buffer) == [trade("A", 4), quote("A", 2), trade("B", 5)]
    assert buffer.dropped == 2


def test_account_events_are_never_dropped() -> None:
    buffer = EventBuffer(account_policies(2))
    buffer.put(AccountEvent(type="Order", data=1))
    buffer.put(AccountEvent(type="Order", data=2))
    with pytest.raises(BufferFullError):
        buffer.put(AccountEvent(type="Order", data=3))
    assert [event.data for event in drained(buffer)] == [1, 2]


def test_gaps_in_a_row_are_one() -> None:
    buffer = EventBuffer(MARKET_POLICIES)
    for _ in range(3):
        buffer.put_gap(GAP)
    buffer.put(quote("A", 1))
    buffer.put_gap(GAP)
    assert drained(buffer) == [GAP, quote("A", 1), GAP]


def test_every_market_event_has_a_policy() -> None:
    assert MARKET_POLICIES.keys() >= set(MARKET_EVENTS.values())
    assert MARKET_POLICIES[models.Quote] == Conflate()
    assert isinstance(MARKET_POLICIES[models.Candle], DropOldest)


@pytest.mark.parametrize("policy", [DropOldest, Fail])
def test_limits_are_positive(policy: Any) -> None:
    with pytest.raises(ConfigurationError, match="limit must be an integer of at least 1"):
        policy(limit=0)


@given(st.lists(st.tuples(st.sampled_from(["quote", "trade", "gap", "get"]), st.sampled_from("AB")), max_size=60))
def test_buffer_is_bounded_and_in_order_per_type(steps: list[tuple[str, str]]) -> None:
    buffer = EventBuffer({**MARKET_POLICIES, models.Trade: DropOldest(limit=3)})
    trades: deque[Any] = deque()
    latest: dict[str, Any] = {}
    for number, (step, symbol) in enumerate(steps):
        if step == "quote":
            latest[symbol] = quote(symbol, number)
            buffer.put(latest[symbol])
        elif step == "trade":
            trades.append(trade(symbol, number))
            buffer.put(trades[-1])
            if len(trades) > 3:
                trades.popleft()
        elif step == "gap":
            buffer.put_gap(GAP)
        elif len(buffer):
            got = buffer.get()
            if isinstance(got, models.Trade):
                assert got == trades.popleft()
            elif isinstance(got, models.Quote):
                assert got == latest.pop(str(got.event_symbol))
        assert len(buffer) <= 2 * (3 + 2) + 1
    rest = drained(buffer)
    assert [each for each in rest if isinstance(each, models.Trade)] == list(trades)
    assert {each.event_symbol: each for each in rest if isinstance(each, models.Quote)} == latest
