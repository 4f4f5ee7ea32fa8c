"""Journals: durable records of orders, written before the orders are sent.

- ``SqliteJournal(path)``: one file on this machine, shared by its processes. Needs nothing but Python.
- ``PostgresJournal(dsn)``: one table for workers on several machines. Extra ``[postgres]``.
- ``MemoryJournal()``: nothing survives the process. For tests and simulations.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import EntryKey, EntryState, Halt, Journal, JournalEntry, JournalError, renew_claims

if TYPE_CHECKING:
    from .postgres import PostgresJournal
    from .sqlite import MemoryJournal, SqliteJournal

__all__ = [
    "EntryKey",
    "EntryState",
    "Halt",
    "Journal",
    "JournalEntry",
    "JournalError",
    "MemoryJournal",
    "PostgresJournal",
    "SqliteJournal",
    "renew_claims",
]


_LAZY = {"MemoryJournal": ".sqlite", "PostgresJournal": ".postgres", "SqliteJournal": ".sqlite"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name], __name__), name)
