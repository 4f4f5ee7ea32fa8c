"""What all views of one client share, and what they may differ in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

import attrs

from ..config import Environment, RetryPolicy
from ..errors import ConfigurationError, RequestNotSentError
from ..observers import Watchers
from ..protocol.retry import RetryBudget
from .limiter import Limiter
from .service_clock import ServiceClock

if TYPE_CHECKING:  # it brings aiohttp along, which a client with another transport can do without
    from .transport import Transport

__all__ = ["Closeable", "Engine", "Options", "Tokens"]


@attrs.frozen(kw_only=True)
class Options:
    """What a view of a client may differ in, and the switches that it may not."""

    timeout: float | None
    deadline: float | None
    retry: RetryPolicy
    headers: Mapping[str, str] = attrs.field(hash=False)
    strict: bool = False
    read_only: bool = False


class Tokens(Protocol):
    """What the session asks for. Tokens are handled as whole ``Authorization`` values."""

    def peek(self, now: float) -> str | None:
        """The present value, if it can be had without waiting."""
        ...

    async def get(self) -> str:
        """A value that serves now."""
        ...

    def invalidate(self, authorization: str) -> bool:
        """Hear that the service refused this value; answer whether another one can be had."""
        ...

    def accept(self, authorization: str) -> None:
        """Record that the service accepted this value."""
        ...

    async def close(self) -> None:
        """Stop what runs in the background."""
        ...


class Closeable(Protocol):
    """A background activity of a client, such as a polling loop, that ends with the client."""

    async def aclose(self) -> None:
        """End it and wait for its end."""
        ...


class Engine:
    """What all views of one client share, and the checks that come before any I/O."""

    __slots__ = (
        "__weakref__",
        "_loop",
        "budget",
        "closed",
        "environment",
        "limiter",
        "resources",
        "service_clock",
        "tokens",
        "transport",
        "watchers",
    )

    def __init__(
        self,
        environment: Environment,
        transport: Transport,
        limiter: Limiter,
        tokens: Tokens,
        budget: RetryBudget,
        watchers: Watchers,
    ) -> None:
        self.environment: Environment = environment
        self.transport: Transport = transport
        self.limiter: Limiter = limiter
        self.tokens: Tokens = tokens
        self.budget: RetryBudget = budget
        self.watchers: Watchers = watchers
        self.service_clock: ServiceClock = ServiceClock()
        self.closed: bool = False
        self.resources: WeakSet[Closeable] = WeakSet()
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self) -> asyncio.AbstractEventLoop:
        """The running event loop, which must always be the same one.

        Raises:
            ConfigurationError: the client is closed, or belongs to another event loop (or process).
        """
        loop = asyncio.get_running_loop()
        if self.closed:
            raise ConfigurationError("the client is closed")
        if self._loop is not loop:
            if self._loop is not None:
                raise ConfigurationError("a client belongs to the event loop that used it first: make one per loop")
            self._loop = loop
        return loop

    async def close(self) -> None:
        """Turn away who waits, stop the token refresh, release the connections. Calling it again does nothing."""
        if self.closed:
            return
        self.closed = True
        self.limiter.close(lambda: RequestNotSentError("the client was closed"))
        try:
            for resource in list(self.resources):
                await resource.aclose()
        finally:
            try:
                await self.tokens.close()
            finally:
                await self.transport.close()
