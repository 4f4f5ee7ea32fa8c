"""Where orders are written down before they are sent: the public door to the journals.

- ``SqliteJournal(path)``: one file on this machine, shared by its processes; needs nothing but Python.
- ``PostgresJournal(dsn)``: one table for workers on several machines; extra ``[postgres]``.
- ``MemoryJournal()``: nothing survives the process; for tests and simulations.

Anything else with the methods of ``Journal`` serves as well. Databases are imported only when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import EntryKey, EntryState, Journal, JournalEntry, JournalError
from .memory import MemoryJournal

if TYPE_CHECKING:
    from .postgres import PostgresJournal
    from .sqlite import SqliteJournal

__all__ = [
    "EntryKey",
    "EntryState",
    "Journal",
    "JournalEntry",
    "JournalError",
    "MemoryJournal",
    "PostgresJournal",
    "SqliteJournal",
]


def __getattr__(name: str) -> Any:
    if name == "SqliteJournal":
        from .sqlite import SqliteJournal

        return SqliteJournal
    if name == "PostgresJournal":
        from .postgres import PostgresJournal

        return PostgresJournal
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
