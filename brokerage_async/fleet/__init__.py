"""Several processes that share one customer's tokens, request budget and change feeds, over Redis or Valkey."""

from .connection import EngineUnavailableError
from .fleet import EngineStatus, Fleet, FleetStatus
from .limits import LimitsStatus, RedisLimits
from .tokens import RedisTokenStore, TokensStatus

__all__ = [
    "EngineStatus",
    "EngineUnavailableError",
    "Fleet",
    "FleetStatus",
    "LimitsStatus",
    "RedisLimits",
    "RedisTokenStore",
    "TokensStatus",
]
