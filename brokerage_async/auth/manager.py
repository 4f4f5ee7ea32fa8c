"""Access tokens shared by all calls: one refresh at a time, ahead of expiry, with pauses after failures."""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from .._generated.operations import OAUTH_TOKEN
from ..config import (
    AuthorizationCode,
    Credentials,
    Environment,
    RefreshToken,
    RetryPolicy,
    Secret,
    StaticToken,
    TokenProvider,
)
from ..errors import APIError, BrokerageError, ConfigurationError, TokenError
from ..http.concurrency import end, outliving
from ..http.limiter import LaneName, Limiter
from ..http.shared import Options, Tokens
from ..observers import ObserverList
from ..protocol.retry import Backoff, Processed, throttling, verdict_of
from ..protocol.token import Grant, Lease, bearer, is_token, token_of
from .endpoint import TokenEndpoint
from .sharing import RefreshTurn, StoreAccess
from .store import StoredToken, TokenStore, store_key

if TYPE_CHECKING:
    from ..http.transport import Transport

logger: logging.Logger = logging.getLogger("brokerage_async.token")

TERMINAL_PAUSE = 60.0
"""Seconds without a token request after the credentials were rejected."""

TRANSIENT_PAUSE = 1.0
MAX_TRANSIENT_PAUSE = 16.0
"""The same after a transient failure: each further one in a row doubles it, up to the maximum."""

MAX_FRESH_REJECTIONS = 5
"""Fresh tokens in a row that may be rejected before the manager pauses."""

REJECTION_PAUSE = 20.0
"""Seconds without a token request, and without a token, after that many."""

MIN_STORED_LIFETIME = 30.0
"""Minimum remaining lifetime in seconds of a token loaded from a store."""


class ProvidedTokens:
    """Adapter of a `TokenProvider` to the interface of `TokenManager`."""

    __slots__ = ("_fixed", "_provider")

    def __init__(self, provider: TokenProvider) -> None:
        self._provider = provider
        self._fixed = bearer(provider.access_token) if isinstance(provider, StaticToken) else None

    @property
    def failure(self) -> TokenError | None:
        """None: a provider raises its failures."""
        return None

    def peek(self, now: float) -> Secret | None:
        """Return a static token. Any other provider is called for every attempt."""
        return self._fixed

    async def get(self) -> Secret:
        """Return the provider's token.

        Raises:
            TokenError: the provider raised an exception. Its message is left out because it may contain the token.
        """
        try:
            token = await self._provider.get_token()
        except BrokerageError:
            raise
        except Exception as error:
            failure = self._failed("get_token", error)
        else:
            if is_token(token):
                return bearer(Secret(token))
            token = ""  # an error keeps its frames, and this one would show it
            failure = TokenError("the token provider returned an unusable token")
        raise failure  # outside of the handler: the provider's exception must not become its context

    def invalidate(self, authorization: Secret) -> bool:
        """Invalidate the token. Return True if the provider has another.

        Raises:
            TokenError: the provider raised an exception. See `get`.
        """
        try:
            return self._provider.invalidate(token_of(authorization).reveal()) is not False
        except BrokerageError:
            raise
        except Exception as error:
            failure = self._failed("invalidate", error)
        raise failure

    def accept(self, authorization: Secret) -> None:
        """Do nothing: the provider decides how long its token is valid."""

    @staticmethod
    def _failed(method: str, error: Exception) -> TokenError:
        return TokenError(f"the token provider's {method} failed with {type(error).__name__}")

    async def close(self) -> None:
        """Do nothing: no background task runs."""


class TokenManager:
    """Source of access tokens for one set of credentials, shared by all calls.

    A refresh runs in a separate task and therefore survives the call that started it. Its clock is the event loop's,
    which does not follow changes of the wall clock. After a suspension of the machine that stopped this clock, a 401
    invalidates the expired token.

    Args:
        credentials: exchanged for tokens.
        exchange: sends one token request and returns the grant. Raises `TokenError`.
        policy: retries and pauses for transient failures within one refresh.
        store: keeps access tokens between runs.
        store_key: identifies the credentials in the store.
        wall_clock: returns epoch seconds, used for the store only.
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
        self._access = StoreAccess(store, store_key)
        self._wall_clock = wall_clock
        self._lease: Lease | None = None
        self._accepted: Secret | None = None
        self._rejected: Secret | None = None
        self._fresh_rejections = 0
        self._failure: TokenError | None = None
        self._last_failure: TokenError | None = None
        self._failures = 0
        self._rest_until = float("-inf")
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def credentials(self) -> RefreshToken | AuthorizationCode:
        """The current credentials: the refresh token, once a code was exchanged."""
        return self._credentials

    @property
    def failure(self) -> TokenError | None:
        """Failure of the last token request, None after a success."""
        return self._last_failure

    @property
    def lifetime(self) -> float | None:
        """Seconds until the current token is renewed at the latest, None without one."""
        return None if self._lease is None else self._lease.expires_at - asyncio.get_running_loop().time()

    def peek(self, now: float) -> Secret | None:
        """Return the header value of a valid token, or None.

        A background refresh starts when it is due.
        """
        lease = self._lease
        if lease is None or now >= lease.expires_at:
            return None
        if now >= lease.refresh_at and self._task is None and now >= self._rest_until and not self._closed:
            self._start()
        return lease.authorization

    async def get(self) -> Secret:
        """Return a token's header value, after a refresh if necessary.

        All callers share one refresh.

        Raises:
            TokenError: the refresh failed, or the pause after an earlier failure is not over.
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
                    again = copy.copy(self._failure)  # raised in many tasks, one would collect all their tracebacks
                    again.__cause__, again.retry_after = self._failure.__cause__, self._rest_until - now
                    raise again
                self._start()
            assert self._task is not None
            await asyncio.wait({self._task})  # `_finished` comes first
            if self._lease is not None and self._failure is None and not self._closed:
                return self._lease.authorization  # new: used even if its lifetime is over already

    def invalidate(self, authorization: Secret) -> bool:
        """Drop a rejected token. Return True if another is available.

        A newer token stays. When the service rejects one fresh token after another, `get` raises for a while.
        """
        lease = self._lease
        if lease is not None and lease.authorization == authorization:
            self._lease = None
            self._rejected = lease.token
            self._fresh_rejections += authorization != self._accepted
            if self._fresh_rejections >= MAX_FRESH_REJECTIONS:
                logger.warning("%d fresh access tokens in a row were rejected", self._fresh_rejections)
                message = f"the service rejected {self._fresh_rejections} fresh access tokens in a row"
                self._rest(TokenError(message, transient=True), REJECTION_PAUSE)
        if self._lease is not None or self._fresh_rejections < MAX_FRESH_REJECTIONS:
            return True
        return asyncio.get_running_loop().time() >= self._rest_until

    def accept(self, authorization: Secret) -> None:
        """Record that the service accepted a token."""
        self._accepted = authorization
        self._fresh_rejections = 0

    async def close(self) -> None:
        """Cancel a running refresh. Its waiters get an error."""
        self._closed = True
        if self._task is not None:
            await end(self._task)

    def _start(self) -> None:
        self._task = outliving(self._run(), "token refresh")
        self._task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            detail = f": {error}" if isinstance(error, BrokerageError) else ""  # others may contain a secret
            message = f"the token refresh failed with {type(error).__name__}{detail}"
            self._rest(TokenError(message, transient=True), TRANSIENT_PAUSE)

    async def _run(self) -> None:
        """Take a token that is kept, or request one with retries once it is this manager's turn."""
        now = asyncio.get_running_loop().time()
        if (refused := await self._access.refusal()) is not None:  # too many failed logins block an address for hours
            self._last_failure = refused
            self._rest(refused, TERMINAL_PAUSE)
            return
        turn: RefreshTurn = self._access
        if not isinstance(self._credentials, AuthorizationCode):  # only its exchange returns the refresh token
            due = None if self._lease is None else self._lease.token
            joined = await self._access.join(rejected=self._rejected, due=due)
            if isinstance(joined, TokenError):
                self._last_failure = joined
                self._rest(joined, joined.retry_after or TRANSIENT_PAUSE)
                return
            if not isinstance(joined, StoredToken):
                turn = joined
            elif self._adopt(joined, now):
                return
        try:
            await self._request(turn)
        finally:
            await turn.release()

    async def _request(self, turn: RefreshTurn) -> None:
        """Request a token, with retries."""
        loop = asyncio.get_running_loop()
        attempt, max_attempts = 1, self._policy.max_attempts if self._failures == 0 else 1  # in an outage: single tries
        while True:
            requested_at = loop.time()
            try:
                grant = await self._exchange(self._credentials)
                break
            except TokenError as error:
                error.attempts = attempt
                self._last_failure = error
                is_safe = not verdict_of(error).lasts
                if isinstance(self._credentials, AuthorizationCode):  # usable once; a refresh token, often
                    proofs = (error.__cause__, APIError(status=error.status))
                    is_safe = any(
                        isinstance(e, BrokerageError) and verdict_of(e).processed is Processed.NO for e in proofs
                    )
                if not is_safe or attempt >= max_attempts:
                    await self._access.refused(error)
                    pause = TERMINAL_PAUSE
                    if error.transient:
                        self._failures += 1
                        most = self._policy.max_retry_after
                        backoff = Backoff(first=TRANSIENT_PAUSE, maximum=MAX_TRANSIENT_PAUSE, max_wish=most)
                        pause = backoff.pause(self._failures, wish=error.retry_after)
                    logger.warning("token refresh failed: %s", error.status or "no answer")
                    self._rest(error, pause)
                    await turn.fail(error, pause)
                    return
                logger.info("token refresh: attempt %d failed (%s), retrying", attempt, error.status or "no answer")
                await asyncio.sleep(
                    throttling(self._policy).pause(attempt, self._policy.jitter(), wish=error.retry_after)
                )
                attempt += 1
        self._lease = Lease.start(grant.access_token, grant.expires_in, requested_at)
        self._failure = self._last_failure = None
        self._failures, self._rest_until = 0, float("-inf")
        credentials = self._credentials
        if isinstance(credentials, AuthorizationCode) and grant.refresh_token is not None:
            self._credentials = RefreshToken(
                client_secret=credentials.client_secret,
                refresh_token=grant.refresh_token,
                client_id=credentials.client_id,
            )
        logger.info("token refresh: got a token for %d s", grant.expires_in)
        stored = StoredToken(grant.access_token, self._wall_clock() + grant.expires_in)
        kept = await turn.publish(stored)
        if kept is not stored:
            self._adopt(kept, loop.time())

    def _adopt(self, stored: StoredToken, now: float) -> bool:
        """Use a token from the store. Return False unless it is usable."""
        token = stored.access_token
        if not isinstance(token, Secret) or token == self._rejected or not is_token(token.reveal()):
            return False
        left = stored.expires_at - self._wall_clock()
        if not left >= MIN_STORED_LIFETIME or (self._lease is not None and self._lease.token == stored.access_token):
            return False
        self._lease = Lease.start(stored.access_token, left, now)
        self._failure = self._last_failure = None
        return True

    def _rest(self, error: TokenError, pause: float) -> None:
        self._failure = error
        self._rest_until = asyncio.get_running_loop().time() + pause


def token_source(
    environment: Environment,
    credentials: Credentials,
    transport: Transport,
    limiter: Limiter,
    options: Options,
    store: TokenStore | None,
    observers: ObserverList | None = None,
) -> Tokens:
    """Return the source of tokens for these credentials, with the ``options`` of the client itself.

    Raises:
        ConfigurationError: the credentials are of an unknown kind.
    """
    if isinstance(credentials, RefreshToken | AuthorizationCode):
        endpoint = TokenEndpoint(
            transport,
            limiter[LaneName.TOKENS],
            base_url=environment.base_url,
            headers=options.headers,
            policy=options.retry,
            timeout=options.timeout,
            report=None if observers is None else observers.on_event,
            permit=None if limiter.shared is None else partial(limiter.permit, OAUTH_TOKEN),
        )
        key = store_key(environment, credentials)
        return TokenManager(credentials, endpoint, policy=options.retry, store=store, store_key=key)
    if not isinstance(credentials, TokenProvider) or isinstance(credentials, type):
        raise ConfigurationError(
            "credentials must be a RefreshToken, an AuthorizationCode, a StaticToken or a TokenProvider, "
            f"got {type(credentials).__name__}"
        )
    return ProvidedTokens(credentials)
