"""Recording of everything that changed a brokerage: replayed, it gives the same state.

The brokerage is a function of its settings and of the requests and actions that it was given, with their times. So its
state needs no other form than these. A state file keeps them in SQLite, written before each response. It survives a
killed process, not a power failure.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import msgspec

from .ledger import RequestRecord


class StateError(ValueError):
    """State that cannot be restored: of other settings, of another version, in use, or damaged."""


@attrs.frozen(kw_only=True)
class RequestEntry:
    """Request with its record. ``url``, ``headers`` and ``body`` are kept of requests that may change the state."""

    record: RequestRecord
    url: str | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    body: bytes | None = attrs.field(default=None, repr=False)

    @property
    def at(self) -> float:
        """Time of arrival in epoch seconds."""
        return self.record.at


@attrs.frozen(kw_only=True)
class ActionEntry:
    """Action of a test or of the control API at a time (epoch seconds), with its keyword arguments."""

    at: float
    name: str
    arguments: Mapping[str, Any]


Entry = RequestEntry | ActionEntry


@attrs.frozen
class Snapshot:
    """State of a simulator ``at`` a time, for `Simulator.restore`: the ``entries`` that lead to it."""

    entries: tuple[Entry, ...] = attrs.field(repr=False)
    at: float


_FORMAT = "2"
_INSERT = "INSERT INTO entries (at, action, content, body) VALUES (?, ?, ?, ?)"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, action TEXT, content TEXT NOT NULL, body BLOB
);
"""


class StateFile:
    """Recording in a file. It belongs to one simulator at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(self._path, timeout=0.2, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StateError(f"cannot open the state file {self._path}: {error}") from None
        try:
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=OFF")
            self._connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            self._connection.close()
            reason = "another simulator uses it" if "locked" in str(error) else str(error)
            raise StateError(f"cannot open the state file {self._path}: {reason}") from None

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        self._connection.close()

    def check_settings(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return the settings that the file was begun with. Raise StateError if they differ in more than the start."""
        wanted = {"format": _FORMAT, **settings}
        try:
            stored = dict(self._connection.execute("SELECT name, value FROM settings"))
            if not stored:
                self._connection.executemany("INSERT INTO settings VALUES (?, ?)", wanted.items())
                return wanted
            datetime.fromisoformat(stored["start"])
        except (sqlite3.Error, KeyError, ValueError) as error:
            raise self._damaged(error) from None
        if stored.get("format") != _FORMAT:
            raise StateError(f"the state file {self._path} was written by another version: use that, or another file")
        for name in sorted((wanted.keys() | stored.keys()) - {"start"}):
            if wanted.get(name) != stored.get(name):
                raise StateError(
                    f"{name} must be {stored.get(name)} for the state file {self._path}, got {wanted.get(name)}: "
                    "use the same options, or another file"
                )
        return stored

    def entries(self) -> list[Entry]:
        """Return all entries. Raise StateError if they cannot be read."""
        try:
            rows = self._connection.execute("SELECT at, action, content, body FROM entries ORDER BY seq")
            found: list[Entry] = []
            for at, action, content, body in rows:
                read = msgspec.json.decode(content, type=dict[str, Any])
                if action is not None:
                    found.append(ActionEntry(at=float(at), name=action, arguments=read))
                else:
                    found.append(msgspec.convert({**read, "body": body}, RequestEntry))
            return found
        except (sqlite3.Error, msgspec.DecodeError, AttributeError, TypeError, KeyError, ValueError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> StateError:
        return StateError(f"the state file {self._path} is damaged: {error}; use another file")

    def add(self, entry: Entry) -> None:
        """Append an entry. It is safe once this returns."""
        self._connection.execute(_INSERT, _row(entry))

    def replace(self, entries: Iterable[Entry]) -> None:
        """Replace all entries."""
        self._connection.execute("BEGIN")
        with self._connection:  # which commits, or rolls back
            self._connection.execute("DELETE FROM entries")
            self._connection.executemany(_INSERT, map(_row, entries))


def _row(entry: Entry) -> tuple[float, str | None, str, bytes | None]:
    if isinstance(entry, ActionEntry):
        try:
            return entry.at, entry.name, msgspec.json.encode(entry.arguments).decode(), None
        except TypeError:
            what = f"{entry.name} cannot be kept in a state file"
            raise StateError(f"{what}: pass prices= to the constructor instead") from None
    content: dict[str, Any] = {"record": attrs.asdict(entry.record)}
    if entry.url is not None:
        content |= {"url": entry.url, "headers": {name: str(value) for name, value in entry.headers.items()}}
    return entry.at, None, msgspec.json.encode(content).decode(), None if entry.body is None else bytes(entry.body)
