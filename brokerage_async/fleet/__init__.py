"""Several processes that share one customer's tokens, request budget and change feeds, over Redis or Valkey."""

from .feed import FeedStatus, RedisFeed
from .feed_reader import CursorReader, FeedGapError, FeedReader, GroupReader, LeaseLostError
from .fleet import EngineStatus, EngineUnavailableError, Fleet, FleetStatus
from .limits import LimitsStatus, RedisLimits
from .tokens import RedisTokenStore, TokensStatus

__all__ = [
    "CursorReader", "EngineStatus", "EngineUnavailableError", "FeedGapError", "FeedReader", "FeedStatus", "Fleet",
    "FleetStatus", "GroupReader", "LeaseLostError", "LimitsStatus", "RedisFeed", "RedisLimits", "RedisTokenStore",
    "TokensStatus",
]  # fmt: skip
