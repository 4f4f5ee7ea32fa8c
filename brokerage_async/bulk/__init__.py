"""Definitions and events of many instruments at once: ``client.bulk``.

Every method returns a `BulkFetch`, which asks for nothing until it is iterated or awaited. What is found is found under
the symbol as it was asked for.
"""

from .api import Bulk, BulkFetch, BulkResult, Fetch, Progress, Symbols, Verdict, judge, over_range, split_range

__all__ = [
    "Bulk",
    "BulkFetch",
    "BulkResult",
    "Fetch",
    "Progress",
    "Symbols",
    "Verdict",
    "judge",
    "over_range",
    "split_range",
]
