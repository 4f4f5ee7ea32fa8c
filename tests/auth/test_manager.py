"""Shared access tokens: single flight, refresh ahead of expiry, pauses, turns among processes; the token endpoint."""

import asyncio
import contextlib
import json
from typing import Any
from unittest.mock import AsyncMock, Mock

import attrs
import pytest

from brokerage_async import AuthorizationCode, Environment, Limits, RefreshToken, RetryPolicy, StaticToken
from brokerage_async.auth.endpoint import TokenEndpoint
from brokerage_async.auth.manager import ProvidedTokens, TokenManager, token_source
from brokerage_async.auth.sharing import RefreshTurn, StoreAccess
from brokerage_async.auth.store import FileTokenStore, StoredRefusal, StoredToken
from brokerage_async.config import Secret, TokenProvider
from brokerage_async.errors import ConfigurationError, RequestNotSentError, ResponseLostError, TokenError
from brokerage_async.http.limiter import Lane, LaneName, Limiter
from brokerage_async.http.shared import Options, Tokens
from brokerage_async.protocol.token import Grant
from tests.fake_transport import FakeTransport, fail
from tests.http.calls import Shared, now, raised_by
from tests.loops import on_virtual_time
from tests.protocol.values import raised
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time

REFRESH = RefreshToken(client_secret="cs", refresh_token="rt")
CODE = AuthorizationCode(client_id="id", client_secret="cs", redirect_uri="https://a.example", code="once")
POLICY = RetryPolicy(max_attempts=3, base_delay=0.5, jitter=lambda: 0.5)
LATE = 4e9
GRANT = RefreshToken(client_secret="s3cr3t", refresh_token="s3cr3t")
PATIENT = RetryPolicy(jitter=lambda: 0.5, max_retry_after=30)


def transient(cause: Exception | None = None) -> TokenError:
    error = TokenError("passing", transient=True, status=None if cause else 503)
    error.__cause__ = cause
    return error


def refused(status: int, code: str | None) -> TokenError:
    return TokenError("refused", transient=False, status=status, code=code)


class Endpoint:
    """Answers after a second with tokens ``t1``, ``t2``... that live 15 minutes, unless scripted to fail."""

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


def manager(endpoint: Any, credentials: Any = REFRESH, **options: Any) -> TokenManager:
    return TokenManager(credentials, endpoint, policy=POLICY, **options)


def managed(*failures: TokenError | None, **options: float) -> tuple[TokenManager, Endpoint]:
    endpoint = Endpoint(*failures, **options)
    return manager(endpoint), endpoint


async def sleep_until(moment: float) -> None:
    await asyncio.sleep(moment - now())


class TestSingleFlight:
    async def test_get_ten_thousand_waiters_share_one_request(self) -> None:
        tokens, endpoint = managed()
        found = await asyncio.gather(*(tokens.get() for _ in range(10_000)))
        assert (set(found), len(endpoint.asked), now()) == ({Secret("Bearer t1")}, 1, 1)

    async def test_refresh_survives_cancellation_of_its_waiters(self) -> None:
        for waiting in (1, 2):
            tokens, endpoint = managed()
            starter, *others = [asyncio.create_task(tokens.get()) for _ in range(waiting)]
            await asyncio.sleep(0.5)
            starter.cancel()
            await asyncio.sleep(1)
            assert starter.cancelled()
            assert [other.result() for other in others] == [Secret("Bearer t1")] * (waiting - 1)
            assert (tokens.peek(now()), len(endpoint.asked)) == (Secret("Bearer t1"), 1)

    async def test_get_failure_raises_a_separate_exception_per_waiter(self) -> None:
        tokens = manager(Endpoint(refused(400, None)))
        found = await asyncio.gather(*(tokens.get() for _ in range(100)), return_exceptions=True)
        assert {type(error) for error in found} == {TokenError}
        assert len({id(error) for error in found}) == 100


class TestAheadOfExpiry:
    async def test_old_token_serves_during_a_refresh_that_only_its_use_begins(self) -> None:
        tokens, endpoint = managed()
        await tokens.get()
        await sleep_until(781)
        assert [tokens.peek(now()) for _ in range(2)] == [Secret("Bearer t1")] * 2
        await asyncio.sleep(1.5)
        assert tokens.peek(now()) == Secret("Bearer t2")
        await asyncio.sleep(100_000)
        assert endpoint.asked == [0, 781]

    async def test_get_transient_background_failure_is_hidden(self) -> None:
        tokens = manager(Endpoint(None, *[transient() for _ in range(6)]))
        await tokens.get()
        await sleep_until(785)
        for _ in range(200):
            assert await tokens.get() in {Secret("Bearer t1"), Secret("Bearer t8")}
            await asyncio.sleep(0.5)
        assert tokens.peek(now()) == Secret("Bearer t8")

    @pytest.mark.parametrize("lifetime", [0.001, 0.5, 1.0])
    async def test_get_token_expired_on_arrival_is_used_once(self, lifetime: float) -> None:
        tokens, endpoint = managed(latency=1.0, lifetime=lifetime)
        found = await asyncio.gather(*(tokens.get() for _ in range(100)))
        assert (set(found), len(endpoint.asked)) == ({Secret("Bearer t1")}, 1)  # the service has the last word on it

    async def test_one_refresh_per_lifetime_under_load(self) -> None:
        tokens, endpoint = managed()

        async def reader() -> None:
            while now() < 3600:
                authorization = tokens.peek(now()) or await tokens.get()
                issued = endpoint.asked[int(authorization.reveal().removeprefix("Bearer t")) - 1]
                assert now() < issued + 900
                await asyncio.sleep(2.5)

        await asyncio.gather(*(reader() for _ in range(50)))
        assert endpoint.asked == [0, 781, 1561, 2341, 3121]


class TestRejectedToken:
    async def test_invalidate_replaces_the_current_token_and_keeps_a_newer_one(self) -> None:
        """Even if it looks young, because the monotonic clock stood still while the machine was suspended."""
        tokens, endpoint = managed()
        old = await tokens.get()
        assert tokens.peek(now()) == old
        assert tokens.invalidate(old)
        newer = await tokens.get()
        for _ in range(50):
            tokens.invalidate(old)
        assert tokens.peek(now()) == newer == Secret("Bearer t2")
        assert len(endpoint.asked) == 2

    async def test_invalidate_every_fresh_token_rejected_pauses(self) -> None:
        tokens, endpoint = managed(latency=0.1)
        used: list[str] = []
        while now() < 300:
            with contextlib.suppress(TokenError):
                used.append(await tokens.get())
                tokens.invalidate(used[-1])
            await asyncio.sleep(0.1)
        assert len(set(used)) == len(used) == len(endpoint.asked)
        assert len(used) == pytest.approx(5 + 300 / 20, abs=1)

    async def test_invalidate_accepted_token_starts_the_count_again(self) -> None:
        tokens = manager(Endpoint(latency=0.0))
        for number in range(1, 101):
            assert await tokens.get() == Secret(f"Bearer t{number}")
            tokens.accept(Secret(f"Bearer t{number}"))
            assert tokens.invalidate(Secret(f"Bearer t{number}"))
        for _ in range(3):
            assert tokens.invalidate(await tokens.get())
        tokens.accept(await tokens.get())
        assert [tokens.invalidate(await tokens.get()) for _ in range(6)] == [True] * 5 + [False]
        assert now() == 0
        error = await raised_by(tokens.get(), TokenError, "rejected 5 fresh access tokens in a row")
        assert (error.transient, error.retry_after) == (True, 20)
        await asyncio.sleep(20)
        newest = await tokens.get()
        tokens.accept(newest)
        assert tokens.invalidate(newest) is True

    async def test_peek_after_suspension_with_running_clock_is_none(self) -> None:
        tokens = manager(Endpoint())
        await tokens.get()
        loop = asyncio.get_running_loop()
        loop.jump(40_000)
        assert tokens.peek(now()) is None
        assert await tokens.get() == Secret("Bearer t2")


class TestFailures:
    async def test_get_transient_failures_are_retried_with_backoff_or_as_asked_up_to_the_cap(self) -> None:
        for pauses, asked in (((None, None), [0, 1.75, 4.25]), ((5.0, 1e9), [0, 6, 67])):
            tokens, endpoint = managed(*[transient() for _ in pauses])
            for failure, pause in zip(endpoint.failures, pauses, strict=True):
                failure.retry_after = pause
            began = now()
            assert await tokens.get() == Secret("Bearer t3")
            assert [moment - began for moment in endpoint.asked] == asked

    async def test_get_after_all_retries_pauses(self) -> None:
        tokens, endpoint = managed(*[transient() for _ in range(3)])
        first, second = [await raised_by(tokens.get(), TokenError) for _ in range(2)]
        assert (first.transient, second.transient, first.attempts) == (True, True, 3)
        assert len(endpoint.asked) == 3
        await asyncio.sleep(1)
        assert await tokens.get() == Secret("Bearer t4")
        tokens, endpoint = managed(*[transient() for _ in range(1000)], latency=0.01)
        end = now() + 600
        while now() < end:  # during an outage, requests are few
            await raised_by(tokens.get(), TokenError)
            await asyncio.sleep(0.1)
        assert len(endpoint.asked) < 50
        tokens, endpoint = managed(*[transient() for _ in range(3)])
        endpoint.failures[-1].retry_after = 40.0
        error = await raised_by(tokens.get(), TokenError)
        assert error.retry_after == 40

    async def test_get_rejected_credentials_are_remembered(self) -> None:
        tokens, endpoint = managed(refused(400, None), refused(400, None))
        while now() < 100:
            error = await raised_by(tokens.get(), TokenError)
            assert (error.transient, error.retry_after is None) == (False, False)
            await asyncio.sleep(0.7)
        assert len(endpoint.asked) == 2
        await sleep_until(130)
        assert await tokens.get() == Secret("Bearer t3")

    async def test_get_unexpected_error_hides_its_message(self) -> None:
        broken = manager(AsyncMock(side_effect=ValueError("s3cr3t")))
        error = await raised_by(broken.get(), TokenError, "ValueError")
        assert ("s3cr3t" in str(error), error.transient) == (False, True)


class TestCode:
    async def test_code_is_sent_again_only_if_it_was_never_sent(self) -> None:
        endpoint = Endpoint(transient(ResponseLostError("lost")))
        await raised_by(manager(endpoint, CODE).get(), TokenError)
        assert len(endpoint.asked) == 1
        unsent = Endpoint(transient(RequestNotSentError("refused")))
        assert await manager(unsent, CODE).get() == Secret("Bearer t2")

    async def test_code_is_exchanged_once_for_a_refresh_token_if_there_is_one(self) -> None:
        endpoint = Endpoint()
        tokens = manager(endpoint, CODE)
        for _ in range(2):  # refreshes bring no refresh token
            tokens.invalidate(await tokens.get())
            await tokens.get()
            assert tokens.credentials == RefreshToken(client_secret="cs", refresh_token="fresh", client_id="id")
        assert endpoint.credentials[:2] == [CODE, tokens.credentials]
        for given, refresh_token in ((CODE, None), (REFRESH, Secret("another"))):
            grant = Grant(access_token=Secret("t"), expires_in=900.0, refresh_token=refresh_token)
            tokens = manager(AsyncMock(return_value=grant), given)
            assert tokens.failure is None
            assert await tokens.get() == Secret("Bearer t")
            assert (tokens.credentials, tokens.failure) == (given, None)


class TestClose:
    async def test_close_cancels_the_refresh_and_fails_waiters(self) -> None:
        """A token that has expired is not returned either."""
        for has_expired in (False, True):
            tokens, endpoint = managed(lifetime=10)
            if has_expired:
                await tokens.get()
                await asyncio.sleep(20)
            endpoint.latency = 1000
            waiters = [asyncio.create_task(tokens.get()) for _ in range(3)]
            began = now()
            await asyncio.sleep(1)
            await tokens.close()
            await tokens.close()
            for waiter in waiters:
                await raised_by(waiter, ConfigurationError)
            assert now() == began + 1
            asked = len(endpoint.asked)
            await raised_by(tokens.get(), ConfigurationError, "closed")
            assert len(endpoint.asked) == asked


class TestProviders:
    @staticmethod
    def source(credentials: Any, transport: FakeTransport, limits: Any) -> Tokens:
        options = Options(timeout=1.0, deadline=None, retry=RetryPolicy(), headers={})
        environment = Environment.sandbox("https://api.example.com")
        return token_source(environment, credentials, transport, Limiter(limits), options, None)

    def test_credentials_choose_the_source_and_anything_else_is_refused(self) -> None:
        for credentials in (REFRESH, CODE):
            made = self.source(credentials, FakeTransport(), Limits())
            assert isinstance(made, TokenManager)
            assert made.credentials == credentials
        assert isinstance(self.source(StaticToken("t"), FakeTransport(), Limits()), ProvidedTokens)
        for wrong in ("t", None, StaticToken):
            options = (wrong, FakeTransport(), Limits())
            raised(ConfigurationError, self.source, *options, match="credentials must be a RefreshToken")

    async def test_token_request_waits_for_the_permit_of_shared_limits(self) -> None:
        shared, transport = Shared(), FakeTransport()
        getting = asyncio.create_task(self.source(REFRESH, transport, shared).get())
        await asyncio.sleep(3)
        assert (shared.asked, transport.token_requests) == ([(LaneName.TOKENS, "oauth.token")], [])
        shared.allow()
        assert (await getting, len(transport.token_requests)) == (Secret("Bearer t1"), 1)

    async def test_static_token_is_fixed(self) -> None:
        tokens = ProvidedTokens(StaticToken("abc"))
        assert await tokens.get() == Secret("Bearer abc")
        assert "abc" not in repr(await tokens.get())
        assert isinstance(StaticToken("abc"), TokenProvider)
        assert StaticToken("abc").invalidate("abc") is False
        assert tokens.invalidate(Secret("Bearer abc")) is False
        await tokens.close()

    async def test_custom_provider_is_called_and_an_unusable_token_raises(self) -> None:
        provider = AsyncMock(TokenProvider)
        provider.get_token.side_effect = ["n0", "n1", "", None, "a\nb", "ä", ValueError("s3cr3t")]
        provider.invalidate.side_effect = "n0".__eq__
        tokens = ProvidedTokens(provider)
        assert tokens.invalidate(await tokens.get()) is True
        assert await tokens.get() == Secret("Bearer n1")
        for _ in range(5):
            assert "s3cr3t" not in str(await raised_by(tokens.get(), TokenError))


class MemoryStore:
    """A store of one token, and of refusals by key."""

    def __init__(self, token: StoredToken | None = None) -> None:
        self.token = token
        self.refusals: dict[str, StoredRefusal] = {}

    async def load(self, key: str) -> StoredToken | None:
        return self.token

    async def save(self, key: str, token: StoredToken) -> None:
        self.token = token

    async def load_refusal(self, key: str) -> StoredRefusal | None:
        return self.refusals.get(key)

    async def save_refusal(self, key: str, refusal: StoredRefusal) -> None:
        self.refusals[key] = refusal


class TestStore:
    async def test_new_token_is_stored_with_its_wall_clock_expiry_and_saves_the_request(self) -> None:
        endpoint, store = Endpoint(), MemoryStore()
        await manager(endpoint, store=store, wall_clock=lambda: 5000.0).get()
        assert store.token == StoredToken("t1", 5900.0)
        assert await manager(endpoint, store=store, wall_clock=lambda: 5100.0).get() == Secret("Bearer t1")
        assert len(endpoint.asked) == 1

    @for_each(
        "token, expires_at, wall_clock",
        [
            *(("kept", 5900.0, moment) for moment in (5895.0, 6000.0, 1e9)),
            *((Secret(text), 5900.0, 5100.0) for text in ("", "line\nbreak", "t\u00f6ken")),
            *((nonsense, 5900.0, 5100.0) for nonsense in (5, None)),
            ("kept", float("nan"), 5100.0), ("kept", 5129.9, 5100.0), ("used", 5130.0, 5100.0),
            ("used", 5900.0, 5100.0), ("used", 5900.0, 0.0),
        ],
    )  # fmt: skip
    async def test_useless_stored_token_is_ignored(self, token: Any, expires_at: float, wall_clock: float) -> None:
        """A wall clock that was set back makes an old token look young: the service has rejected it all the same."""
        kept = StoredToken("used", expires_at)
        if token != "used":
            object.__setattr__(kept, "access_token", Secret(token) if token == "kept" else token)
        for credentials in (REFRESH, CODE):  # a code is exchanged, whatever is stored
            endpoint = Endpoint()
            tokens = manager(endpoint, credentials, store=MemoryStore(kept), wall_clock=lambda: wall_clock)
            found = await tokens.get()
            if token == "used" and credentials is REFRESH:
                assert (found, endpoint.asked) == (Secret("Bearer used"), [])
                tokens.invalidate(found)
                found = await tokens.get()
            assert found == Secret("Bearer t1")
            assert isinstance(tokens.credentials, RefreshToken)

    async def test_stored_token_of_another_process_is_used(self) -> None:
        endpoint, store = Endpoint(), MemoryStore()
        tokens = manager(endpoint, store=store, wall_clock=lambda: 5000.0)
        tokens.invalidate(await tokens.get())
        store.token = StoredToken("theirs", 5900.0)
        assert await tokens.get() == Secret("Bearer theirs")
        assert len(endpoint.asked) == 1

    @pytest.mark.parametrize("failure", [RuntimeError("t1 s3cr3t"), OSError("no disk"), None])
    async def test_failing_or_silent_store_is_ignored(self, caplog: pytest.LogCaptureFixture, failure: Any) -> None:
        async def silent(*_: Any) -> None:
            await asyncio.sleep(1e9)

        store = AsyncMock(FileTokenStore)
        store.load.side_effect = store.save.side_effect = failure or silent
        store.load_refusal.side_effect = OSError("no disk")
        assert await manager(Endpoint(), store=store).get() == Secret("Bearer t1")
        assert now() == (1 if failure else 11)
        for method in ("load_refusal", "load", "save"):
            assert f"token store: {method} failed with" in caplog.text
        assert "s3cr3t" not in caplog.text
        assert caplog.text.count("no disk") == (3 if isinstance(failure, OSError) else 1)
        synchronous = Mock(["load", "save"], **{"load.side_effect": KeyError, "save.side_effect": RuntimeError})
        assert await manager(Endpoint(), store=synchronous).get() == Secret("Bearer t1")
        assert "token store: load failed with KeyError" in caplog.text
        assert "token store: save failed with RuntimeError" in caplog.text


class TestRefusals:
    async def test_restarted_process_does_not_log_in_with_refused_credentials(self) -> None:
        for credentials in (REFRESH, CODE):
            store, endpoint = MemoryStore(), Endpoint(*[refused(400, "invalid_grant") for _ in range(100)])
            for _ in range(20):  # restarts
                tokens = manager(endpoint, credentials, store=store, store_key="one")
                error = await raised_by(tokens.get(), TokenError, "invalid_grant|refused")
                assert (error.transient, error.status, error.code) == (False, 400, "invalid_grant")
                await asyncio.sleep(100)
                reason = "remove one from it to try the same credentials again"
                await raised_by(tokens.get(), TokenError, reason)
            assert len(endpoint.asked) == 1, credentials
            endpoint.failures.clear()
            assert await manager(endpoint, store=store, store_key="another").get() == Secret("Bearer t2")

    async def test_refusal_of_an_impossible_day_stands_without_it(self) -> None:
        store, endpoint = MemoryStore(), Endpoint()
        for at in (float("nan"), float("inf"), 1e300, -1e15):
            store.refusals["one"] = StoredRefusal(400, "invalid_grant", at)
            reason = "keeps this refusal: remove one from it"
            await raised_by(manager(endpoint, store=store, store_key="one").get(), TokenError, reason)
        assert endpoint.asked == []

    async def test_failures_that_are_no_refusal_of_the_grant_are_not_kept(self) -> None:
        for failure in (refused(403, None), refused(404, "x"), refused(407, "proxy_authentication"), transient()):
            store, endpoint = MemoryStore(), Endpoint(*[failure] * 3)
            await raised_by(manager(endpoint, store=store, store_key="one").get(), TokenError)
            assert store.refusals == {}, failure
            endpoint.failures.clear()
            again = await manager(endpoint, store=store, store_key="one").get()
            assert again.reveal().startswith("Bearer t")


class Turn:
    """A turn that records how it ends; ``instead`` is the token of a faster process."""

    def __init__(self, instead: StoredToken | None = None) -> None:
        self.instead = instead
        self.events: list[str] = []

    async def publish(self, token: StoredToken) -> StoredToken:
        self.events.append(f"publish {token.access_token.reveal()}")
        return self.instead or token

    async def fail(self, error: TokenError, pause: float) -> None:
        self.events.append(f"fail {pause:g}")

    async def release(self) -> None:
        self.events.append("release")


class SharedStore:
    """A shared store with scripted answers to `join`. An exception is raised."""

    def __init__(self, *answers: StoredToken | TokenError | RefreshTurn | Exception) -> None:
        self.answers = list(answers)
        self.joined: list[tuple[Secret | None, Secret | None]] = []
        self.saved: list[str] = []

    async def load(self, key: str) -> StoredToken | None:
        raise AssertionError("a shared store is joined, not read")

    async def save(self, key: str, token: StoredToken) -> None:
        self.saved.append(f"{key} {token.access_token.reveal()}")

    async def join(self, key: str, *, rejected: Secret | None, due: Secret | None) -> Any:
        self.joined.append((rejected, due))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception) and not isinstance(answer, TokenError):
            raise answer
        return answer


def sharing(store: SharedStore, endpoint: Endpoint | None = None, credentials: Any = REFRESH) -> TokenManager:
    options: Any = {"policy": RetryPolicy(max_attempts=1), "store": store, "store_key": "k"}
    return TokenManager(credentials, endpoint or Endpoint(), **options, wall_clock=lambda: 0.0)


async def test_store_gives_a_token_or_the_turn_to_request_one() -> None:
    turn = ["publish t1", "release"]
    rows: list[tuple[Any, str, list[str], list[str], int]] = [
        (StoredToken("shared", LATE), "shared", [], [], 0),
        (Turn(), "t1", turn, [], 1),
        (Turn(StoredToken("faster", LATE)), "faster", turn, [], 1),  # its turn was late
        (RuntimeError("gone"), "t1", [], ["k t1"], 1),
        (StoredToken("two lines\n", LATE), "t1", [], ["k t1"], 1),
    ]
    for answer, token, events, saved, asked in rows:
        store, endpoint = SharedStore(answer), Endpoint()
        assert await sharing(store, endpoint).get() == Secret(f"Bearer {token}")
        assert (getattr(answer, "events", []), store.saved, len(endpoint.asked)) == (events, saved, asked)
    store = SharedStore()
    assert await sharing(store, credentials=CODE).get() == Secret("Bearer t1")
    assert store.joined == []


async def test_failure_of_the_turn_is_shared_with_its_pause() -> None:
    turn = Turn()
    await raised_by(sharing(SharedStore(turn), Endpoint(transient())).get(), TokenError)
    assert turn.events == ["fail 1", "release"]


async def test_failure_of_another_process_is_raised_until_its_pause_is_over() -> None:
    error, endpoint = refused(400, None), Endpoint()
    error.retry_after = 5.0
    tokens = sharing(SharedStore(error, Turn()), endpoint)
    for _ in range(2):
        assert (await raised_by(tokens.get(), TokenError)).message == "refused"
    assert endpoint.asked == []
    await asyncio.sleep(5.1)
    assert await tokens.get() == Secret("Bearer t1")


async def test_rejected_and_due_tokens_are_named_to_the_store() -> None:
    store = SharedStore(StoredToken("one", 400.0), Turn(), Turn())
    tokens = sharing(store)
    await tokens.get()
    await asyncio.sleep(330)
    assert tokens.peek(now()) == Secret("Bearer one")  # due: refreshed in the background
    await asyncio.sleep(1.5)
    assert tokens.invalidate(Secret("Bearer t1"))
    await tokens.get()
    assert store.joined == [(None, None), (None, Secret("one")), (Secret("t1"), None)]


async def test_no_store_gives_the_turn_at_once() -> None:
    turn = await StoreAccess(None, "k").join(rejected=None, due=None)
    assert not isinstance(turn, StoredToken | TokenError)
    token = StoredToken("t", LATE)
    assert await turn.publish(token) is token
    await turn.fail(TokenError("x", transient=True), 1.0)
    await turn.release()


def endpoint(transport: FakeTransport, lane: Lane | None = None, **options: Any) -> TokenEndpoint:
    settings: dict[str, Any] = {"base_url": "https://a.example/v1", "headers": {"User-Agent": "a/1"}, "timeout": 7.0}
    return TokenEndpoint(transport, lane or Lane(1), policy=PATIENT, **settings | options)


async def test_call_sends_credentials_to_the_environment_and_hides_them() -> None:
    transport, reported = FakeTransport(), list[Any]()
    grant = await endpoint(transport, report=reported.append)(GRANT)
    assert [each.outcome for each in reported] == ["success"]
    assert "t1" not in repr(grant)
    assert "s3cr3t" not in repr([(each, each.body, each.secret_body) for each in transport.received])
    (request,) = transport.token_requests
    assert grant.access_token.reveal() == "t1"
    assert (request.method, request.url, request.timeout) == ("POST", "https://a.example/v1/oauth/token", 7.0)
    assert request.headers == {"User-Agent": "a/1", "Content-Type": "application/json"}
    sent = json.loads(request.body or b"")
    assert sent == {"grant_type": "refresh_token", "refresh_token": "s3cr3t", "client_secret": "s3cr3t"}


@for_each("cause", [RequestNotSentError("refused"), ResponseLostError("dropped")])
async def test_call_without_answer_is_transient(cause: Exception) -> None:
    lane, reported = Lane(1), list[Any]()
    ask = endpoint(FakeTransport(token_script=(cause,)), lane, report=reported.append)
    error = await raised_by(ask(GRANT), TokenError)
    assert (error.transient, type(error.__cause__), lane.in_flight) == (True, type(cause), 0)
    assert [each.outcome for each in reported] == ["transient"]


@for_each("headers, expected", [({}, None), ({"retry_after": "5"}, 5), ({"retry_after": "99"}, 30)])
@on_virtual_time
async def test_call_429_closes_the_lane_for_a_while(headers: dict[str, str], expected: float | None) -> None:
    lane = Lane(1)
    ask = endpoint(FakeTransport(token_script=(fail(429, **headers),)), lane)
    await raised_by(ask(GRANT), TokenError)
    assert not lane.try_acquire(now())
    await ask(GRANT)
    assert now() == expected if expected else now() > 0


async def test_call_cancelled_in_the_lane_leaves_no_trace() -> None:
    lane = Lane(1)
    transport = FakeTransport(latency=1.0)
    ask = endpoint(transport, lane)
    tasks = [asyncio.create_task(ask(GRANT)) for _ in range(3)]
    await asyncio.sleep(0.5)
    tasks[0].cancel()
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (transport.max_in_flight, lane.in_flight, lane.waiting) == (1, 0, 0)
    assert tasks[2].result().access_token.reveal() == "t2"


async def test_call_refused_says_what_to_check() -> None:
    for answer, client_id, advice in (
        (fail(400, "invalid_client"), "stale", "client_secret and client_id (a refresh token works without one)"),
        (fail(400, "invalid_client"), None, "client_secret"),
        (fail(401, "unauthorized"), None, "base_url, which has the path '/v1'"),
    ):
        reported = list[Any]()
        ask = endpoint(FakeTransport(token_script=(answer,)), report=reported.append)
        error = await raised_by(ask(attrs.evolve(GRANT, client_id=client_id)), TokenError)
        assert (error.message.partition(": check ")[2], error.transient) == (advice, False)
        assert [each.outcome for each in reported] == ["refused"]
