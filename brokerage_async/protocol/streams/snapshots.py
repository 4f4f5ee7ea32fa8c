"""Assembly of snapshots and transactions: rows of one symbol that belong together are delivered together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from .events import EventFlag, Snapshot

# Rows that one connection holds back: the minute bars of a year. The snapshot that exceeds it is delivered in part.
MAX_ROWS = 500_000
MAX_UNSORTED = 50_000  # the same for a snapshot whose rows do not come newest first, and have to be sorted in one go
MAX_SECONDS = 120.0  # seconds that rows are held back: a snapshot that has not ended until then is delivered in part

_PENDING, _REMOVE = EventFlag.TX_PENDING.value, EventFlag.REMOVE_EVENT.value
_BEGIN, _LAST = EventFlag.SNAPSHOT_BEGIN.value, EventFlag.SNAPSHOT_END.value | EventFlag.SNAPSHOT_SNIP.value
_SNIP = EventFlag.SNAPSHOT_SNIP.value
_GROUPED = _PENDING | _BEGIN | _LAST


@attrs.define
class _Group:
    """Rows held back for one symbol: a snapshot by index, or a transaction in order."""

    is_snapshot: bool
    began: float
    sees_end: bool = False
    is_partial: bool = False
    is_sorted: bool = True
    last: float = float("inf")
    rows: dict[int, Any] = attrs.field(factory=dict)


@attrs.define
class HeldRows:
    """Number of rows that all assemblers of one connection hold back."""

    count: int = 0


@attrs.define
class SnapshotAssembler:
    """Assembler of the indexed events of one type. Rows are held back only for symbols that are wanted."""

    _model: type[Any]
    _is_wanted: Callable[[str], bool] = lambda _: True
    _held: HeldRows = attrs.field(factory=HeldRows)
    _groups: dict[str, _Group] = attrs.field(factory=dict, init=False)

    def add(self, events: list[Any], now: float = 0.0) -> list[Any]:
        """Return the events that may be delivered, with a `Snapshot` in place of the rows of one."""
        groups, ready = self._groups, list[Any]()
        for event in events:
            flags = event.event_flags or 0
            symbol = event.event_symbol
            if not (flags & _GROUPED or symbol in groups) or not self._is_wanted(symbol):
                ready.append(event)
                continue
            group = groups.get(symbol)
            if group is None or flags & _BEGIN:
                self.drop(symbol)
                group = groups[symbol] = _Group(is_snapshot=bool(flags & _BEGIN), began=now)
            rows, before = group.rows, len(group.rows)
            index = event.index or 0
            if not group.is_snapshot:
                rows[before] = event
            elif flags & _REMOVE:
                rows.pop(index, None)  # the last row is often a mere marker
            else:
                group.is_sorted = group.is_sorted and (index < group.last or index in rows)
                group.last = min(index, group.last)
                rows[index] = event
            self._held.count += len(rows) - before
            is_full = self._held.count >= MAX_ROWS or (not group.is_sorted and len(rows) >= MAX_UNSORTED)
            if flags & _LAST or is_full:
                group.sees_end = True
                group.is_partial = bool(flags & _SNIP) or not flags & _LAST
            if (is_full or not flags & _PENDING) and (group.sees_end or not group.is_snapshot):
                self._release(symbol, group, ready)
        return ready

    def drop(self, symbol: str) -> None:
        """Forget rows that are held back for a symbol."""
        if (group := self._groups.pop(symbol, None)) is not None:
            self._held.count -= len(group.rows)

    def overdue(self, now: float) -> list[Any]:
        """Return the events held back for too long. Their snapshots are partial."""
        ready = list[Any]()
        for symbol, group in list(self._groups.items()):
            if now < group.began + MAX_SECONDS:
                break
            group.is_partial = True
            self._release(symbol, group, ready)
        return ready

    def _release(self, symbol: str, group: _Group, ready: list[Any]) -> None:
        self.drop(symbol)
        rows = group.rows
        if not group.is_snapshot:
            ready.extend(rows.values())
            return
        events = tuple(reversed(rows.values())) if group.is_sorted else tuple(rows[index] for index in sorted(rows))
        ready.append(Snapshot(type=self._model, symbol=symbol, events=events, is_partial=group.is_partial))
