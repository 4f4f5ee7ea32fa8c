"""Push: events of accounts and market data as async iterators, over one connection of each kind.

``client.stream`` is a `Streams`. Streams deliver at most once: watch the lists (``client.watch``) for decisions.
"""

from ..protocol.streams.events import AccountEvent, EventFlag, Gap, MarketEvent, Snapshot, UnknownEvent
from .api import AccountStream, QuoteStream, Recording, Streams
from .consumer import MARKET_POLICIES, Batches, Conflate, DropOldest, Fail, Policy, gaps_of

__all__ = [
    "MARKET_POLICIES", "AccountEvent", "AccountStream", "Batches", "Conflate", "DropOldest", "EventFlag", "Fail", "Gap",
    "MarketEvent", "Policy", "QuoteStream", "Recording", "Snapshot", "Streams", "UnknownEvent", "gaps_of",
]  # fmt: skip
