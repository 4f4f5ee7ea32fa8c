"""One token request for a fleet: leases, lost turns, rejected tokens, shared failures, and an engine that fails."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Self

import pytest

from brokerage_async.auth.manager import TokenManager
from brokerage_async.auth.store import StoredToken
from brokerage_async.config import AuthorizationCode, RefreshToken, RetryPolicy, Secret
from brokerage_async.errors import ConfigurationError, TokenError
from brokerage_async.fleet import Fleet, RedisTokenStore
from brokerage_async.fleet.fleet import Script
from brokerage_async.fleet.tokens import END, JOIN, KEPT, PUBLISH, RENEW
from brokerage_async.protocol.token import Grant
from tests.fleet.engines import EngineServer, missing
from tests.http.calls import raised_by

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

REFRESH = RefreshToken(client_secret="cs", refresh_token="rt")
POLICY = RetryPolicy(max_attempts=1, jitter=lambda: 0.5)
KEY = RedisTokenStore.generate_key() if missing() is None else Secret()


class Endpoint:
    """Token endpoint of the service: answers with ``t1``, ``t2``... that live 15 minutes, or fails."""

    def __init__(self, *, failure: TokenError | None = None, latency: float = 0.05) -> None:
        self.failure = failure
        self.latency = latency
        self.requests = 0

    async def __call__(self, credentials: RefreshToken | AuthorizationCode) -> Grant:
        self.requests += 1
        number = self.requests
        await asyncio.sleep(self.latency)
        if self.failure is not None:
            raise self.failure
        return Grant(access_token=Secret(f"t{number}"), expires_in=900.0)


class Processes:
    """Token managers that share the engine and the endpoint of the service, and nothing else."""

    def __init__(self, url: str, *, key: Secret | None = None, lease: float = 0.5, **endpoint: Any) -> None:
        self.endpoint = Endpoint(**endpoint)
        self._url, self._key, self._lease = url, key, lease
        self._fleets: list[Fleet] = []
        self._managers: list[TokenManager] = []
        self.command = self._fleet().connection.command

    def open(self, *, key: Secret | None = None) -> TokenManager:
        store = RedisTokenStore(self._fleet(), encryption_key=key or self._key, lease=self._lease)
        self._managers.append(TokenManager(REFRESH, self.endpoint, policy=POLICY, store=store, store_key="k" * 32))
        return self._managers[-1]

    async def state_key(self) -> bytes:
        (key,) = await self.command("KEYS", "*token*")
        return bytes(key)

    def _fleet(self) -> Fleet:
        self._fleets.append(Fleet(self._url, name="desk"))
        return self._fleets[-1]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in (*self._managers, *self._fleets):
            await (each.close() if isinstance(each, TokenManager) else each.aclose())


async def test_turn_is_held_for_less_than_its_lease_which_bounds_the_wait_of_the_others(server: EngineServer) -> None:
    async with Fleet(server.url, name="desk") as fleet:
        store = RedisTokenStore(fleet, lease=100)
        turn = await store.join("k", rejected=None, due=None)
        assert not isinstance(turn, StoredToken | TokenError)
        until = await fleet.connection.command("HGET", store._state("k"), "until")
        seconds, _ = await fleet.connection.command("TIME")
        assert 70 < int(until) / 1000 - int(seconds) <= 81
        await turn.release()


async def test_cold_processes_share_one_request_that_keeps_its_turn_however_slow(server: EngineServer) -> None:
    async with Processes(server.url, latency=1.2, lease=0.4) as fleet:
        found = await asyncio.gather(*(fleet.open().get() for _ in range(30)))
    assert (set(found), fleet.endpoint.requests) == ({Secret("Bearer t1")}, 1)


async def test_rejected_token_is_replaced_for_all_with_one_request(server: EngineServer) -> None:
    async with Processes(server.url) as fleet:
        managers = [fleet.open() for _ in range(5)]
        await asyncio.gather(*(each.get() for each in managers))
        assert managers[0].invalidate(Secret("Bearer t1"))
        assert await managers[0].get() == Secret("Bearer t2")
        for each in managers[1:]:
            each.invalidate(Secret("Bearer t1"))
        assert await asyncio.gather(*(each.get() for each in managers)) == [Secret("Bearer t2")] * 5
        assert await fleet.open().get() == Secret("Bearer t2")
    assert fleet.endpoint.requests == 2


@pytest.mark.parametrize("transient", [True, False])
async def test_failure_of_one_spares_the_others_the_same_request(server: EngineServer, transient: bool) -> None:
    failure = TokenError("no", transient=transient, status=503 if transient else 400)
    async with Processes(server.url, failure=failure, latency=0.2) as fleet:
        found = await asyncio.gather(*(fleet.open().get() for _ in range(10)), return_exceptions=True)
        assert all(isinstance(each, TokenError) and each.transient is transient for each in found)
        assert fleet.endpoint.requests == 1
        if transient:  # its pause is a second
            fleet.endpoint.failure = None
            await asyncio.sleep(1.1)
            assert await fleet.open().get() == Secret("Bearer t2")


async def test_closing_in_the_middle_passes_the_turn_on_at_once(server: EngineServer) -> None:
    async with Processes(server.url, latency=0.3, lease=30.0) as fleet:
        closing = fleet.open()
        task = asyncio.create_task(closing.get())
        await asyncio.sleep(0.1)
        other = asyncio.create_task(fleet.open().get())
        await asyncio.sleep(0.1)
        await closing.close()
        await raised_by(task, ConfigurationError)
        assert await asyncio.wait_for(other, 2) == Secret("Bearer t2")


async def test_cancellation_at_each_await_leaves_no_turn_behind(server: EngineServer) -> None:
    """A manager is closed after each number of steps of the event loop. The next one never waits for its lease."""
    for steps in range(0, 60, 2):
        async with Processes(server.url, latency=0.002, lease=30.0) as fleet:
            await fleet.command("FLUSHALL")
            closing = fleet.open()
            task = asyncio.create_task(closing.get())
            for _ in range(steps):
                await asyncio.sleep(0.0001)
            await closing.close()
            with contextlib.suppress(ConfigurationError):
                await task
            await asyncio.wait_for(fleet.open().get(), 1)


class TestSecrets:
    async def test_engine_sees_nothing_but_sealed_tokens(self, server: EngineServer) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"MONITOR\r\n")
        await reader.readline()
        async with Processes(server.url, key=KEY) as fleet:
            first = fleet.open()
            await first.get()
            first.invalidate(Secret("Bearer t1"))
            assert await first.get() == Secret("Bearer t2")
            assert await fleet.open().get() == Secret("Bearer t2")
        seen = b""
        with contextlib.suppress(TimeoutError):
            while True:
                seen += await asyncio.wait_for(reader.readline(), 0.2)
        writer.close()
        assert seen.count(b"EVALSHA") >= 4
        secrets = (b'"t1"', b'"t2"', b"Bearer", KEY.reveal().encode(), b'"cs"', b'"rt"')
        assert [secret for secret in secrets if secret in seen] == []

    async def test_processes_with_another_key_share_another_token(self, server: EngineServer) -> None:
        async with Processes(server.url) as fleet:
            for key in (None, KEY, RedisTokenStore.generate_key()):
                await asyncio.gather(*(fleet.open(key=key).get() for _ in range(3)))
        assert fleet.endpoint.requests == 3

    async def test_damaged_token_is_replaced(self, server: EngineServer) -> None:
        async with Processes(server.url, key=KEY) as fleet:
            await fleet.open().get()
            for damage in (b"junk", b""):
                await fleet.command("HSET", await fleet.state_key(), "token", damage)
                assert await fleet.open().get() == Secret(f"Bearer t{fleet.endpoint.requests}")
        assert fleet.endpoint.requests == 3


class TestEngineFailures:
    async def test_without_engine_each_process_requests_its_own(self) -> None:
        async with Processes("redis://127.0.0.1:1") as fleet:
            assert await fleet.open().get() == Secret("Bearer t1")
            assert await fleet.open().get() == Secret("Bearer t2")

    async def test_state_lost_in_the_middle_costs_at_most_one_more_request(self, server: EngineServer) -> None:
        async with Processes(server.url, latency=0.3) as fleet:
            tasks = [asyncio.create_task(fleet.open().get()) for _ in range(10)]
            await asyncio.sleep(0.15)
            await fleet.command("FLUSHALL")
            await asyncio.gather(*tasks)
            assert fleet.endpoint.requests <= 2
            assert await fleet.open().get() in {task.result() for task in tasks}

    async def test_engine_paused_while_a_request_is_under_way_delays_little(self, server: EngineServer) -> None:
        async with Processes(server.url, latency=0.2) as fleet:
            tasks = [asyncio.create_task(fleet.open().get()) for _ in range(3)]
            await asyncio.sleep(0.1)
            with server.paused():
                await asyncio.wait_for(asyncio.gather(*tasks), 6)

    async def test_keys_of_another_version_are_left_alone_and_a_wrong_type_worked_around(
        self, server: EngineServer
    ) -> None:
        async with Processes(server.url) as fleet:
            await fleet.open().get()
            key = await fleet.state_key()
            later = key.replace(b"}:1:", b"}:2:")
            await fleet.command("SET", later, "x")
            assert await fleet.open().get() == Secret("Bearer t1")
            await fleet.command("DEL", key)
            await fleet.command("LPUSH", key, "x")
            assert await fleet.open().get() == Secret("Bearer t2")
            assert await fleet.command("GET", later) == b"x"


async def test_status_says_how_the_token_is(server: EngineServer) -> None:
    async with Fleet(server.url) as fleet:
        store = RedisTokenStore(fleet, encryption_key=KEY)
        assert repr(store) == "RedisTokenStore('brokerage', TokenCipher(encrypted))"
        manager = TokenManager(REFRESH, Endpoint(), policy=POLICY, store=store, store_key="k")
        before = (await fleet.status()).parts["tokens"]
        assert (before.expires_in, before.turns) == (None, None)
        await manager.get()
        after = (await fleet.status()).parts["tokens"]
        assert (after.is_encrypted, after.is_refreshing, after.turns) == (True, False, 1)
        assert 890 < after.expires_in <= 901
        await manager.close()


async def test_refused_credentials_are_sent_once_by_the_fleet_until_they_change(server: EngineServer) -> None:
    refusal = TokenError("revoked", transient=False, status=400, code="invalid_grant")
    async with Processes(server.url, failure=refusal) as fleet:
        found = await asyncio.gather(*(fleet.open().get() for _ in range(5)), return_exceptions=True)
        assert all(isinstance(error, TokenError) and not error.transient for error in found)
        await fleet.command("DEL", await fleet.state_key())  # the shared pause is over
        for _ in range(3):
            with pytest.raises(TokenError, match=r"remove k+ from it to try the same credentials again") as caught:
                await fleet.open().get()
            assert (caught.value.status, caught.value.code) == (400, "invalid_grant")
    assert fleet.endpoint.requests == 1


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


@pytest.mark.parametrize("arguments", [(), ("why", 60_000)], ids=["released", "failed"])
async def test_turn_is_renewed_and_ended_by_its_holder_only(state: State, arguments: tuple[str | float, ...]) -> None:
    assert await state.join("one") == [b"turn"]
    assert await state.join("one") == [b"turn"], "its answer may have been lost"
    what, left = await state.join("two")
    assert what == b"wait"
    assert 4000 < left <= 5000
    assert [await state.run(RENEW, name, 9000) for name in ("two", "one")] == [0, 1]
    assert (await state.join("two"))[1] > 5000
    assert await state.run(END, "two", *arguments) == 0
    assert (await state.join("two"))[0] == b"wait"
    assert await state.run(END, "one", *arguments) == 1
    assert await state.run(END, "one", *arguments) == 0, "it is over"
    what, *failure = await state.join("two")
    if not arguments:
        assert what == b"turn"
        return
    assert (what, failure[0]) == (b"failed", b"why"), "the others are spared the same"
    assert 59_000 < failure[1] <= 60_000
    assert await state.publish("", "t1") == [1]
    assert (await state.join("two"))[:2] == [b"token", b"t1"], "the failure ends with the next token"


async def test_published_token_is_handed_out_while_it_lives_long_enough_and_is_not_due(state: State) -> None:
    await state.join("one")
    assert await state.publish("one", "t1") == [1]
    what, token, life, digest = await state.join("two")
    assert (what, token, digest) == (b"token", b"t1", b"digest of t1")
    assert 890_000 < life <= 900_000
    assert await state.join("two", least=900_001) == [b"turn"]
    assert await state.run(END, "two") == 1
    assert await state.join("two", due="digest of t1") == [b"turn"]
    assert (await state.join("three"))[:2] == [b"token", b"t1"], "it is kept for the others"


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
