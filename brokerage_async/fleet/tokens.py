"""Access tokens of a fleet: one request for all processes, whichever of them may die."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from typing import Any

import attrs
import msgspec

from .._arguments import running_loop
from ..auth.sharing import RefreshTurn
from ..auth.store import StoredRefusal, StoredToken
from ..config import Secret
from ..errors import ConfigurationError, TokenError
from .cipher import TokenCipher
from .connection import EngineUnavailableError, Script, check_lease
from .fleet import Fleet
from .scripts import END, JOIN, PUBLISH, RENEW

__all__ = ["RedisTokenStore", "TokensStatus"]

logger: logging.Logger = logging.getLogger("brokerage_async.fleet")

MIN_LIFE = 30.0
"""Minimum remaining lifetime in seconds of a token that is handed out."""

MIN_POLL, MAX_POLL = 0.02, 0.1
"""Seconds between two looks for the token that another process requests; they double from one to the other."""

HELD = 0.8
"""Part of a lease for which a turn is held. In the rest of it the others notice that it has ended."""

PATIENCE = 2.0
"""Seconds beyond the usual timeout for a slow engine to say who requests: each process would request its own."""

MAX_HOLD = 30.0
"""Seconds for which a turn is renewed. Then another process may try, although the holder is alive."""


class _Failure(msgspec.Struct):
    """Failure of a token request, for the other processes."""

    transient: bool
    status: int | None = None
    code: str | None = None


@attrs.frozen(kw_only=True)
class TokensStatus:
    """State of the shared token.

    Attributes:
        is_encrypted: whether it is encrypted in the engine.
        expires_in: seconds that it lives on, None if there is none or the engine is away.
        is_refreshing: whether a process requests the next one.
        turns: how many turns to request a token were given so far, None while the engine is away.
    """

    is_encrypted: bool
    expires_in: float | None
    is_refreshing: bool
    turns: int | None


class RedisTokenStore:
    """Token store of a fleet: of all processes that need a token, one requests it.

    The others wait for it. Should that process die, another takes its turn once the lease is over. A process that was
    paused for longer than its lease cannot replace the token of its successor. A token that the service rejects is
    dropped for all. While the engine is away each process requests tokens of its own.

    Args:
        fleet: the connection.
        encryption_key: key of `generate_key`, the same in all processes. None leaves tokens readable in the engine.
        lease: seconds (0.01 to 86,400) within which the turn of a process that died is passed on, and the others learn
            of it.

    Raises:
        ConfigurationError: an argument is invalid, or `cryptography` is missing.
    """

    def __init__(self, fleet: Fleet, *, encryption_key: str | bytes | Secret | None = None, lease: float = 5.0) -> None:
        if not isinstance(fleet, Fleet):
            raise ConfigurationError(f"fleet must be a Fleet, got {type(fleet).__name__}")
        self._cipher = TokenCipher(encryption_key)
        del encryption_key  # the variables of this frame may show up in a traceback
        self.lease: float = check_lease(lease)
        self.held: int = int(self.lease * HELD * 1000)
        self._connection = fleet.connection
        self._fleet = fleet
        self._numbers = itertools.count(1)
        self._last_key: str | None = None
        fleet.add("tokens", self)

    def __repr__(self) -> str:
        return f"RedisTokenStore({self._connection.name!r}, {self._cipher!r})"

    @staticmethod
    def generate_key() -> Secret:
        """Return a new random key. Keep it with your other secrets.

        Processes with another key share another token, so replacing the key costs one token request.
        """
        try:
            from cryptography.fernet import Fernet
        except ImportError as error:
            raise ConfigurationError("encrypted tokens need cryptography: install brokerage-async[redis]") from error
        return Secret(Fernet.generate_key().decode())

    async def join(
        self, key: str, *, rejected: Secret | None, due: Secret | None
    ) -> StoredToken | TokenError | RefreshTurn:
        """Return a token, the failure of another process, or the turn to request a token.

        Raises:
            EngineUnavailableError: the engine is away.
        """
        turn = _Turn(self, key, f"{self._fleet.worker}-{next(self._numbers)}")
        try:
            return await self._join(key, turn, self._digest(rejected), self._digest(due))
        except asyncio.CancelledError:
            await turn.end()  # the engine may have given the turn to a process that no longer listens
            raise

    async def _join(self, key: str, turn: _Turn, rejected: str, due: str) -> StoredToken | TokenError | RefreshTurn:
        delay = MIN_POLL
        while True:
            match await self.run(JOIN, key, turn.number, self.held, int(MIN_LIFE * 1000), rejected, due):
                case [b"token", sealed, life, digest]:
                    token = self._cipher.open(sealed, key)
                    if token is not None:
                        return StoredToken(token, time.time() + life / 1000)
                    logger.error("the token in the engine does not open and is replaced")
                    rejected = digest
                case [b"failed", failure, pause]:
                    return _shared_failure(failure, pause / 1000)
                case [b"wait", held]:
                    await asyncio.sleep(min(held / 1000 + 0.001, delay * random.uniform(0.5, 1.0)))  # noqa: S311
                    delay = min(2 * delay, MAX_POLL)
                case [b"turn"]:
                    turn.start()
                    return turn
                case _:
                    raise EngineUnavailableError("the engine gave an unknown answer about the token")

    async def load(self, key: str) -> StoredToken | None:
        """Return the token of the fleet, if there is one."""
        sealed, expires = await self._connection.command("HMGET", self._state(key), "token", "expires")
        token = None if sealed is None else self._cipher.open(sealed, key)
        return None if token is None else StoredToken(token, int(expires) / 1000)

    async def save(self, key: str, token: StoredToken) -> None:
        """Keep a token that was requested without a turn, unless the fleet has one."""
        await self.publish(key, "", token)

    async def load_refusal(self, key: str) -> StoredRefusal | None:
        """Return the refusal of these credentials by the service, if there is one."""
        kept = await self._connection.command("GET", self._refused(key))
        return None if kept is None else msgspec.json.decode(kept, type=StoredRefusal)

    async def save_refusal(self, key: str, refusal: StoredRefusal) -> None:
        """Keep a refusal for all processes, until it is removed by hand."""
        await self._connection.command("SET", self._refused(key), msgspec.json.encode(refusal))

    async def publish(self, key: str, turn: str, token: StoredToken) -> StoredToken:
        """Keep a token; return the one to use."""
        life = int((token.expires_at - time.time()) * 1000)
        sealed = self._cipher.seal(token.access_token, key)
        reply = await self.run(PUBLISH, key, turn, sealed, self._digest(token.access_token), max(life, 1))
        match reply:
            case [0, other, left]:
                found = self._cipher.open(other, key)
                return token if found is None else StoredToken(found, time.time() + left / 1000)
        return token

    async def run(self, script: Script, key: str, *arguments: bytes | str | float) -> Any:
        """Run a script on the state of one set of credentials."""
        self._last_key = key
        wait = PATIENCE if script is JOIN else 0.0
        return await self._connection.script(script, [self._state(key)], arguments, wait=wait)

    async def status(self) -> TokensStatus:
        """Return the state of the token that this process uses."""
        is_encrypted = self._cipher.key_id != "plain"
        fields: list[bytes | None] = [None] * 3
        seconds = b"0"
        if self._last_key is not None and not self._connection.is_away:
            try:
                fields = await self._connection.command(
                    "HMGET", self._state(self._last_key), "expires", "turn", "turns"
                )
                seconds = (await self._connection.command("TIME"))[0]
            except EngineUnavailableError:
                fields = [None] * 3
        expires, turn, turns = fields
        return TokensStatus(
            is_encrypted=is_encrypted,
            expires_in=None if expires is None else max(0.0, int(expires) / 1000 - int(seconds)),
            is_refreshing=turn is not None,
            turns=None if turns is None else int(turns),
        )

    async def aclose(self) -> None:
        """Do nothing: no background task outlives a turn."""

    def _state(self, key: str) -> str:
        return self._connection.key("token", self._cipher.key_id, key)

    def _refused(self, key: str) -> str:
        return self._connection.key("refused", key)

    def _digest(self, token: Secret | None) -> str:
        return "" if token is None else self._cipher.digest(token.reveal())


class _Turn:
    """A turn of this process, renewed in the background while the request is under way."""

    __slots__ = ("_key", "_renewal", "_store", "number")

    def __init__(self, store: RedisTokenStore, key: str, number: str) -> None:
        self._store = store
        self._key = key
        self.number = number
        self._renewal: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to renew the lease."""
        self._renewal = running_loop().create_task(self._renew(), name="brokerage_async token turn")

    async def publish(self, token: StoredToken) -> StoredToken:
        """Keep ``token`` for all; return the one to use."""
        self._stop()
        try:
            return await self._store.publish(self._key, self.number, token)
        except EngineUnavailableError as error:
            logger.warning("the new token was not shared: %s", error)
            return token

    async def fail(self, error: TokenError, pause: float) -> None:
        """Spare all others the same failure for ``pause`` seconds."""
        failure = msgspec.json.encode(_Failure(transient=error.transient, status=error.status, code=error.code))
        await self.end(failure, int(pause * 1000))

    async def release(self) -> None:
        """Pass the turn on, if it is still held."""
        if self._renewal is not None:
            await self.end()

    async def end(self, *failure: bytes | float) -> None:
        """End the turn, with a failure and the milliseconds of its pause if there was one."""
        self._stop()
        try:
            await self._store.run(END, self._key, self.number, *failure)
        except EngineUnavailableError as error:
            logger.debug("a turn was left to its lease: %s", error)

    def _stop(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None

    async def _renew(self) -> None:
        store, end = self._store, running_loop().time() + MAX_HOLD
        while running_loop().time() < end:
            await asyncio.sleep(store.lease / 3)
            try:
                if not await store.run(RENEW, self._key, self.number, store.held):
                    return
            except EngineUnavailableError:
                continue


def _shared_failure(failure: bytes, pause: float) -> TokenError:
    try:
        found = msgspec.json.decode(failure, type=_Failure)
    except msgspec.DecodeError:
        found = _Failure(transient=True)
    reason = "got no answer" if found.status is None else f"failed with {found.status}"
    error = TokenError(
        f"the token request of another process {reason}; its error says more",
        transient=found.transient,
        status=found.status,
        code=found.code,
    )
    error.retry_after = pause
    return error
