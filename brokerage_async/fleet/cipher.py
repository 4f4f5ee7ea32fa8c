"""Encryption of the tokens in the engine, with the Fernet recipe of `cryptography`."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec

from .._secrets import Secret
from ..errors import ConfigurationError

__all__ = ["TokenCipher"]

INVALID_KEY = "encryption_key must be what RedisTokenStore.generate_key() returns: 32 bytes in URL-safe base64"


class _Sealed(msgspec.Struct):
    context: str
    token: str


class TokenCipher:
    """Seals tokens for one place; a sealed token that was moved to another place does not open.

    Args:
        key: the key of all processes, or None to leave tokens readable.

    Raises:
        ConfigurationError: the key is invalid, or `cryptography` is not installed (extra ``brokerage-async[redis]``).
    """

    __slots__ = ("_fernet", "_secret", "key_id")

    def __init__(self, key: str | bytes | Secret | None) -> None:
        key = Secret(key.decode("latin-1")) if isinstance(key, bytes) else Secret(key) if isinstance(key, str) else key
        self._fernet: Any = None if key is None else _fernet(key)
        self._secret = key or Secret()
        self.key_id: str = "plain" if key is None else self.digest("key id")

    def __repr__(self) -> str:
        return "TokenCipher(encrypted)" if self._fernet is not None else "TokenCipher(plain)"

    def digest(self, value: str) -> str:
        """Return a short one-way digest of a token, by which processes refer to it."""
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


def _fernet(key: Secret) -> Any:
    try:
        from cryptography.fernet import Fernet
    except ImportError as error:
        raise ConfigurationError("encrypted tokens need cryptography: install brokerage-async[redis]") from error
    try:
        return Fernet(key.reveal())
    except (TypeError, ValueError, AttributeError):
        pass
    raise ConfigurationError(INVALID_KEY)
