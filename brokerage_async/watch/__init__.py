"""Watching: lists and fills as streams, by polling. ``client.watch`` is a `Watch`, `poll` watches any collection."""

from ..protocol.order_status import is_complete, is_terminal
from .api import OrderOptions, Watch, WatchOptions
from .diff import UNCHANGED, AlertKind, Change, ChangeKind
from .ledger import Discrepancy, DiscrepancyKind, Fill, FillKind
from .lists import BalanceKey, FillWatcher, LiveFilters, PositionKey
from .market import MarketHours, MarketKind
from .poll import AccountsWatcher, Watcher, poll
from .state import SqliteState, Standing, StoredChange, WatchState, WatchStateError

__all__ = [
    "UNCHANGED", "AccountsWatcher", "AlertKind", "BalanceKey", "Change", "ChangeKind", "Discrepancy", "DiscrepancyKind",
    "Fill", "FillKind", "FillWatcher", "LiveFilters", "MarketHours", "MarketKind", "OrderOptions", "PositionKey",
    "SqliteState", "Standing", "StoredChange", "Watch", "WatchOptions", "WatchState", "WatchStateError", "Watcher",
    "is_complete", "is_terminal", "poll",
]  # fmt: skip
