"""Several processes that share one customer's tokens, request budget and change feeds, over Redis or Valkey."""

from .connection import EngineUnavailableError
from .feed import FeedStatus, RedisFeed
from .feed_keys import FeedGapError, LeaseLostError
from .feed_reader import CursorReader, FeedReader, GroupReader
from .fleet import EngineStatus, Fleet, FleetStatus
from .limits import LimitsStatus, RedisLimits
from .tokens import RedisTokenStore, TokensStatus

__all__ = [
    "CursorReader",
    "EngineStatus",
    "EngineUnavailableError",
    "FeedGapError",
    "FeedReader",
    "FeedStatus",
    "Fleet",
    "FleetStatus",
    "GroupReader",
    "LeaseLostError",
    "LimitsStatus",
    "RedisFeed",
    "RedisLimits",
    "RedisTokenStore",
    "TokensStatus",
]
