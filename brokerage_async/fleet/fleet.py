"""The `Fleet`: the processes that share an engine (Redis or Valkey), and their bounded commands to it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import itertools
import logging
import os
import re
import secrets
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

import attrs

from .._arguments import check_seconds, is_number, running_loop
from .._secrets import Secret
from ..errors import BrokerageError, ConfigurationError
from ..observers import Event, Observer, ObserverList

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger: logging.Logger = logging.getLogger("brokerage_async.fleet")

VERSION = 1  # version of the keys; keys of another version have other names

LUA = files("brokerage_async.fleet") / "lua"

PROBE_INTERVAL = 0.5  # seconds after a failure in which no command is tried

ADVICE = {
    "AuthenticationError": "check the user name and the password of its url",
    "WRONGTYPE": "a key of this fleet holds another type: delete it, or give the fleet another name",
    "NOPERM": "its user must be allowed to run scripts on the keys of this fleet",
    "OOM": "it is out of memory: raise maxmemory",
    "MOVED": "it is a node of a cluster, which holds only some of the keys: give an engine that is not in a cluster",
    "UNKNOWN": "it lacks a command: it is older than Redis 7.0, or a Sentinel, in whose place the primary belongs",
    "CERTIFICATE": "its certificate is not trusted: name its authority, as in rediss://HOST/0?ssl_ca_certs=FILE",
}


CODES: dict[str, str | None] = {
    "DataError": "DATA",  # an argument that cannot be sent
    "UnicodeEncodeError": "DATA",
    "ReadOnlyError": None,
    "ClusterDownError": None,
    "MasterDownError": None,
    "NoScriptError": "NOSCRIPT",
    "NoPermissionError": "NOPERM",
    "OutOfMemoryError": "OOM",
    "MovedError": "MOVED",
    "AskError": "MOVED",
    "ClusterCrossSlotError": "MOVED",
}
"""Codes by errors of redis-py, None where the engine is as good as away."""


class EngineUnavailableError(BrokerageError):
    """The engine (Redis or Valkey) is away, or refused a command. The service was not involved."""


@attrs.frozen
class Script:
    """A Lua script, called by its hash once the engine has it."""

    source: str

    @classmethod
    def read(cls, *names: str, **constants: int) -> Script:
        """Return the files ``lua/NAME.lua`` as one script, in which ``constants`` are known by their names."""
        known = (f"local {name} = {value}\n" for name, value in constants.items())
        return cls("".join([*known, *(LUA.joinpath(f"{name}.lua").read_text("utf-8") for name in names)]))

    @functools.cached_property
    def sha(self) -> str:
        return hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


def check_name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", value):
        raise ConfigurationError(f"name must be 1 to 64 letters, digits, '_', '.' or '-', got {value!r}")
    return value


def check_lease(value: object) -> float:
    """Return ``value`` if it is a valid duration of a lease. The engine counts it in milliseconds."""
    if not is_number(value) or not 0.01 <= value <= 86_400:
        raise ConfigurationError(f"lease must be a number of seconds from 0.01 to 86400, got {value!r}")
    return value


class Connection:
    """Bounded commands to one engine, under the keys of one fleet.

    After a failure every command fails at once for half a second, so that an engine that is away costs no time. The
    password in the address never shows. For the arguments see `Fleet`.
    """

    def __init__(self, engine: str | Secret | Redis, *, name: str, timeout: float) -> None:
        self.name: str = check_name(name)
        self._timeout = check_seconds("timeout", timeout)
        engine = Secret(engine) if isinstance(engine, str) else engine
        self._owned = isinstance(engine, Secret)
        self._redis: Any = _client(engine) if isinstance(engine, Secret) else engine
        if isinstance(self._redis, type) or not callable(getattr(self._redis, "aclose", None)):  # redis.Redis has none
            raise ConfigurationError(f"engine must be a url or a redis.asyncio.Redis, got {type(engine).__name__}")
        pool = getattr(self._redis, "connection_pool", None)
        if getattr(pool, "connection_kwargs", {}).get("decode_responses"):
            raise ConfigurationError("engine must be a client that returns bytes, got one with decode_responses=True")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rest_until = float("-inf")
        self._closed = False
        self.away_since: float | None = None
        self.reason: str | None = None

    def __repr__(self) -> str:
        return f"Connection(name={self.name!r})"

    @property
    def is_away(self) -> bool:
        """Whether the last command failed because the engine is away."""
        return self.away_since is not None

    def key(self, *parts: str) -> str:
        """Return the name of a key. All keys of a fleet are in one slot of a cluster."""
        return ":".join((f"{{{self.name}}}", str(VERSION), *parts))

    async def script(
        self, script: Script, keys: Sequence[str], arguments: Sequence[bytes | str | float], *, wait: float = 0.0
    ) -> Any:
        """Run a script and return its result. See `command`."""
        try:
            return await self.command("EVALSHA", script.sha, len(keys), *keys, *arguments, wait=wait)
        except EngineUnavailableError as error:
            if error.code != "NOSCRIPT":  # after a restart or SCRIPT FLUSH
                raise
        return await self.command("EVAL", script.source, len(keys), *keys, *arguments, wait=wait)

    async def command(self, *command: bytes | str | float, wait: float = 0.0) -> Any:
        """Run a command and return its result.

        Args:
            *command: name and arguments.
            wait: further seconds to wait for the answer, such as the block time of ``XREAD BLOCK``.

        Raises:
            EngineUnavailableError: the engine is away or refused the command; ``code`` names the refusal.
        """
        loop = running_loop()
        if self._closed:
            raise ConfigurationError("the fleet is closed")
        if self._loop not in (None, loop):
            raise ConfigurationError("a fleet belongs to the event loop that used it first: make one per process")
        self._loop = loop
        if loop.time() < self._rest_until:
            raise self._unavailable()
        try:
            async with asyncio.timeout(self._timeout + wait):
                found = await self._redis.execute_command(*command)
        except Exception as error:
            failure = self._failure_of(error, loop.time())
        else:
            self._succeeded(loop.time())
            return found
        raise failure  # outside of the handler: the exception of redis-py may quote arguments

    async def aclose(self) -> None:
        """Close the connections, unless the client was borrowed."""
        if self._closed:
            return
        self._closed = True
        if self._owned:
            await self._redis.aclose()

    def _succeeded(self, now: float) -> None:
        if self.away_since is not None:
            logger.info("the engine is back after %.1f s", now - self.away_since)
        self.away_since = self.reason = None

    def _failure_of(self, error: Exception, now: float) -> EngineUnavailableError:
        """Note a failure: a refusal such as WRONGTYPE, or an engine that is away.

        Messages are left out: the engine quotes arguments in some.
        """
        names = [kind.__name__ for kind in type(error).__mro__]
        word = str(error).partition(" ")[0]
        plain = "UNKNOWN" if "unknown command" in str(error).lower() else "ERR"
        otherwise = None if "ResponseError" not in names else word if re.fullmatch(r"[A-Z]{2,20}", word) else plain
        code = next((CODES[name] for name in names if name in CODES), otherwise)
        if code is not None:
            self._succeeded(now)  # it answers
            advice = f": {ADVICE[code]}" if code in ADVICE else ""
            return EngineUnavailableError(f"the engine refused a command with {code}{advice}", code=code)
        self._rest_until = now + PROBE_INTERVAL
        reason, cause = names[0], error.__cause__ or error.__context__
        while cause is not None:
            reason = "CERTIFICATE" if type(cause).__name__ == "SSLCertVerificationError" else reason
            cause = cause.__cause__ or cause.__context__
        self.reason = f"{reason}: {ADVICE[reason]}" if reason in ADVICE else reason
        if self.away_since is None:
            self.away_since = now
            logger.warning("the engine is away (%s); working locally until it is back", self.reason)
        return self._unavailable()

    def _unavailable(self) -> EngineUnavailableError:
        return EngineUnavailableError(f"the engine of the fleet {self.name!r} is away ({self.reason})", code="AWAY")


def _client(url: Secret) -> Any:
    """Return a client that tries a command a second time only where the first found a broken connection."""
    try:
        import redis
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError as error:
        raise ConfigurationError("a fleet needs redis-py: install brokerage-async[redis]") from error
    retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    options: dict[str, Any] = {"retry": retry, "protocol": 2, "socket_timeout": None, "decode_responses": False}
    if hasattr(redis, "driver_info"):  # redis-py 7.2: it names itself to the engine, and searches all packages for that
        options["driver_info"] = None
    try:
        return Redis.from_url(url.reveal(), **options)
    except Exception as error:
        reason = type(error).__name__
    raise ConfigurationError(f"the url of the engine must be like redis://host:6379/0 ({reason})")


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
        timeout: seconds that a command waits for its answer before it fails.
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
        self._parts: dict[str, Any] = {}
        self._observers = ObserverList(observers)

    def __repr__(self) -> str:
        return f"Fleet(name={self.connection.name!r}, worker={self.worker!r})"

    @property
    def worker(self) -> str:
        """Name of this process in the engine."""
        return f"{self._id}-{os.getpid()}"  # a fleet may be made before a fork

    def add(self, name: str, part: Any) -> None:
        """Add a part, which has the methods `status` and `aclose`, under a free name. Parts call this themselves."""
        names = itertools.chain([name], (f"{name} {number}" for number in itertools.count(2)))
        self._parts[next(each for each in names if each not in self._parts)] = part

    def report(self, event: Event) -> None:
        """Pass an event on to the observers."""
        self._observers.on_event(event)

    async def status(self) -> FleetStatus:
        """Return the state of the engine and of every part."""
        now, connection = running_loop().time, self.connection
        began, latency = now(), None
        with contextlib.suppress(EngineUnavailableError):
            await connection.command("PING")
            latency = now() - began
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

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
