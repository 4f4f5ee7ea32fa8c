"""Watching: orders, positions, balances, alerts and market hours as streams of changes, by polling.

``client.watch`` is a `Watch`; `poll` does the same for any coroutine function that returns a collection.
"""

from .accounts import AccountsWatcher, BalanceKey, PositionKey
from .alerts import AlertKind
from .api import Watch
from .diff import UNCHANGED, Change, ChangeKind
from .market_hours import MarketHours, MarketKind
from .orders import LiveFilters, is_terminal
from .poll import Watcher, poll
from .sqlite_state import SqliteState
from .state import Standing, StoredChange, WatchState, WatchStateError

__all__ = [
    "UNCHANGED",
    "AccountsWatcher",
    "AlertKind",
    "BalanceKey",
    "Change",
    "ChangeKind",
    "LiveFilters",
    "MarketHours",
    "MarketKind",
    "PositionKey",
    "SqliteState",
    "Standing",
    "StoredChange",
    "Watch",
    "WatchState",
    "WatchStateError",
    "Watcher",
    "is_terminal",
    "poll",
]
