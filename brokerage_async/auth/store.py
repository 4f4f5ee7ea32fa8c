"""Storage of access tokens between runs, which spares short-lived processes a token request each."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import attrs

from ..config import AuthorizationCode, Environment, RefreshToken, Secret, hidden
from ..storage.files import replace_durably


@attrs.frozen
class StoredToken:
    """An access token and the time of its expiry. Never a refresh token or a client secret.

    Attributes:
        access_token: the token. Hidden in every representation.
        expires_at: epoch seconds of its expiry.
    """

    access_token: Secret = attrs.field(converter=hidden)
    expires_at: float = attrs.field(converter=float)


@attrs.frozen
class StoredRefusal:
    """The service's refusal of a set of credentials.

    Attributes:
        status: status of the answer, such as 400.
        code: its code, such as ``invalid_grant``.
        at: epoch seconds of its arrival.
    """

    status: int
    code: str
    at: float


@runtime_checkable
class TokenStore(Protocol):
    """Keeps access tokens. ``key`` identifies one set of credentials in one environment.

    A store that fails, or takes more than a few seconds, is logged and otherwise ignored. One that is a `RefusalStore`
    also keeps the refusal of credentials.
    """

    async def load(self, key: str) -> StoredToken | None:
        """Return the token kept under ``key``, or None."""
        ...

    async def save(self, key: str, token: StoredToken) -> None:
        """Keep ``token`` under ``key``."""
        ...


@runtime_checkable
class RefusalStore(TokenStore, Protocol):
    """A token store that keeps the refusal of credentials, so that no process logs in with them again.

    Too many failed logins block an address for hours. New credentials have another key.
    """

    async def load_refusal(self, key: str) -> StoredRefusal | None:
        """Return the refusal kept under ``key``, or None."""
        ...

    async def save_refusal(self, key: str, refusal: StoredRefusal) -> None:
        """Keep ``refusal`` under ``key`` until it is removed by hand."""
        ...


SUFFIX = ".saving"
"""End of the hidden name under which a file is written before it replaces the old one."""

ABANDONED_AFTER = 60.0
"""Seconds after which such a file belongs to a process that was killed."""


class FileTokenStore:
    """One JSON file of access tokens, readable by its owner only and replaced as a whole at each write.

    It keeps the refusal of credentials, too: remove the file to log in with them again.

    A process that is killed while it saves leaves a hidden file that only its owner can read. The next save after a
    minute removes it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    async def load(self, key: str) -> StoredToken | None:
        """Return the token kept under ``key``. None also if the file is invalid."""
        entry = (await asyncio.to_thread(self._read)).get(key)
        match entry:
            case {"access_token": str(token), "expires_at": int() | float() as expires_at} if token:
                return StoredToken(token, float(expires_at))
        return None

    async def save(self, key: str, token: StoredToken) -> None:
        """Keep ``token`` under ``key``, beside the others."""
        entry = {"access_token": token.access_token.reveal(), "expires_at": token.expires_at}
        await asyncio.to_thread(self._write, key, entry)

    async def load_refusal(self, key: str) -> StoredRefusal | None:
        """Return the refusal kept under ``key``. None also if the file is invalid."""
        match (await asyncio.to_thread(self._read)).get(key):
            case {"refused": {"status": int(status), "code": str(code), "at": int() | float() as at}}:
                return StoredRefusal(status, code, float(at))
        return None

    async def save_refusal(self, key: str, refusal: StoredRefusal) -> None:
        """Keep ``refusal`` under ``key``, in place of the token."""
        await asyncio.to_thread(self._write, key, {"refused": attrs.asdict(refusal)})

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_bytes())
        except (FileNotFoundError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, key: str, entry: dict[str, Any]) -> None:
        content = self._read() | {key: entry}
        folder, prefix = self._path.parent, f".{self._path.name}."
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():  # of processes that were killed while they saved. A younger one may be in use
            if path.name.startswith(prefix) and path.name.endswith(SUFFIX):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > ABANDONED_AFTER:
                        path.unlink()
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=prefix, suffix=SUFFIX)  # created with mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(content, file)
            replace_durably(self._path, Path(name))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def store_key(environment: Environment, credentials: RefreshToken | AuthorizationCode) -> str:
    """Return a one-way identifier of these credentials in this environment."""
    secret = credentials.refresh_token if isinstance(credentials, RefreshToken) else credentials.code
    scope = (credentials.scope or "") if isinstance(credentials, RefreshToken) else ""
    parts = (environment.name, environment.base_url, credentials.client_id or "")
    secrets = (credentials.client_secret.reveal(), secret.reveal())
    return hashlib.sha256("\0".join((*parts, *secrets, scope)).encode()).hexdigest()[:32]
