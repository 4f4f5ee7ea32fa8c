"""OpenTelemetry metrics of a client and of its background work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._version import __version__
from ..errors import ConfigurationError
from .records import Attempt, Event, FeedLag, PollStarted, TokenRequest

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider

__all__ = ["OpenTelemetryMetrics"]


class OpenTelemetryMetrics:
    """An observer that records metrics, for ``Client(..., observers=[OpenTelemetryMetrics()])``.

    One instance serves any number of clients and fleets. Attributes of the metrics name operations, outcomes, statuses,
    lists and feeds, never accounts or arguments.

    Args:
        meter_provider: where to record; None for the global one.

    Raises:
        ConfigurationError: opentelemetry-api is not installed (extra ``brokerage-async[otel]``).
    """

    def __init__(self, meter_provider: MeterProvider | None = None) -> None:
        try:
            from opentelemetry.metrics import get_meter
        except ImportError as error:
            raise ConfigurationError("metrics need opentelemetry-api: install brokerage-async[otel]") from error
        meter = get_meter("brokerage_async", __version__, meter_provider)
        self._requests = meter.create_counter("brokerage.requests", "{request}", "Attempts that have ended")
        self._retries = meter.create_counter("brokerage.retries", "{request}", "Attempts that are repeated")
        self._durations = meter.create_histogram("brokerage.request.duration", "s")
        self._waits = meter.create_histogram("brokerage.request.wait", "s")
        self._tokens = meter.create_counter("brokerage.token.requests", "{request}", "Requests for access tokens")
        self._lateness = meter.create_histogram("brokerage.poll.lateness", "s")
        self._lags = meter.create_histogram("brokerage.feed.lag", "s")

    def __call__(self, attempt: Attempt) -> None:
        """Record an attempt."""
        operation = {"operation": attempt.operation}
        outcome: dict[str, str | int] = {**operation, "outcome": attempt.outcome, "status": attempt.status or 0}
        self._requests.add(1, outcome)
        self._durations.record(attempt.elapsed, operation)
        self._waits.record(attempt.waited, operation)
        if attempt.pause is not None:
            self._retries.add(1, {**operation, "outcome": attempt.outcome})

    def on_event(self, event: Event) -> None:
        """Record an event."""
        match event:
            case TokenRequest(outcome=outcome):
                self._tokens.add(1, {"outcome": outcome})
            case PollStarted(watcher=watcher, lateness=lateness):
                self._lateness.record(lateness, {"watcher": watcher})
            case FeedLag(feed=feed, group=group, lag=lag):
                self._lags.record(lag, {"feed": feed, "group": group})
