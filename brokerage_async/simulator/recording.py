"""Recording of everything that changed a brokerage: replayed, it gives the same state.

The brokerage is a function of its settings and of the requests and actions that it was given, with their times. So its
state needs no other form than these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from .ledger import RequestRecord

__all__ = ["ActionEntry", "Entry", "Recording", "RequestEntry", "Snapshot", "StateError"]


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
    """State of a simulator at a time, for `Simulator.restore`."""

    entries: tuple[Entry, ...] = attrs.field(repr=False)
    at: float


class Recording:
    """Entries in order. ``on_entry``, if any, is called with each new one before the response leaves."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self.entries: list[Entry] = list(entries)
        self.on_entry: Callable[[Entry], None] | None = None

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        if self.on_entry is not None:
            self.on_entry(entry)
        self.entries.append(entry)
