"""One access token for everybody: fetched once however many wait, renewed before it ends, not hammered when refused."""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from ..config import AuthorizationCode, RefreshToken, RetryPolicy, Secret, StaticToken, TokenProvider
from ..errors import BrokerageError, ConfigurationError, RequestNotSentError, TokenError
from ..protocol.retry import throttle_pause
from ..protocol.token import Grant, Lease, is_token
from .store import StoredToken, TokenStore

__all__ = ["ProvidedTokens", "TokenManager"]

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.token")

TERMINAL_PAUSE = 60.0
"""Seconds after a refusal of the credentials during which the token endpoint is left alone."""

TRANSIENT_PAUSE = 1.0
LONGEST_TRANSIENT_PAUSE = 16.0
"""The same after a passing failure: each further one in a row doubles it."""


PATIENCE = 5.0
PATIENCE_INTERVAL = 20.0
"""So many refused tokens in a row are replaced at once, and then one every so many seconds."""

STORE_PATIENCE = 5.0
"""Seconds that a token store may take."""

LEAST_STORED_LIFE = 30.0
"""Seconds that a token from a store must still live to be taken."""


class ProvidedTokens:
    """Tokens that come from a `TokenProvider`."""

    __slots__ = ("_fixed", "_provider")

    def __init__(self, provider: TokenProvider) -> None:
        self._provider = provider
        self._fixed = Secret(f"Bearer {provider.access_token}") if isinstance(provider, StaticToken) else None

    def peek(self, now: float) -> str | None:
        """A static token; any other provider is asked for every attempt."""
        return self._fixed

    async def get(self) -> str:
        """The provider's token.

        Raises:
            TokenError: the provider raised something; its text is left out, for it may hold the token.
        """
        try:
            token = await self._provider.get_token()
        except BrokerageError:
            raise
        except Exception as error:
            failure = self._failed("get_token", error)
        else:
            if is_token(token):
                return Secret(f"Bearer {token}")
            token = ""  # an error keeps its frames, and this one would show it
            failure = TokenError("the token provider gave no usable token")
        raise failure  # out here, where the provider's exception does not become its context

    def invalidate(self, authorization: str) -> bool:
        """Pass it on.

        Raises:
            TokenError: the provider raised something; see `get`.
        """
        try:
            return self._provider.invalidate(Secret(authorization.removeprefix("Bearer "))) is not False
        except BrokerageError:
            raise
        except Exception as error:
            failure = self._failed("invalidate", error)
        raise failure

    @staticmethod
    def _failed(method: str, error: Exception) -> TokenError:
        return TokenError(f"the token provider's {method} failed with {type(error).__name__}")

    async def close(self) -> None:
        """Nothing runs."""


class TokenManager:
    """Makes access tokens from credentials and shares them.

    A refresh runs in a task of its own, so that it outlives the call that started it. Its clock is the event loop's,
    which no change of the wall clock touches. A clock that stood still (a suspended machine) is found out by the 401
    that follows, which invalidates the token.

    Args:
        credentials: what to make tokens from.
        exchange: sends one token request and returns the grant; raises `TokenError`.
        policy: how often and how soon a passing failure is tried again within one refresh.
        store, store_key: where to keep access tokens between runs.
        wall_clock: epoch seconds, used for the store only.
    """

    def __init__(
        self,
        credentials: RefreshToken | AuthorizationCode,
        exchange: Callable[[RefreshToken | AuthorizationCode], Awaitable[Grant]],
        *,
        policy: RetryPolicy,
        store: TokenStore | None = None,
        store_key: str = "",
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._credentials = credentials
        self._exchange = exchange
        self._policy = policy
        self._store = store
        self._store_key = store_key
        self._wall_clock = wall_clock
        self._lease: Lease | None = None
        self._refused: str | None = None
        self._failure: TokenError | None = None
        self._failures = 0
        self._rest_until = float("-inf")
        self._patience, self._patience_at = PATIENCE, 0.0
        self._task: asyncio.Task[None] | None = None
        self._done: asyncio.Future[None] | None = None
        self._closed = False

    @property
    def credentials(self) -> RefreshToken | AuthorizationCode:
        """What tokens are made from now; an authorization code gives way to the refresh token that it brought."""
        return self._credentials

    def peek(self, now: float) -> str | None:
        """The present token's header value if it still serves, starting a refresh behind the scenes when it is due."""
        lease = self._lease
        if lease is None or now >= lease.expires_at:
            return None
        if now >= lease.refresh_at and self._task is None and now >= self._rest_until and not self._closed:
            self._start()
        return lease.authorization

    async def get(self) -> str:
        """A token's header value, after the refresh that it takes; all callers share one refresh.

        Raises:
            TokenError: no token could be had, or the last refusal was so recent that the service is left alone.
        """
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            authorization = self.peek(now)
            if authorization is not None:
                return authorization
            if self._closed:
                raise ConfigurationError("the client is closed")
            if self._task is None:
                if self._failure is not None and now < self._rest_until:
                    raise self._remembered(self._failure, self._rest_until - now)
                self._start()
            assert self._done is not None
            await asyncio.shield(self._done)
            if self._lease is not None and self._failure is None and not self._closed:
                return self._lease.authorization  # just made: however short it lives, it is not made again for nothing

    def invalidate(self, authorization: str) -> bool:
        """Drop the token that the service refused, unless a newer one has taken its place.

        A service that refuses one fresh token after the other is not asked for more and more of them: it answers False
        then, and the token stays for the time being.
        """
        lease = self._lease
        if lease is not None and lease.authorization == authorization:
            now = asyncio.get_running_loop().time()
            self._patience = min(PATIENCE, self._patience + (now - self._patience_at) / PATIENCE_INTERVAL)
            self._patience_at = now
            if self._patience < 1:
                return False
            self._patience -= 1
            self._refused = lease.token
            self._lease = None
        return True

    async def close(self) -> None:
        """Stop a running refresh; whoever waits for it is told."""
        self._closed = True
        task = self._task
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self._done = loop.create_future()
        self._task = loop.create_task(self._run(), name="brokerage_async token refresh")
        self._task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._task = None
        done, self._done = self._done, None
        if done is not None and not done.done():
            done.set_result(None)
        if not task.cancelled() and (error := task.exception()) is not None:
            told = f": {error}" if isinstance(error, BrokerageError) else ""  # only ours are known to hold no secret
            text = f"the token refresh failed with {type(error).__name__}{told}"
            self._rest(TokenError(text, transient=True), TRANSIENT_PAUSE)

    async def _run(self) -> None:
        """One refresh: look into the store, then ask, repeating passing failures."""
        loop = asyncio.get_running_loop()
        if await self._load(loop.time()):
            return
        attempt, most = 1, self._policy.max_attempts if self._failures == 0 else 1  # in an outage: one look at a time
        while True:
            asked_at = loop.time()
            try:
                grant = await self._exchange(self._credentials)
            except TokenError as error:
                error.attempts = attempt
                if not self._may_repeat(error) or attempt >= most:
                    self._note_failure(error)
                    return
                logger.info("token refresh: attempt %d failed (%s), trying again", attempt, error.status or "no answer")
                wait = throttle_pause(self._policy, attempt, self._policy.jitter())
                await asyncio.sleep(max(wait, min(error.retry_after or 0.0, self._policy.max_retry_after)))
                attempt += 1
            else:
                await self._accept(grant, asked_at)
                return

    def _may_repeat(self, error: TokenError) -> bool:
        """A refresh token may be used any number of times; a code only once, so it is repeated only if never used."""
        if isinstance(self._credentials, AuthorizationCode):
            return isinstance(error.__cause__, RequestNotSentError) or error.status == 429
        return error.transient

    async def _accept(self, grant: Grant, asked_at: float) -> None:
        self._lease = Lease.start(grant.access_token, grant.expires_in, asked_at)
        self._failure, self._failures, self._rest_until = None, 0, float("-inf")
        credentials = self._credentials
        if isinstance(credentials, AuthorizationCode) and grant.refresh_token is not None:
            self._credentials = RefreshToken(
                client_secret=credentials.client_secret,
                refresh_token=grant.refresh_token,
                client_id=credentials.client_id,
            )
        logger.info("token refresh: a token for %d s", grant.expires_in)
        if self._store is not None:
            kept = StoredToken(grant.access_token, self._wall_clock() + grant.expires_in)
            await _from_store("save", partial(self._store.save, self._store_key, kept))

    async def _load(self, now: float) -> bool:
        """Take a token from the store, if it holds a serving one that was not just refused or about to end."""
        if self._store is None or isinstance(self._credentials, AuthorizationCode):
            return False  # a code has to be exchanged in any case: only that brings its refresh token
        stored = await _from_store("load", partial(self._store.load, self._store_key))
        if (
            not isinstance(stored, StoredToken)
            or stored.access_token == self._refused
            or not is_token(stored.access_token)
        ):
            return False
        left = stored.expires_at - self._wall_clock()
        if not left >= LEAST_STORED_LIFE or (self._lease is not None and self._lease.token == stored.access_token):
            return False
        self._lease = Lease.start(stored.access_token, left, now)
        return True

    def _note_failure(self, error: TokenError) -> None:
        if error.transient:
            self._failures += 1
            pause = min(TRANSIENT_PAUSE * 2.0 ** min(self._failures - 1, 10), LONGEST_TRANSIENT_PAUSE)
            pause = max(pause, min(error.retry_after or 0.0, self._policy.max_retry_after))
        else:
            pause = TERMINAL_PAUSE
        logger.warning("token refresh failed: %s", error.status or "no answer")
        self._rest(error, pause)

    def _rest(self, error: TokenError, pause: float) -> None:
        self._failure = error
        self._rest_until = asyncio.get_running_loop().time() + pause

    @staticmethod
    def _remembered(error: TokenError, seconds: float) -> TokenError:
        """A fresh copy to raise: one exception raised in many tasks would collect all their tracebacks."""
        again = copy.copy(error)
        again.__cause__ = error.__cause__
        again.retry_after = seconds
        return again


async def _from_store(method: str, work: Callable[[], Awaitable[T]]) -> T | None:
    """What a token store does, or None when it fails: tokens can be had without it, and are not to wait for it long."""
    try:
        async with asyncio.timeout(STORE_PATIENCE):
            return await work()
    except Exception as error:
        told = f": {error}" if isinstance(error, OSError) else ""  # others may tell the token
        logger.warning("token store: %s failed with %s%s", method, type(error).__name__, told)
        return None
