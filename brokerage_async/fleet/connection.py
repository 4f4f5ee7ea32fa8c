"""Connection to Redis or Valkey: bounded commands, scripts, and a breaker while the engine is away."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from .._arguments import check_seconds, is_number, running_loop
from .._secrets import Secret
from ..errors import BrokerageError, ConfigurationError

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["Connection", "EngineUnavailableError", "Script", "check_lease", "check_name"]

logger: logging.Logger = logging.getLogger("brokerage_async.fleet")

VERSION = 1
"""Version of the keys; those of another version have other names."""

PROBE_INTERVAL = 0.5
"""Seconds after a failure in which no command is tried."""

ADVICE = {
    "AuthenticationError": "check the user name and the password of its url",
    "WRONGTYPE": "a key of this fleet holds another type: delete it, or give the fleet another name",
    "NOPERM": "its user must be allowed to run scripts on the keys of this fleet",
    "OOM": "it is out of memory: raise maxmemory",
}


class EngineUnavailableError(BrokerageError):
    """The engine (Redis or Valkey) is away, or refused a command; the service was not involved."""


@attrs.frozen
class Script:
    """A Lua script, called by its hash once the engine has it."""

    source: str
    sha: str = attrs.field(init=False, default=attrs.Factory(lambda self: _hash(self.source), takes_self=True))


def check_name(value: object) -> str:
    """Return ``value`` if it can be part of the name of a key."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", value):
        raise ConfigurationError(f"name must be 1 to 64 letters, digits, '_', '.' or '-', got {value!r}")
    return value


def check_lease(value: object) -> float:
    """Return ``value`` if a lease can last so many seconds; the engine counts it in milliseconds."""
    if not is_number(value) or not 0.01 <= value <= 86_400:
        raise ConfigurationError(f"lease must be a number of seconds from 0.01 to 86400, got {value!r}")
    return value


def _hash(source: str) -> str:
    return hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


class Connection:
    """Bounded commands to one engine, under the keys of one fleet.

    After a failure every command fails at once for half a second, so that an engine that is away costs no time. The
    password in the address never shows.

    Args:
        engine: address such as ``redis://user:password@host:6379/0``, or a client of redis-py, which is borrowed.
        name: name of the fleet, in the names of all its keys.
        timeout: seconds after which a command without an answer has failed.

    Raises:
        ConfigurationError: redis-py is not installed (extra ``brokerage-async[redis]``), or an argument is invalid.
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
        """Return the name of a key; all keys of a fleet are in one slot of a cluster."""
        return ":".join((f"{{{self.name}}}", str(VERSION), *parts))

    async def script(
        self, script: Script, keys: Sequence[str], arguments: Sequence[bytes | str | float], *, wait: float = 0.0
    ) -> Any:
        """Run a script and return its result; see `command`."""
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
            wait: further seconds to wait for the answer, such as those of ``XREAD BLOCK``.

        Raises:
            EngineUnavailableError: the engine is away or refused the command; ``code`` names the refusal.
        """
        loop = self._enter()
        if loop.time() < self._rest_until:
            raise self._unavailable()
        try:
            async with asyncio.timeout(self._timeout + wait):
                found = await self._redis.execute_command(*command)
        except Exception as error:
            failure = self._failed(error, loop.time())
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

    def _enter(self) -> asyncio.AbstractEventLoop:
        loop = running_loop()
        if self._closed:
            raise ConfigurationError("the fleet is closed")
        if self._loop is not loop:
            if self._loop is not None:
                raise ConfigurationError("a fleet belongs to the event loop that used it first: make one per process")
            self._loop = loop
        return loop

    def _succeeded(self, now: float) -> None:
        if self.away_since is not None:
            logger.info("the engine is back after %.1f s", now - self.away_since)
        self.away_since = self.reason = None

    def _failed(self, error: Exception, now: float) -> EngineUnavailableError:
        code = _refusal(error)
        if code is not None:
            self._succeeded(now)  # it answers
            advice = f": {ADVICE[code]}" if code in ADVICE else ""
            return EngineUnavailableError(f"the engine refused a command with {code}{advice}", code=code)
        self._rest_until = now + PROBE_INTERVAL
        reason = type(error).__name__
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
        from redis import asyncio as redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import ConnectionError as BrokenConnectionError
    except ImportError as error:
        raise ConfigurationError("a fleet needs redis-py: install brokerage-async[redis]") from error
    retry = Retry(NoBackoff(), 1, supported_errors=(BrokenConnectionError,))
    try:
        return redis.Redis.from_url(url.reveal(), retry=retry, protocol=2, socket_timeout=None, decode_responses=False)
    except Exception as error:
        reason = type(error).__name__
    raise ConfigurationError(f"the url of the engine must be like redis://host:6379/0 ({reason})")


def _refusal(error: Exception) -> str | None:
    """Return the code of a refusal such as WRONGTYPE, or None if the engine is away.

    Messages are left out: the engine quotes arguments in some.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"DataError", "UnicodeEncodeError"}:  # an argument that cannot be sent
        return "DATA"
    if "ResponseError" not in names or names & {"ReadOnlyError", "ClusterDownError", "MasterDownError"}:
        return None
    if "NoScriptError" in names:
        return "NOSCRIPT"
    if "NoPermissionError" in names:
        return "NOPERM"
    if "OutOfMemoryError" in names:
        return "OOM"
    code = str(error).partition(" ")[0]
    return code if re.fullmatch(r"[A-Z]{2,20}", code) else "ERR"
