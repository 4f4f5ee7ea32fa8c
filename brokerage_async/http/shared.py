"""State that all views of one client share, and the options that differ between them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet, ref

import attrs

from .._arguments import OTHER_LOOP, running_loop
from .._secrets import Secret
from ..config import Environment, RetryPolicy
from ..errors import BrokerageError, ConfigurationError, RequestNotSentError
from ..observers import ObserverList
from ..protocol.retry import RetryBudget
from .limiter import Limiter
from .service_clock import ServiceClock

if TYPE_CHECKING:  # it brings aiohttp along, which a client with another transport can do without
    from .transport import Transport

MARKET_DATA: frozenset[str] = frozenset({"market_data", "market_metrics"})
"""Namespaces that the sandbox lacks, and that a client of another environment may serve."""


@attrs.frozen(kw_only=True)
class Options:
    """Options of a view of a client, and the switches that all views share.

    With ``own_versions`` operations ask for the interface versions that they were written for, in production.
    """

    timeout: float | None
    deadline: float | None
    retry: RetryPolicy
    headers: Mapping[str, str] = attrs.field(hash=False)
    strict: bool = False
    read_only: bool = False
    own_versions: bool = True


class Tokens(Protocol):
    """Source of tokens, as whole ``Authorization`` values."""

    @property
    def failure(self) -> BrokerageError | None:
        """Failure of the last token request, None after a success."""
        ...

    def peek(self, now: float) -> Secret | None:
        """Return the current value if it can be had without waiting."""
        ...

    async def get(self) -> Secret:
        """Return a value that is valid now."""
        ...

    def invalidate(self, authorization: Secret) -> bool:
        """Drop a value that the service has rejected. Return True if another is available."""
        ...

    def accept(self, authorization: Secret) -> None:
        """Record that the service accepted this value."""
        ...

    async def close(self) -> None:
        """Stop the background refresh."""
        ...


class Closeable(Protocol):
    """A background activity of a client, such as a polling loop, that ends with the client."""

    async def aclose(self) -> None:
        """End it and wait for its end."""
        ...


BACKGROUND: ContextVar[ref[Closeable] | None] = ContextVar("brokerage_async background activity", default=None)
"""The activity on whose behalf calls are made. It ends with every client that it calls, but for those of its own."""


@attrs.define(eq=False)
class Engine:
    """State that all views of one client share, and the checks that precede any I/O."""

    environment: Environment
    transport: Transport
    limiter: Limiter
    tokens: Tokens
    budget: RetryBudget
    observers: ObserverList
    service_clock: ServiceClock = attrs.field(factory=ServiceClock, init=False)
    announced: set[str] = attrs.field(factory=set, init=False)
    closed: bool = attrs.field(default=False, init=False)
    resources: WeakSet[Closeable] = attrs.field(factory=WeakSet, init=False)
    _loop: asyncio.AbstractEventLoop | None = attrs.field(default=None, init=False)
    _made_by: ref[Closeable] | None = attrs.field(factory=BACKGROUND.get, init=False)

    def enter(self) -> asyncio.AbstractEventLoop:
        """Return the running event loop, which must always be the same one.

        Raises:
            ConfigurationError: the client is closed, or belongs to another event loop (or process), or none is running.
        """
        loop = running_loop()
        if self.closed:
            raise ConfigurationError("the client is closed")
        if self._loop is not loop:
            if self._loop is not None:
                raise ConfigurationError(OTHER_LOOP)
            self._loop = loop
        caller = BACKGROUND.get()
        if caller is not None and caller is not self._made_by and (activity := caller()) is not None:
            self.resources.add(activity)
        return loop

    async def close(self) -> None:
        """Fail pending calls, stop the token refresh and release the connections. Idempotent.

        Where its event loop is closed already, only the connections are left.

        Raises:
            ConfigurationError: the client belongs to another event loop, which may still run.
        """
        if self.closed:
            return
        ended = self._loop is not None and self._loop.is_closed()
        if self._loop is not None and not ended and self._loop is not running_loop():
            raise ConfigurationError(OTHER_LOOP)
        self.closed = True
        try:
            if not ended:
                self.limiter.close(lambda: RequestNotSentError("the client was closed"))
                try:
                    for resource in list(self.resources):
                        await resource.aclose()
                finally:
                    await self.tokens.close()
        finally:
            await self.transport.close()
