"""Observation of a client: one record per attempt, events of its background work, and OpenTelemetry metrics of both."""

from .records import (
    Attempt,
    Event,
    EventObserver,
    FeedLag,
    FillSeen,
    Observer,
    ObserverList,
    OpenEntries,
    OpenTelemetryMetrics,
    OrderOutcome,
    PollStarted,
    TokenRequest,
)

__all__ = [
    "Attempt", "Event", "EventObserver", "FeedLag", "FillSeen", "Observer", "ObserverList", "OpenEntries",
    "OpenTelemetryMetrics", "OrderOutcome", "PollStarted", "TokenRequest",
]  # fmt: skip
