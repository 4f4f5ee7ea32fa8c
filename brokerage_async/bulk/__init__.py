"""Bulk fetches: the definitions and events of many instruments at once (``client.bulk``).

Every method returns a `BulkFetch`, which sends nothing until it is iterated or awaited. Results are keyed by the
symbols exactly as requested.
"""

from .api import Bulk, BulkOptions, Symbols, over_range, split_range
from .fetch import BulkFetch, BulkResult, FailureScope, FetchBatch, Progress, failure_scope
from .to_file import FileResult, fetch_to_file
from .universe import UniverseFetch, UniverseResult, universe_diff

__all__ = [
    "Bulk", "BulkFetch", "BulkOptions", "BulkResult", "FailureScope", "FetchBatch", "FileResult", "Progress", "Symbols",
    "UniverseFetch", "UniverseResult", "failure_scope", "fetch_to_file", "over_range", "split_range", "universe_diff",
]  # fmt: skip
