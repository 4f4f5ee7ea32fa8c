"""Turns: who requests the next access token, one process alone or one of many that share a store.

Every failure of a store is logged and otherwise ignored: the process then requests its own token.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Protocol, TypeVar, runtime_checkable

from .._secrets import Secret
from ..errors import TokenError
from ..protocol.token import refusal
from .store import RefusalStore, StoredRefusal, StoredToken, TokenStore

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("brokerage_async.token")

STORE_TIMEOUT = 5.0
"""Maximum seconds of an operation of a token store."""


class RefreshTurn(Protocol):
    """Permission to request the next token. It may be lost while the request is under way."""

    async def publish(self, token: StoredToken) -> StoredToken:
        """Keep ``token`` for all. Return it, or the one to use instead because another process was faster."""
        ...

    async def fail(self, error: TokenError, pause: float) -> None:
        """Spare all others the same failure for ``pause`` seconds."""
        ...

    async def release(self) -> None:
        """Pass the turn on, if it is still held."""
        ...


@runtime_checkable
class SharedTokenStore(TokenStore, Protocol):
    """Token store shared by many processes. One of them at a time requests a token."""

    async def join(
        self, key: str, *, rejected: Secret | None, due: Secret | None
    ) -> StoredToken | TokenError | RefreshTurn:
        """Return another token than these two as soon as there is one, or the turn to request it.

        The service has rejected ``rejected``, which is dropped for all; ``due`` is about to expire. A `TokenError` is
        the failure of another process, with the seconds to pause in ``retry_after``.
        """
        ...


class StoreAccess:
    """The store of one token manager, if it has one, and its key there.

    It is itself the turn of a process that waits for no other.
    """

    __slots__ = ("_key", "_store")

    def __init__(self, store: TokenStore | None, key: str) -> None:
        self._store = store
        self._key = key

    async def refusal(self) -> TokenError | None:
        """Return the kept refusal of these credentials, or None."""
        store = self._store
        kept = None
        if isinstance(store, RefusalStore):
            kept = await _attempted("load_refusal", partial(store.load_refusal, self._key))
        if not isinstance(kept, StoredRefusal):
            return None
        found = refusal(kept.status, {"error_code": kept.code})
        try:
            day = f" of {datetime.fromtimestamp(kept.at, UTC):%Y-%m-%d %H:%M} UTC"
        except (ValueError, OverflowError, OSError):  # edited by hand; the refusal stands
            day = ""
        return TokenError(
            f"{found.message}; nothing was sent, as the token store keeps this refusal{day}: "
            f"remove {self._key} from it to try the same credentials again",
            transient=False,
            operation=found.operation,
            method=found.method,
            path=found.path,
            status=found.status,
            code=found.code,
        )

    async def refused(self, error: TokenError) -> None:
        """Keep a refusal of these credentials, if it is one and the store can."""
        store = self._store
        if error.transient or error.status not in (400, 401, 403) or error.code is None:
            return  # without a code it may be the page of a proxy
        if isinstance(store, RefusalStore):
            kept = StoredRefusal(error.status, error.code, time.time())
            await _attempted("save_refusal", partial(store.save_refusal, self._key, kept))

    async def join(self, *, rejected: Secret | None, due: Secret | None) -> StoredToken | TokenError | RefreshTurn:
        """Return a token that is kept, or the turn to request one. See `SharedTokenStore`."""
        store = self._store
        if isinstance(store, SharedTokenStore):  # it waits for another process, which bounds the wait itself
            joined = await _attempted("join", partial(store.join, self._key, rejected=rejected, due=due), timeout=None)
            return self if joined is None else joined
        if store is not None:
            loaded = await _attempted("load", partial(store.load, self._key))
            if isinstance(loaded, StoredToken):
                return loaded
        return self

    async def publish(self, token: StoredToken) -> StoredToken:
        """Keep ``token`` and return it."""
        if self._store is not None:
            await _attempted("save", partial(self._store.save, self._key, token))
        return token

    async def fail(self, error: TokenError, pause: float) -> None:
        """Do nothing: this process is alone."""

    async def release(self) -> None:
        """Do nothing: this process is alone."""


async def _attempted(method: str, work: Callable[[], Awaitable[T]], timeout: float | None = STORE_TIMEOUT) -> T | None:
    """Return the result of a token store, or None if it fails."""
    try:
        async with asyncio.timeout(timeout):
            return await work()
    except Exception as error:
        detail = f": {error}" if isinstance(error, OSError) else ""  # other messages may contain the token
        logger.warning("token store: %s failed with %s%s", method, type(error).__name__, detail)
        return None
