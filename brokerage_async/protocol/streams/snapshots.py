"""Assembly of snapshots and transactions: rows of one symbol that belong together are delivered together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .events import EventFlag, Snapshot

__all__ = ["MAX_ROWS", "SnapshotAssembler"]

MAX_ROWS = 500_000
"""Rows of one snapshot that are held back; a longer one is delivered in part."""

_PENDING, _REMOVE = EventFlag.TX_PENDING.value, EventFlag.REMOVE_EVENT.value
_BEGIN, _LAST = EventFlag.SNAPSHOT_BEGIN.value, EventFlag.SNAPSHOT_END.value | EventFlag.SNAPSHOT_SNIP.value
_SNIP = EventFlag.SNAPSHOT_SNIP.value
_GROUPED = _PENDING | _BEGIN | _LAST


class _Group:
    """Rows held back for one symbol: a snapshot by index, or a transaction in order."""

    __slots__ = ("is_partial", "is_snapshot", "rows", "sees_end")

    def __init__(self, *, is_snapshot: bool) -> None:
        self.is_snapshot = is_snapshot
        self.sees_end = self.is_partial = False
        self.rows: dict[Any, Any] = {}


class SnapshotAssembler:
    """Assembler of the indexed events of one type; rows are held back only for symbols that are wanted."""

    def __init__(self, model: type[Any], is_wanted: Callable[[str], bool] = lambda _: True) -> None:
        self._model = model
        self._is_wanted = is_wanted
        self._groups: dict[str, _Group] = {}

    def add(self, events: list[Any]) -> list[Any]:
        """Return the events that may be delivered, with a `Snapshot` in place of the rows of one."""
        groups, ready = self._groups, list[Any]()
        for event in events:
            flags = event.event_flags or 0
            if (flags & _GROUPED or event.event_symbol in groups) and self._is_wanted(event.event_symbol):
                self._hold(event, flags, ready)
            else:
                ready.append(event)
        return ready

    def drop(self, symbol: str) -> None:
        """Forget rows that are held back for a symbol."""
        self._groups.pop(symbol, None)

    def _hold(self, event: Any, flags: int, ready: list[Any]) -> None:
        symbol = event.event_symbol
        group = self._groups.get(symbol)
        if group is None or flags & _BEGIN:
            group = self._groups[symbol] = _Group(is_snapshot=bool(flags & _BEGIN))
        if not group.is_snapshot:
            group.rows[len(group.rows)] = event
        elif flags & _REMOVE:
            group.rows.pop(event.index, None)  # the last row is often a mere marker
        else:
            group.rows[event.index] = event
        if flags & _LAST or len(group.rows) >= MAX_ROWS:
            group.sees_end = True
            group.is_partial = bool(flags & _SNIP) or not flags & _LAST
        if flags & _PENDING and len(group.rows) < MAX_ROWS:
            return
        if group.is_snapshot and not group.sees_end:
            return
        del self._groups[symbol]
        if group.is_snapshot:
            ready.append(self._snapshot(symbol, group))
        else:
            ready.extend(group.rows.values())

    def _snapshot(self, symbol: str, group: _Group) -> Snapshot:
        indexes = sorted(group.rows, key=lambda index: index or 0)
        rows = tuple([group.rows[index] for index in indexes])
        return Snapshot(type=self._model, symbol=symbol, events=rows, is_partial=group.is_partial)
