"""Scripts of the token store on a real engine: who has the turn, and that a lost turn keeps nothing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from brokerage_async.auth.store import StoredToken
from brokerage_async.errors import TokenError
from brokerage_async.fleet import Fleet, RedisTokenStore
from brokerage_async.fleet.fleet import Script
from brokerage_async.fleet.tokens import END, JOIN, KEPT, PUBLISH, RENEW
from tests.fleet.engines import EngineServer, missing

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


async def test_process_paused_beyond_its_lease_adopts_the_token_of_its_successor(server: EngineServer) -> None:
    async with Fleet(server.url, name="desk") as one, Fleet(server.url, name="desk") as two:
        paused = await RedisTokenStore(one, lease=0.1).join("k", rejected=None, due=None)
        assert not isinstance(paused, StoredToken | TokenError)
        paused._renewal.cancel()  # type: ignore[attr-defined]
        successor = await RedisTokenStore(two, lease=5).join("k", rejected=None, due=None)
        assert not isinstance(successor, StoredToken | TokenError)
        early = StoredToken("early", 2e9)
        assert await paused.publish(early) is early  # not shared: the successor is at work
        await successor.publish(StoredToken("newer", 2e9))
        late = await paused.publish(StoredToken("late", 2e9))
        assert late.access_token.reveal() == "newer"
        found = await RedisTokenStore(one).join("k", rejected=None, due=None)
        assert isinstance(found, StoredToken)
        assert found.access_token.reveal() == "newer"


class State:
    """State of one token. The test runs the scripts on it for several workers."""

    def __init__(self, fleet: Fleet) -> None:
        self._connection = fleet.connection
        self._key = fleet.connection.key("token", "scripts")

    async def join(self, turn: str, *, least: int = 30_000, rejected: str = "", due: str = "") -> Any:
        return await self.run(JOIN, turn, 5000, least, rejected, due)

    async def publish(self, turn: str, token: str, *, life: int = 900_000) -> Any:
        return await self.run(PUBLISH, turn, token, f"digest of {token}", life)

    async def run(self, script: Script, *arguments: str | float) -> Any:
        return await self._connection.script(script, [self._key], arguments)

    async def set(self, **fields: str | float) -> None:
        pairs = [word for pair in fields.items() for word in pair]
        await self._connection.command("HSET", self._key, *pairs)

    async def lifetime(self) -> int:
        return int(await self._connection.command("PTTL", self._key))


@pytest.fixture
async def state(server: EngineServer) -> AsyncIterator[State]:
    async with Fleet(server.url) as fleet:
        yield State(fleet)


async def test_join_gives_one_turn_at_a_time(state: State) -> None:
    assert await state.join("one") == [b"turn"]
    assert await state.join("one") == [b"turn"], "its answer may have been lost"
    what, left = await state.join("two")
    assert what == b"wait"
    assert 4000 < left <= 5000


@pytest.mark.parametrize("arguments", [(), ("why", 60_000)], ids=["released", "failed"])
async def test_turn_ends_for_its_holder_only(state: State, arguments: tuple[str | float, ...]) -> None:
    await state.join("one")
    assert await state.run(END, "two", *arguments) == 0
    assert (await state.join("two"))[0] == b"wait"
    assert await state.run(END, "one", *arguments) == 1
    assert (await state.join("two"))[0] == (b"failed" if arguments else b"turn")
    assert await state.run(END, "one", *arguments) == 0, "it is over"


async def test_renew_extends_the_turn_of_its_holder_only(state: State) -> None:
    await state.join("one")
    assert await state.run(RENEW, "two", 9000) == 0
    assert (await state.join("two"))[1] <= 5000
    assert await state.run(RENEW, "one", 9000) == 1
    assert (await state.join("two"))[1] > 5000


async def test_failure_spares_the_others_and_ends_with_the_next_token(state: State) -> None:
    await state.join("one")
    await state.run(END, "one", "why", 60_000)
    what, failure, pause = await state.join("two")
    assert (what, failure) == (b"failed", b"why")
    assert 59_000 < pause <= 60_000
    assert await state.publish("", "t1") == [1]
    assert (await state.join("two"))[:2] == [b"token", b"t1"]


async def test_published_token_is_handed_out_while_it_lives_long_enough(state: State) -> None:
    await state.join("one")
    assert await state.publish("one", "t1") == [1]
    what, token, life, digest = await state.join("two")
    assert (what, token, digest) == (b"token", b"t1", b"digest of t1")
    assert 890_000 < life <= 900_000
    assert await state.join("two", least=900_001) == [b"turn"]


async def test_join_token_that_is_due_is_renewed_and_kept_for_the_others(state: State) -> None:
    await state.publish("", "t1")
    assert await state.join("two", due="digest of t1") == [b"turn"]
    assert (await state.join("three"))[:2] == [b"token", b"t1"]


async def test_join_token_that_was_rejected_is_dropped_for_all(state: State) -> None:
    await state.publish("", "t1")
    assert (await state.join("one", rejected="digest of t0"))[:2] == [b"token", b"t1"]
    assert await state.join("one", rejected="digest of t1") == [b"turn"]
    assert (await state.join("two"))[0] == b"wait"


async def test_publish_without_the_turn_keeps_nothing(state: State) -> None:
    await state.join("two")
    assert await state.publish("one", "late") == [0]
    assert await state.publish("two", "t1") == [1]
    refused, token, life = await state.publish("one", "late")
    assert (refused, token) == (0, b"t1")
    assert 890_000 < life <= 900_000


async def test_state_is_removed_some_time_after_its_token(state: State) -> None:
    await state.join("one")
    assert 86_000_000 < await state.lifetime() <= 86_400_000
    await state.publish("one", "t1", life=60_000)
    assert 60_000 + KEPT - 5000 < await state.lifetime() <= 60_000 + KEPT
    await state.publish("", "never ends", life=10**12)
    assert await state.lifetime() <= 86_400_000 + KEPT


@pytest.mark.parametrize("field", ["until", "resting", "expires"])
async def test_moment_from_before_the_clock_was_set_back_is_over(state: State, field: str) -> None:
    await state.set(turn="ghost", until=0, failure="why", token="t1", digest="digest of t1")
    await state.set(**{field: 4_000_000_000_000})
    assert await state.join("one") == [b"turn"]
