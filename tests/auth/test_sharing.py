"""Turns to request a token: of a process alone, and of one among many."""

import asyncio

import pytest

from brokerage_async.auth.manager import TokenManager
from brokerage_async.auth.sharing import RefreshTurn, StoreAccess
from brokerage_async.auth.store import StoredToken
from brokerage_async.config import AuthorizationCode, RefreshToken, RetryPolicy, Secret
from brokerage_async.errors import TokenError
from brokerage_async.protocol.token import Grant

pytestmark = pytest.mark.virtual_time

REFRESH = RefreshToken(client_secret="cs", refresh_token="rt")
CODE = AuthorizationCode(client_id="id", client_secret="cs", redirect_uri="https://a.example", code="once")
LATE = 4e9


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


class Store:
    """A shared store with scripted answers to `join`. An exception is raised."""

    def __init__(self, *answers: StoredToken | TokenError | RefreshTurn | Exception) -> None:
        self.answers = list(answers)
        self.joined: list[tuple[Secret | None, Secret | None]] = []
        self.saved: list[str] = []

    async def load(self, key: str) -> StoredToken | None:
        raise AssertionError("a shared store is joined, not read")

    async def save(self, key: str, token: StoredToken) -> None:
        self.saved.append(token.access_token.reveal())

    async def join(
        self, key: str, *, rejected: Secret | None, due: Secret | None
    ) -> StoredToken | TokenError | RefreshTurn:
        self.joined.append((rejected, due))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception) and not isinstance(answer, TokenError):
            raise answer
        return answer


class Exchange:
    """Answers with ``t1``, ``t2``..., or fails with ``error``."""

    def __init__(self, error: TokenError | None = None) -> None:
        self.error = error
        self.count = 0

    async def __call__(self, credentials: RefreshToken | AuthorizationCode) -> Grant:
        self.count += 1
        await asyncio.sleep(0.1)
        if self.error is not None:
            raise self.error
        return Grant(access_token=Secret(f"t{self.count}"), expires_in=900.0, refresh_token=Secret("new"))


def manager(store: Store, exchange: Exchange, credentials: RefreshToken | AuthorizationCode = REFRESH) -> TokenManager:
    return TokenManager(
        credentials, exchange, policy=RetryPolicy(max_attempts=1), store=store, store_key="k", wall_clock=lambda: 0.0
    )


async def test_token_of_another_process_is_used_without_a_request() -> None:
    exchange = Exchange()
    assert await manager(Store(StoredToken("shared", LATE)), exchange).get() == Secret("Bearer shared")
    assert exchange.count == 0


async def test_turn_is_published_and_released() -> None:
    turn = Turn()
    assert await manager(Store(turn), Exchange()).get() == Secret("Bearer t1")
    assert turn.events == ["publish t1", "release"]


async def test_late_turn_uses_the_token_of_the_faster_process() -> None:
    assert await manager(Store(Turn(StoredToken("faster", LATE))), Exchange()).get() == Secret("Bearer faster")


async def test_failure_of_the_turn_is_shared_with_its_pause() -> None:
    turn = Turn()
    tokens = manager(Store(turn), Exchange(TokenError("down", transient=True, status=503)))
    (found,) = await asyncio.gather(tokens.get(), return_exceptions=True)
    assert isinstance(found, TokenError)
    assert turn.events == ["fail 1", "release"]


async def test_failure_of_another_process_is_raised_until_its_pause_is_over() -> None:
    error = TokenError("refused elsewhere", transient=False, status=400)
    error.retry_after = 5.0
    exchange = Exchange()
    tokens = manager(Store(error, Turn()), exchange)
    for _ in range(2):
        (found,) = await asyncio.gather(tokens.get(), return_exceptions=True)
        assert isinstance(found, TokenError)
        assert found.message == "refused elsewhere"
    assert exchange.count == 0
    await asyncio.sleep(5.1)
    assert await tokens.get() == Secret("Bearer t1")


async def test_store_that_fails_leaves_the_process_to_itself() -> None:
    store = Store(RuntimeError("gone"))
    assert await manager(store, Exchange()).get() == Secret("Bearer t1")
    assert store.saved == ["t1"]


async def test_rejected_and_due_tokens_are_named_to_the_store() -> None:
    store = Store(StoredToken("one", 400.0), Turn(), Turn())
    tokens = manager(store, Exchange())
    await tokens.get()
    await asyncio.sleep(330)
    assert tokens.peek(asyncio.get_running_loop().time()) == Secret("Bearer one")  # due: refreshed in the background
    await asyncio.sleep(1)
    assert tokens.invalidate(Secret("Bearer t1"))
    await tokens.get()
    assert store.joined == [(None, None), (None, Secret("one")), (Secret("t1"), None)]


async def test_unusable_token_of_the_store_leads_to_a_request_of_its_own() -> None:
    store = Store(StoredToken("two lines\n", LATE))
    assert await manager(store, Exchange()).get() == Secret("Bearer t1")


async def test_code_is_exchanged_without_a_turn() -> None:
    store = Store()
    assert await manager(store, Exchange(), CODE).get() == Secret("Bearer t1")
    assert store.joined == []


@pytest.mark.virtual_time(False)
async def test_no_store_gives_the_turn_at_once() -> None:
    turn = await StoreAccess(None, "k").join(rejected=None, due=None)
    assert not isinstance(turn, StoredToken | TokenError)
    token = StoredToken("t", LATE)
    assert await turn.publish(token) is token
    await turn.fail(TokenError("x", transient=True), 1.0)
    await turn.release()
