"""Watching what the service does not push: orders, quote alerts and market hours as streams of changes.

``client.watch`` is a `Watch`; `poll` does the same for any coroutine that returns a collection.
"""

from .api import UNCHANGED, AlertKind, Change, ChangeKind, MarketHours, MarketKind, Watch, Watcher, is_terminal, poll

__all__ = [
    "UNCHANGED",
    "AlertKind",
    "Change",
    "ChangeKind",
    "MarketHours",
    "MarketKind",
    "Watch",
    "Watcher",
    "is_terminal",
    "poll",
]
