"""One token for everybody: fetched once, renewed in time, and the endpoint not hammered."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest

from brokerage_async.auth.manager import ProvidedTokens, TokenManager
from brokerage_async.auth.store import FileTokenStore, StoredToken, store_key
from brokerage_async.config import AuthorizationCode, Environment, RefreshToken, RetryPolicy, Secret, StaticToken
from brokerage_async.errors import ConfigurationError, RequestNotSentError, ResponseLostError, TokenError
from brokerage_async.protocol.token import Grant
from tests.loops import VirtualLoop, on_real_time, on_virtual_time

REFRESH = RefreshToken(client_secret="cs", refresh_token="rt")
CODE = AuthorizationCode(client_id="id", client_secret="cs", redirect_uri="https://a.example", code="once")
POLICY = RetryPolicy(max_attempts=3, base_delay=0.5, jitter=lambda: 0.5)


def now() -> float:
    return asyncio.get_running_loop().time()


def transient(cause: Exception | None = None) -> TokenError:
    error = TokenError("passing", transient=True, status=None if cause else 503)
    error.__cause__ = cause
    return error


def terminal() -> TokenError:
    return TokenError("revoked", transient=False, status=400)


class Endpoint:
    """Answers after a second with tokens ``t1``, ``t2``... that live 15 minutes, unless told to fail."""

    def __init__(self, *failures: TokenError | None, latency: float = 1.0, lifetime: float = 900.0) -> None:
        self.failures = list(failures)
        self.latency = latency
        self.lifetime = lifetime
        self.asked: list[float] = []
        self.credentials: list[object] = []

    async def __call__(self, credentials: RefreshToken | AuthorizationCode) -> Grant:
        self.asked.append(now())
        self.credentials.append(credentials)
        number = len(self.asked)
        await asyncio.sleep(self.latency)
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return Grant(
            access_token=Secret(f"t{number}"),
            expires_in=self.lifetime,
            refresh_token=Secret("fresh") if isinstance(credentials, AuthorizationCode) else None,
        )


def manager(endpoint: Endpoint, credentials=REFRESH, **options) -> TokenManager:
    return TokenManager(credentials, endpoint, policy=POLICY, **options)


async def sleep_until(moment: float) -> None:
    await asyncio.sleep(moment - now())


class TestSingleFlight:
    @on_virtual_time
    async def test_ten_thousand_waiters_one_request(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)
        found = await asyncio.gather(*(tokens.get() for _ in range(10_000)))
        assert set(found) == {"Bearer t1"}
        assert len(endpoint.asked) == 1
        assert now() == 1

    @on_virtual_time
    async def test_refresh_survives_the_cancellation_of_who_started_it(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)
        starter, other = asyncio.create_task(tokens.get()), asyncio.create_task(tokens.get())
        await asyncio.sleep(0.5)
        starter.cancel()
        assert await other == "Bearer t1"
        assert starter.cancelled()
        assert len(endpoint.asked) == 1

    @on_virtual_time
    async def test_refresh_survives_when_everybody_is_cancelled(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)
        only = asyncio.create_task(tokens.get())
        await asyncio.sleep(0.5)
        only.cancel()
        await asyncio.sleep(1)
        assert tokens.peek(now()) == "Bearer t1"
        assert len(endpoint.asked) == 1

    @on_virtual_time
    async def test_a_failure_is_told_to_all_each_in_an_exception_of_its_own(self):
        tokens = manager(Endpoint(terminal()))
        found = await asyncio.gather(*(tokens.get() for _ in range(100)), return_exceptions=True)
        assert {type(error) for error in found} == {TokenError}
        assert len({id(error) for error in found}) == 100


class TestAheadOfExpiry:
    @on_virtual_time
    async def test_old_token_serves_while_the_new_one_is_fetched(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)
        await tokens.get()
        await sleep_until(781)
        assert tokens.peek(now()) == "Bearer t1"
        assert tokens.peek(now()) == "Bearer t1"
        await asyncio.sleep(1.5)
        assert tokens.peek(now()) == "Bearer t2"
        assert endpoint.asked == [0, 781]

    @on_virtual_time
    async def test_only_an_ending_token_is_waited_for(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)
        await tokens.get()
        await sleep_until(891)
        assert tokens.peek(now()) is None
        assert await tokens.get() == "Bearer t2"

    @on_virtual_time
    async def test_idle_client_asks_for_nothing(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)
        await tokens.get()
        await asyncio.sleep(100_000)
        assert len(endpoint.asked) == 1

    @on_virtual_time
    async def test_passing_failure_in_the_background_goes_unnoticed(self):
        endpoint = Endpoint(None, *[transient() for _ in range(6)])
        tokens = manager(endpoint)
        await tokens.get()
        await sleep_until(785)
        for _ in range(200):
            assert await tokens.get() in {"Bearer t1", "Bearer t8"}
            await asyncio.sleep(0.5)
        assert tokens.peek(now()) == "Bearer t8"

    @pytest.mark.parametrize("lifetime", [0.001, 0.5, 1.0])
    @on_virtual_time
    async def test_token_that_is_over_before_it_comes_is_not_made_again_for_nothing(self, lifetime):
        endpoint = Endpoint(latency=1.0, lifetime=lifetime)
        tokens = manager(endpoint)
        found = await asyncio.gather(*(tokens.get() for _ in range(100)))
        assert set(found) == {"Bearer t1"}  # the service has the last word on it
        assert len(endpoint.asked) == 1

    @on_virtual_time
    async def test_one_refresh_per_lifetime_under_load(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)

        async def reader() -> None:
            while now() < 3600:
                authorization = tokens.peek(now()) or await tokens.get()
                issued = endpoint.asked[int(authorization.removeprefix("Bearer t")) - 1]
                assert now() < issued + 900
                await asyncio.sleep(2.5)

        await asyncio.gather(*(reader() for _ in range(50)))
        assert endpoint.asked == [0, 781, 1561, 2341, 3121]


class TestRefusedToken:
    @on_virtual_time
    async def test_401_brings_a_new_token(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)
        old = await tokens.get()
        assert tokens.invalidate(old)
        assert await tokens.get() == "Bearer t2"

    @on_virtual_time
    async def test_late_401_for_an_old_token_spares_the_newer_one(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)
        old = await tokens.get()
        tokens.invalidate(old)
        newer = await tokens.get()
        for _ in range(50):
            tokens.invalidate(old)
        assert tokens.peek(now()) == newer
        assert len(endpoint.asked) == 2

    @on_virtual_time
    async def test_service_that_refuses_every_token_is_not_flooded(self):
        endpoint = Endpoint(latency=0.1)
        tokens = manager(endpoint)
        replaced = 0
        while now() < 300:
            replaced += tokens.invalidate(await tokens.get())
            await asyncio.sleep(0.1)
        assert replaced == pytest.approx(5 + 300 / 20, abs=1)
        assert len(endpoint.asked) == replaced + 1

    @on_virtual_time
    async def test_suspended_machine_is_found_out_by_the_401(self):
        """The monotonic clock stood still, the token is over; the service says so."""
        endpoint = Endpoint()
        tokens = manager(endpoint)
        old = await tokens.get()
        assert tokens.peek(now()) == old
        tokens.invalidate(old)
        assert await tokens.get() == "Bearer t2"

    def test_machine_that_slept_with_its_clock_running(self):
        loop = VirtualLoop()

        async def scene() -> None:
            endpoint = Endpoint()
            tokens = manager(endpoint)
            await tokens.get()
            loop.jump(40_000)
            assert tokens.peek(now()) is None
            assert await tokens.get() == "Bearer t2"

        loop.run_until_complete(scene())
        loop.close()


class TestFailures:
    @on_virtual_time
    async def test_passing_failures_are_repeated_with_backoff(self):
        endpoint = Endpoint(transient(), transient())
        assert await manager(endpoint).get() == "Bearer t3"
        assert endpoint.asked == [0, 1.75, 4.25]

    @on_virtual_time
    async def test_wish_to_wait_is_granted_up_to_the_cap(self):
        patient, absurd = transient(), transient()
        patient.retry_after, absurd.retry_after = 5.0, 1e9
        endpoint = Endpoint(patient, absurd)
        await manager(endpoint).get()
        assert endpoint.asked == [0, 6, 67]

    @on_virtual_time
    async def test_after_enough_of_them_the_endpoint_rests_a_little(self):
        endpoint = Endpoint(*[transient() for _ in range(3)])
        tokens = manager(endpoint)
        with pytest.raises(TokenError) as caught:
            await tokens.get()
        assert caught.value.transient
        assert caught.value.attempts == 3
        with pytest.raises(TokenError):
            await tokens.get()
        assert len(endpoint.asked) == 3
        await asyncio.sleep(1)
        assert await tokens.get() == "Bearer t4"

    @on_virtual_time
    async def test_outage_is_not_hammered(self):
        endpoint = Endpoint(*[transient() for _ in range(1000)], latency=0.01)
        tokens = manager(endpoint)
        while now() < 600:
            with pytest.raises(TokenError):
                await tokens.get()
            await asyncio.sleep(0.1)
        assert len(endpoint.asked) < 50

    @on_virtual_time
    async def test_refusal_is_remembered_then_tried_once(self):
        endpoint = Endpoint(terminal(), terminal())
        tokens = manager(endpoint)
        while now() < 100:
            with pytest.raises(TokenError) as caught:
                await tokens.get()
            assert not caught.value.transient
            assert caught.value.retry_after is not None
            await asyncio.sleep(0.7)
        assert len(endpoint.asked) == 2
        await sleep_until(130)
        assert await tokens.get() == "Bearer t3"

    @on_virtual_time
    async def test_unexpected_error_is_a_token_error_without_its_text(self):
        async def broken(credentials: object) -> Grant:
            raise ValueError("s3cr3t")

        tokens = TokenManager(REFRESH, broken, policy=POLICY)
        with pytest.raises(TokenError, match="ValueError") as caught:
            await tokens.get()
        assert "s3cr3t" not in str(caught.value)


class TestCode:
    @on_virtual_time
    async def test_exchanged_once_then_a_refresh_token(self):
        endpoint = Endpoint()
        tokens = manager(endpoint, CODE)
        first = await tokens.get()
        tokens.invalidate(first)
        await tokens.get()
        assert endpoint.credentials == [CODE, tokens.credentials]
        assert tokens.credentials == RefreshToken(client_secret="cs", refresh_token="fresh", client_id="id")

    @on_virtual_time
    async def test_not_repeated_when_it_may_have_been_used(self):
        endpoint = Endpoint(transient(ResponseLostError("lost")))
        with pytest.raises(TokenError):
            await manager(endpoint, CODE).get()
        assert len(endpoint.asked) == 1

    @on_virtual_time
    async def test_repeated_when_it_never_arrived(self):
        endpoint = Endpoint(transient(RequestNotSentError("refused")))
        assert await manager(endpoint, CODE).get() == "Bearer t2"


class TestClose:
    @on_virtual_time
    async def test_running_refresh_is_stopped_and_waiters_told(self):
        tokens = manager(Endpoint(latency=1000))
        waiters = [asyncio.create_task(tokens.get()) for _ in range(3)]
        await asyncio.sleep(1)
        await tokens.close()
        found = await asyncio.gather(*waiters, return_exceptions=True)
        assert {type(error) for error in found} == {ConfigurationError}
        assert now() == 1

    @on_virtual_time
    async def test_token_that_is_over_is_not_given_out_at_the_end(self):
        endpoint = Endpoint(lifetime=10)
        tokens = manager(endpoint)
        await tokens.get()
        await asyncio.sleep(20)
        endpoint.latency = 1000
        waiter = asyncio.create_task(tokens.get())
        await asyncio.sleep(1)
        await tokens.close()
        with pytest.raises(ConfigurationError, match="closed"):
            await waiter

    @on_virtual_time
    async def test_nothing_starts_after_closing(self):
        endpoint = Endpoint()
        tokens = manager(endpoint)
        await tokens.close()
        await tokens.close()
        with pytest.raises(ConfigurationError, match="closed"):
            await tokens.get()
        assert endpoint.asked == []


class TestProviders:
    @on_virtual_time
    async def test_static(self):
        tokens = ProvidedTokens(StaticToken("abc"))
        assert await tokens.get() == "Bearer abc"
        assert "abc" not in repr(await tokens.get())
        assert tokens.invalidate("Bearer abc") is False
        await tokens.close()

    @on_virtual_time
    async def test_one_of_the_users_own(self):
        class Rotating:
            number = 0

            async def get_token(self) -> str:
                return f"n{self.number}"

            def invalidate(self, token: str) -> bool:
                assert token == f"n{self.number}"
                self.number += 1
                return True

        tokens = ProvidedTokens(Rotating())
        assert tokens.invalidate(await tokens.get())
        assert await tokens.get() == "Bearer n1"

    @pytest.mark.parametrize("given", ["", None, "a\nb", "ä", ValueError("s3cr3t")])
    @on_virtual_time
    async def test_useless(self, given):
        class Useless:
            async def get_token(self) -> str:
                if isinstance(given, Exception):
                    raise given
                return given

            def invalidate(self, token: str) -> bool:
                return False

        with pytest.raises(TokenError) as caught:
            await ProvidedTokens(Useless()).get()
        assert "s3cr3t" not in str(caught.value)


class MemoryStore:
    def __init__(self, token: StoredToken | None = None, *, broken: bool = False) -> None:
        self.token = token
        self.broken = broken

    async def load(self, key: str) -> StoredToken | None:
        if self.broken:
            raise OSError("no disk")
        return self.token

    async def save(self, key: str, token: StoredToken) -> None:
        if self.broken:
            raise OSError("no disk")
        self.token = token


class TestStore:
    @on_virtual_time
    async def test_token_is_kept_with_its_end_on_the_wall_clock(self):
        store = MemoryStore()
        await manager(Endpoint(), store=store, wall_clock=lambda: 5000.0).get()
        assert store.token == StoredToken("t1", 5900.0)

    @on_virtual_time
    async def test_kept_token_spares_the_request(self):
        endpoint = Endpoint()
        tokens = manager(endpoint, store=MemoryStore(StoredToken("kept", 5900.0)), wall_clock=lambda: 5100.0)
        assert await tokens.get() == "Bearer kept"
        assert endpoint.asked == []

    @pytest.mark.parametrize("wall_clock", [5895.0, 6000.0, 1e9])
    @on_virtual_time
    async def test_ending_token_is_not_taken(self, wall_clock):
        tokens = manager(Endpoint(), store=MemoryStore(StoredToken("kept", 5900.0)), wall_clock=lambda: wall_clock)
        assert await tokens.get() == "Bearer t1"

    @on_virtual_time
    async def test_refused_token_is_not_taken_again(self):
        """A wall clock that was set back makes an old token look young; the 401 settles it."""
        tokens = manager(Endpoint(), store=MemoryStore(StoredToken("kept", 5900.0)), wall_clock=lambda: 0.0)
        kept = await tokens.get()
        tokens.invalidate(kept)
        assert await tokens.get() == "Bearer t1"

    @on_virtual_time
    async def test_token_that_another_process_fetched_is_taken(self):
        endpoint, store = Endpoint(), MemoryStore()
        tokens = manager(endpoint, store=store, wall_clock=lambda: 5000.0)
        tokens.invalidate(await tokens.get())
        store.token = StoredToken("theirs", 5900.0)
        assert await tokens.get() == "Bearer theirs"
        assert len(endpoint.asked) == 1

    @on_virtual_time
    async def test_code_is_exchanged_all_the_same(self):
        tokens = manager(Endpoint(), CODE, store=MemoryStore(StoredToken("kept", 5900.0)), wall_clock=lambda: 5100.0)
        assert await tokens.get() == "Bearer t1"
        assert isinstance(tokens.credentials, RefreshToken)

    @pytest.mark.parametrize("token", ["", "line\nbreak", "t\u00f6ken", 5, None])
    @on_virtual_time
    async def test_kept_value_that_is_no_token_is_not_taken(self, token):
        kept = StoredToken("kept", 5900.0)
        object.__setattr__(kept, "access_token", token)
        assert await manager(Endpoint(), store=MemoryStore(kept), wall_clock=lambda: 5100.0).get() == "Bearer t1"

    @on_virtual_time
    async def test_kept_token_without_an_end_in_time_is_not_taken(self):
        store = MemoryStore(StoredToken("kept", float("nan")))
        assert await manager(Endpoint(), store=store, wall_clock=lambda: 5100.0).get() == "Bearer t1"

    @on_virtual_time
    async def test_broken_store_is_only_logged(self, caplog):
        assert await manager(Endpoint(), store=MemoryStore(broken=True)).get() == "Bearer t1"
        assert "no disk" in caplog.text

    @pytest.mark.parametrize("failure", [RuntimeError("t1 s3cr3t"), None], ids=["error", "silence"])
    @on_virtual_time
    async def test_store_of_any_kind_is_done_without(self, caplog, failure):
        class Store:
            async def load(self, key: str) -> StoredToken | None:
                await asyncio.sleep(0.0 if failure else 1e9)
                raise failure or AssertionError

            async def save(self, key: str, token: StoredToken) -> None:
                await self.load(key)

        assert await manager(Endpoint(), store=Store()).get() == "Bearer t1"
        assert now() == (1 if failure else 11)
        assert "token store: load failed with" in caplog.text
        assert "token store: save failed with" in caplog.text
        assert "s3cr3t" not in caplog.text

    @on_virtual_time
    async def test_store_that_is_not_asynchronous_is_done_without(self, caplog):
        class Store:
            def load(self, key):
                return {}[key]

            def save(self, key, token):
                raise RuntimeError

        assert await manager(Endpoint(), store=Store()).get() == "Bearer t1"
        assert "token store: load failed with KeyError" in caplog.text
        assert "token store: save failed with RuntimeError" in caplog.text

    @on_real_time
    async def test_file_is_private_atomic_and_holds_only_access_tokens(self, tmp_path: Path):
        path = tmp_path / "new" / "tokens.json"
        store = FileTokenStore(path)
        assert await store.load("k") is None
        await store.save("k", StoredToken("abc", 12.5))
        await store.save("other", StoredToken("def", 13.5))
        assert await store.load("k") == StoredToken("abc", 12.5)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text()) == {
            "k": {"access_token": "abc", "expires_at": 12.5},
            "other": {"access_token": "def", "expires_at": 13.5},
        }
        assert os.listdir(path.parent) == ["tokens.json"]

    @pytest.mark.parametrize(
        "content", [b"", b"[]", b"nonsense", b'{"k": 5}', b'{"k": {"access_token": "", "expires_at": 1}}', b"\xff"]
    )
    @on_real_time
    async def test_senseless_file_holds_nothing(self, tmp_path: Path, content):
        path = tmp_path / "tokens.json"
        path.write_bytes(content)
        assert await FileTokenStore(path).load("k") is None
        await FileTokenStore(path).save("k", StoredToken("abc", 1.0))
        assert await FileTokenStore(path).load("k") == StoredToken("abc", 1.0)

    def test_keys_tell_environments_and_credentials_apart_and_nothing_else(self):
        sandbox, production = Environment.sandbox("https://a.example"), Environment.production("https://a.example")
        other = RefreshToken(client_secret="cs", refresh_token="rt", scope="read")
        keys = {store_key(sandbox, REFRESH), store_key(production, REFRESH), store_key(sandbox, other)}
        keys.add(store_key(sandbox, CODE))
        assert len(keys) == 4
        assert store_key(sandbox, REFRESH) == store_key(sandbox, REFRESH)
        assert not any("rt" in key and "cs" in key for key in keys)
