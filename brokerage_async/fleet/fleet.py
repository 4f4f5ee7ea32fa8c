"""The `Fleet`: what the parts of one process share, and their status."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import attrs

from .._arguments import running_loop
from .._secrets import Secret
from ..observers import Event, Observer, ObserverList
from .connection import Connection, EngineUnavailableError

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["EngineStatus", "Fleet", "FleetStatus", "Part"]


class Part(Protocol):
    """A part of a fleet in this process, such as its limits."""

    async def status(self) -> Any:
        """Return the state of the part, also while the engine is away."""
        ...

    async def aclose(self) -> None:
        """Stop background tasks."""
        ...


@attrs.frozen(kw_only=True)
class EngineStatus:
    """State of the engine as this process sees it.

    Attributes:
        is_away: whether it did not answer the last command.
        away_for: seconds since the first failure, None while it answers.
        reason: class of the last failure, with advice where there is some.
        latency: seconds that the last ``PING`` took, None while it is away.
    """

    is_away: bool
    away_for: float | None
    reason: str | None
    latency: float | None


@attrs.frozen(kw_only=True)
class FleetStatus:
    """State of a fleet as this process sees it.

    Attributes:
        name: name of the fleet.
        worker: name of this process.
        engine: state of the connection to the engine.
        parts: states of the parts in this process, by their names.
    """

    name: str
    worker: str
    engine: EngineStatus
    parts: dict[str, Any]


class Fleet:
    """The processes that work one customer's accounts, joined over Redis or Valkey.

    ::

        async with Fleet("redis://engine:6379/0") as fleet:
            limits = RedisLimits(fleet, requests_per_second=50)
            tokens = RedisTokenStore(fleet, encryption_key=key)
            async with Client(environment, credentials, limits=limits, token_store=tokens) as client:
                ...

    Each process makes its own, with the same ``name``. It connects when it is first used. While the engine is away,
    limits and tokens work locally.

    Args:
        engine: address such as ``redis://user:password@host:6379/0``, or a client of redis-py, which is borrowed.
        name: the same in all processes that share, and another for each customer.
        timeout: seconds after which a command without an answer has failed.
        observers: those with a method ``on_event`` get the events of feeds, such as `OpenTelemetryMetrics`.

    Raises:
        ConfigurationError: redis-py is not installed (extra ``brokerage-async[redis]``), or an argument is invalid.
    """

    def __init__(
        self,
        engine: str | Secret | Redis,
        *,
        name: str = "brokerage",
        timeout: float = 1.0,
        observers: Sequence[Observer] = (),
    ) -> None:
        engine = Secret(engine) if isinstance(engine, str) else engine  # a traceback may show the locals of this frame
        self.connection: Connection = Connection(engine, name=name, timeout=timeout)
        self._id = secrets.token_hex(6)
        self._parts: dict[str, Part] = {}
        self._observers = ObserverList(observers)

    def __repr__(self) -> str:
        return f"Fleet(name={self.connection.name!r}, worker={self.worker!r})"

    @property
    def worker(self) -> str:
        """Name of this process in the engine."""
        return f"{self._id}-{os.getpid()}"  # a fleet may be made before a fork

    def add(self, name: str, part: Part) -> None:
        """Add a part under a name of its own, for `status` and `aclose`; parts call this themselves."""
        number = 2
        chosen = name
        while chosen in self._parts:
            chosen, number = f"{name} {number}", number + 1
        self._parts[chosen] = part

    def report(self, event: Event) -> None:
        """Pass an event on to the observers."""
        self._observers.on_event(event)

    async def status(self) -> FleetStatus:
        """Return the state of the engine and of every part."""
        now = running_loop().time
        began, latency = now(), None
        try:
            await self.connection.command("PING")
            latency = now() - began
        except EngineUnavailableError:
            pass
        connection = self.connection
        engine = EngineStatus(
            is_away=connection.is_away,
            away_for=None if connection.away_since is None else now() - connection.away_since,
            reason=connection.reason,
            latency=latency,
        )
        parts = {name: await part.status() for name, part in list(self._parts.items())}
        return FleetStatus(name=connection.name, worker=self.worker, engine=engine, parts=parts)

    async def aclose(self) -> None:
        """Stop the parts and close the connections."""
        for part in list(self._parts.values()):
            await part.aclose()
        await self.connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
