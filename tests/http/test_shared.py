"""State that all views of a client share: one event loop and one lifetime."""

import asyncio
from typing import Any

import attrs
import pytest

from brokerage_async.auth.manager import ProvidedTokens
from brokerage_async.config import Environment, Limits, RetryPolicy, StaticToken
from brokerage_async.errors import ConfigurationError, RequestNotSentError
from brokerage_async.http.limiter import LaneName, Limiter
from brokerage_async.http.shared import Engine, Options
from brokerage_async.observers import ObserverList
from brokerage_async.protocol.retry import RetryBudget
from tests.fake_transport import FakeTransport

pytestmark = pytest.mark.virtual_time


class Tokens(ProvidedTokens):
    def __init__(self, *, broken: bool = False) -> None:
        super().__init__(StaticToken("t"))
        self.broken = broken
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1
        if self.broken:
            raise ZeroDivisionError


def engine_of(transport: FakeTransport, tokens: Tokens | None = None, **limits: Any) -> Engine:
    environment, limiter = Environment.sandbox("https://a.example"), Limiter(Limits(**limits))
    return Engine(environment, transport, limiter, tokens or Tokens(), RetryBudget(None), ObserverList(()))


def test_it_belongs_to_the_loop_that_enters_first() -> None:
    engine = engine_of(FakeTransport())

    async def enter() -> asyncio.AbstractEventLoop:
        assert engine.enter() is engine.enter()
        return engine.enter()

    with asyncio.Runner() as first, asyncio.Runner() as second:
        assert first.run(enter()) is first.get_loop()
        with pytest.raises(ConfigurationError, match="belongs to the event loop that used it first"):
            second.run(enter())
        assert first.run(enter()) is first.get_loop()


async def test_closing_happens_once_is_final_and_turns_away_who_waits() -> None:
    transport, tokens = FakeTransport(), Tokens()
    engine = engine_of(transport, tokens, reads=1)
    engine.enter()
    lane = engine.limiter[LaneName.READS]
    assert lane.try_acquire(0.0)
    waiting = asyncio.create_task(lane.acquire())
    await asyncio.sleep(0)
    await engine.close()
    await engine.close()
    assert (transport.closed, tokens.closed, engine.closed) == (1, 1, True)
    with pytest.raises(RequestNotSentError, match="the client was closed"):
        await waiting
    with pytest.raises(ConfigurationError, match="the client is closed"):
        engine.enter()


async def test_connections_are_released_also_when_the_tokens_fail_to_close() -> None:
    transport = FakeTransport()
    engine = engine_of(transport, Tokens(broken=True))
    with pytest.raises(ZeroDivisionError):
        await engine.close()
    assert (transport.closed, engine.closed) == (1, True)


def test_options_are_a_value_and_show_no_header_of_a_call() -> None:
    options = Options(timeout=1.0, deadline=None, retry=RetryPolicy(), headers={"User-Agent": "a/1"})
    assert options == attrs.evolve(options)
    assert hash(options) == hash(attrs.evolve(options, headers={}))
    assert (options.strict, options.read_only) == (False, False)
