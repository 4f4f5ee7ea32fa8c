"""Access tokens of a fleet: one request for all processes, whichever of them may die."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import random
import time
from contextlib import suppress
from typing import Any

import attrs
import msgspec

from .._arguments import check_type, running_loop
from ..auth.sharing import RefreshTurn
from ..auth.store import StoredRefusal, StoredToken
from ..config import Secret
from ..errors import ConfigurationError, TokenError
from .fleet import EngineUnavailableError, Fleet, Script, check_lease, logger

MIN_LIFE = 30.0  # minimum remaining lifetime in seconds of a token that is handed out

MIN_POLL, MAX_POLL = 0.02, 0.1
"""Seconds between two looks for the token that another process requests; they double from one to the other."""

HELD = 0.8
"""Part of a lease for which a turn is held. In the rest of it the others notice that it has ended."""

PATIENCE = 2.0
"""Seconds beyond the usual timeout for a slow engine to say who requests: each process would request its own."""

MAX_HOLD = 30.0
"""Seconds for which a turn is renewed. Then another process may try, although the holder is alive."""


KEPT = 3600_000  # milliseconds that a state is kept after its last change, beyond the life of its token

JOIN = Script.read("token_clock", "token_join")
RENEW = Script.read("token_clock", "token_renew")
PUBLISH = Script.read("token_clock", "token_publish", KEPT=KEPT)
END = Script.read("token_clock", "token_end")


class _Sealed(msgspec.Struct):
    context: str
    token: str


class TokenCipher:
    """Seals tokens for one place, with the key of all processes, or readable without one.

    A sealed token that was moved to another place does not open.
    """

    __slots__ = ("_fernet", "_secret", "key_id")

    def __init__(self, key: str | bytes | Secret | None) -> None:
        key = Secret(key.decode("latin-1")) if isinstance(key, bytes) else Secret(key) if isinstance(key, str) else key
        self._fernet: Any = None
        if key is not None:
            with suppress(TypeError, ValueError, AttributeError):
                self._fernet = _fernet()(key.reveal())
            if self._fernet is None:  # outside of the handler: an error of the cipher may show the key
                raise ConfigurationError(
                    "encryption_key must be what RedisTokenStore.generate_key() returns: 32 bytes in URL-safe base64"
                )
        self._secret = key or Secret()
        self.key_id: str = "plain" if key is None else self.digest("key id")

    def __repr__(self) -> str:
        return "TokenCipher(encrypted)" if self._fernet is not None else "TokenCipher(plain)"

    def digest(self, value: str) -> str:
        """Return a short one-way digest that processes use to refer to a token."""
        return hmac.new(self._secret.reveal().encode(), value.encode(), hashlib.sha256).hexdigest()[:24]

    def seal(self, token: Secret, context: str) -> bytes:
        """Return what to keep of ``token``."""
        plain = msgspec.json.encode(_Sealed(context, token.reveal()))
        return plain if self._fernet is None else bytes(self._fernet.encrypt(plain))

    def open(self, sealed: bytes, context: str) -> Secret | None:
        """Return the token, or None if it was not sealed with this key for this context."""
        try:
            plain = sealed if self._fernet is None else self._fernet.decrypt(sealed)
            found = msgspec.json.decode(plain, type=_Sealed)
        except Exception:  # a message may quote the token
            return None
        return Secret(found.token) if found.context == context else None


def _fernet() -> Any:
    try:
        from cryptography.fernet import Fernet
    except ImportError as error:
        raise ConfigurationError("encrypted tokens need cryptography: install brokerage-async[redis]") from error
    return Fernet


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
    dropped for all. While the engine is away each process requests its own tokens.

    Args:
        fleet: the connection.
        encryption_key: key of `generate_key`, the same in all processes. None leaves tokens readable in the engine.
        lease: seconds (0.01 to 86,400) within which the turn of a process that died is passed on, and the others learn
            of it.

    Raises:
        ConfigurationError: an argument is invalid, or `cryptography` is missing.
    """

    def __init__(self, fleet: Fleet, *, encryption_key: str | bytes | Secret | None = None, lease: float = 5.0) -> None:
        check_type("fleet", fleet, Fleet)
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
        return Secret(_fernet().generate_key().decode())

    async def join(
        self, key: str, *, rejected: Secret | None, due: Secret | None
    ) -> StoredToken | TokenError | RefreshTurn:
        """Return a token, the failure of another process, or the turn to request a token."""
        turn = _Turn(self, key, f"{self._fleet.worker}-{next(self._numbers)}")
        digests = [self._digest(rejected), self._digest(due)]
        delay = MIN_POLL
        try:
            while True:
                match await self.run(JOIN, key, turn.number, self.held, int(MIN_LIFE * 1000), *digests):
                    case [b"token", sealed, life, digest]:
                        token = self._cipher.open(sealed, key)
                        if token is not None:
                            return StoredToken(token, time.time() + life / 1000)
                        logger.error("the token in the engine does not open and is replaced")
                        digests[0] = digest
                    case [b"failed", failure, pause]:
                        known = _Failure(transient=True)
                        with suppress(msgspec.DecodeError):
                            known = msgspec.json.decode(failure, type=_Failure)
                        reason = "got no answer" if known.status is None else f"failed with {known.status}"
                        error = TokenError(
                            f"the token request of another process {reason}; its error says more",
                            transient=known.transient, status=known.status, code=known.code,
                        )  # fmt: skip
                        error.retry_after = pause / 1000
                        return error
                    case [b"wait", held]:
                        await asyncio.sleep(min(held / 1000 + 0.001, delay * random.uniform(0.5, 1.0)))  # noqa: S311
                        delay = min(2 * delay, MAX_POLL)
                    case [b"turn"]:
                        turn.start()
                        return turn
                    case _:
                        raise EngineUnavailableError("the engine gave an unknown answer about the token")
        except asyncio.CancelledError:
            await turn.end()  # the engine may have given the turn to a process that no longer listens
            raise

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
        kept = await self._connection.command("GET", self._connection.key("refused", key))
        return None if kept is None else msgspec.json.decode(kept, type=StoredRefusal)

    async def save_refusal(self, key: str, refusal: StoredRefusal) -> None:
        """Keep a refusal for all processes, until it is removed by hand."""
        await self._connection.command("SET", self._connection.key("refused", key), msgspec.json.encode(refusal))

    async def publish(self, key: str, turn: str, token: StoredToken) -> StoredToken:
        """Keep a token. Return the one to use."""
        life = int((token.expires_at - time.time()) * 1000)
        sealed = self._cipher.seal(token.access_token, key)
        match await self.run(PUBLISH, key, turn, sealed, self._digest(token.access_token), max(life, 1)):
            case [0, other, left] if found := self._cipher.open(other, key):
                return StoredToken(found, time.time() + left / 1000)
        return token

    async def run(self, script: Script, key: str, *arguments: bytes | str | float) -> Any:
        """Run a script on the state of one set of credentials."""
        self._last_key = key
        wait = PATIENCE if script is JOIN else 0.0
        return await self._connection.script(script, [self._state(key)], arguments, wait=wait)

    async def status(self) -> TokensStatus:
        """Return the state of the token that this process uses."""
        expires, turn, turns, seconds = None, None, None, b"0"
        if self._last_key is not None:
            with suppress(EngineUnavailableError):
                seconds, _ = await self._connection.command("TIME")
                fields = ("expires", "turn", "turns")
                expires, turn, turns = await self._connection.command("HMGET", self._state(self._last_key), *fields)
        return TokensStatus(
            is_encrypted=self._cipher.key_id != "plain",
            expires_in=None if expires is None else max(0.0, int(expires) / 1000 - int(seconds)),
            is_refreshing=turn is not None,
            turns=None if turns is None else int(turns),
        )

    async def aclose(self) -> None:
        """Do nothing: no background task outlives a turn."""

    def _state(self, key: str) -> str:
        return self._connection.key("token", self._cipher.key_id, key)

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
        async def renew() -> None:
            store, end = self._store, running_loop().time() + MAX_HOLD
            while running_loop().time() < end:
                await asyncio.sleep(store.lease / 3)
                with suppress(EngineUnavailableError):
                    if not await store.run(RENEW, self._key, self.number, store.held):
                        return

        self._renewal = running_loop().create_task(renew(), name="brokerage_async token turn")

    async def publish(self, token: StoredToken) -> StoredToken:
        """Keep ``token`` for all. Return the one to use."""
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
