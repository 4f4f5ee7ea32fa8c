"""Several processes that share one customer's tokens, request budget and change feeds, over Redis or Valkey."""

from .feed import CursorReader, FeedGapError, FeedReader, FeedStatus, GroupReader, LeaseLostError, RedisFeed
from .fleet import EngineStatus, EngineUnavailableError, Fleet, FleetStatus
from .limits import LimitsStatus, RedisLimits
from .tokens import RedisTokenStore, TokensStatus

__all__ = [
    "CursorReader", "EngineStatus", "EngineUnavailableError", "FeedGapError", "FeedReader", "FeedStatus", "Fleet",
    "FleetStatus", "GroupReader", "LeaseLostError", "LimitsStatus", "RedisFeed", "RedisLimits", "RedisTokenStore",
    "TokensStatus",
]  # fmt: skip
