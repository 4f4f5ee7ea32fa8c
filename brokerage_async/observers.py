"""Observation of a client: one record per attempt, events of its background work, and OpenTelemetry metrics of both.

The records hold no bodies, headers or arguments.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import urlsplit

import attrs

from ._version import __version__
from .errors import ConfigurationError
from .operation import Effect

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider

__all__ = [
    "Attempt", "Event", "EventObserver", "FeedLag", "FillSeen", "Observer", "ObserverList", "OpenEntries",
    "OpenTelemetryMetrics", "OrderOutcome", "PollStarted", "TokenRequest",
]  # fmt: skip

logger: logging.Logger = logging.getLogger("brokerage_async.session")


@attrs.frozen(kw_only=True)
class Attempt:
    """One attempt of one call, as observers see it when it has ended.

    Attributes:
        operation: name of the operation, such as ``orders.submit``.
        effect: whether it reads, checks in advance, or changes something.
        number: the attempt of this call, the first is 1.
        method, path: HTTP method and path template (never the filled-in path).
        origin: ``scheme://host[:port]`` that it went to.
        status: HTTP status, None without an answer.
        outcome: ``success``, ``not-sent``, ``lost``, ``server-error``, ``throttled``, ``unauthorized``,
            ``unauthorized-page``, ``refused``, ``ambiguous``, or ``abandoned`` (cancelled, out of time before sending,
            or without a token).
        code: machine-readable error code of the service, if it sent one.
        request_bytes, response_bytes: sizes of the bodies, the latter after decompression.
        waited: seconds spent waiting for a lane and a token before sending.
        elapsed: seconds from sending to the end of the answer.
        pause: seconds until the next attempt, None for no further one; 0.0 when only a lane or a token holds it up.
    """

    operation: str
    effect: Effect
    number: int
    method: str
    path: str
    status: int | None
    outcome: str
    code: str | None
    request_bytes: int
    response_bytes: int
    waited: float
    elapsed: float
    pause: float | None
    origin: str = ""


@attrs.frozen(kw_only=True)
class TokenRequest:
    """A request for an access token, when it has ended.

    Attributes:
        outcome: ``success``, ``transient`` (worth another try) or ``refused``.
        elapsed: seconds from sending to the answer.
    """

    outcome: str
    elapsed: float


@attrs.frozen(kw_only=True)
class PollStarted:
    """A poll of a watcher, when it begins.

    Attributes:
        watcher: name of the list, such as ``orders``.
        lateness: seconds that it was late.
    """

    watcher: str
    lateness: float


@attrs.frozen(kw_only=True)
class FeedLag:
    """A change of a feed of a fleet, when it is handed out to a consumer. Each time, if that happens again.

    Attributes:
        feed: name of the feed.
        group: name of the group of consumers, empty for a reader with its own cursor.
        lag: seconds since the change was published, by the clock of the engine.
    """

    feed: str
    group: str
    lag: float


@attrs.frozen(kw_only=True)
class FillSeen:
    """A fill of a watcher of fills, when it is first seen.

    Attributes:
        source: ``orders``, or ``transactions`` for one that no list of orders shows.
        delay: seconds since its execution, by the clock of the service, at least 0.
    """

    source: str
    delay: float


@attrs.frozen(kw_only=True)
class OrderOutcome:
    """An order, or a replacement of one, when order entry reports its outcome.

    Attributes:
        outcome: ``placed``, ``refused``, ``not_sent``, ``unknown`` or ``halted``. ``applied`` or ``filled`` for a
            replacement.
        code: code of the error that stopped it, or why its outcome is unknown. Else empty.
    """

    outcome: str
    code: str


@attrs.frozen(kw_only=True)
class OpenEntries:
    """The open entries of a journal, when order entry reads them: at the end of `recover`, and for `status`.

    Attributes:
        count: number of entries.
        oldest: age of the oldest one in seconds, 0 without any.
    """

    count: int
    oldest: float


Event = TokenRequest | PollStarted | FeedLag | FillSeen | OrderOutcome | OpenEntries
"""Events beside the attempts of calls."""

Observer = Callable[[Attempt], object]
"""Called with the record of each attempt, in the event loop: it must be quick. What it raises is logged."""


@runtime_checkable
class EventObserver(Protocol):
    """An observer that gets events as well."""

    def on_event(self, event: Event) -> object:
        """Handle an event, in the event loop: it must be quick. Its errors are logged."""
        ...


class ObserverList:
    """Observers of a client, and the log as one more of them."""

    __slots__ = ("_event_observers", "_observers")

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)
        watching: Sequence[object] = self._observers
        self._event_observers = [each for each in watching if isinstance(each, EventObserver)]

    @property
    def active(self) -> bool:
        """Whether there is an observer or a log. Nothing is recorded otherwise."""
        return bool(self._observers) or logger.isEnabledFor(logging.DEBUG)

    def __call__(self, attempt: Attempt) -> None:
        """Log the attempt and call every observer with it."""
        logger.debug(
            "%s attempt %d: %s (%s) in %.3f s",
            attempt.operation,
            attempt.number,
            attempt.outcome,
            attempt.status or "no answer",
            attempt.elapsed,
        )
        for observer in self._observers:
            try:
                observer(attempt)
            except Exception:
                logger.exception("an observer failed on %s", attempt.operation)

    def on_event(self, event: Event) -> None:
        """Pass an event on to the observers that take events."""
        for observer in self._event_observers:
            try:
                observer.on_event(event)
            except Exception:
                logger.exception("an observer failed on %s", type(event).__name__)


BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 30.0, 60.0)
"""Bounds of the histograms, in seconds. The usual ones begin at 5 s, and would show nothing of a request."""


class OpenTelemetryMetrics:
    """An observer that records metrics, for ``Client(..., observers=[OpenTelemetryMetrics()])``.

    One instance serves any number of clients and fleets. Attributes of the metrics name operations, outcomes, statuses,
    lists and feeds, never accounts or arguments.

    Args:
        meter_provider: where to record. None for the global one.

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
        seconds = partial(meter.create_histogram, unit="s", explicit_bucket_boundaries_advisory=BUCKETS)
        self._durations = seconds("brokerage.request.duration", description="From sending to the end of the answer")
        self._waits = seconds(
            "brokerage.request.wait", description="For the lane, the budget and a token, before sending"
        )
        self._http = seconds("http.client.request.duration", description="Duration of HTTP client requests.")
        self._tokens = meter.create_counter("brokerage.token.requests", "{request}", "Requests for access tokens")
        self._lateness = seconds("brokerage.poll.lateness", description="Start of a poll after the moment it was due")
        self._lags = seconds("brokerage.feed.lag", description="From publishing a change to its consumer")
        self._fills = seconds("brokerage.fill.delay", description="From an execution to the poll that shows it")
        self._orders = meter.create_counter("brokerage.orders", "{order}", "Orders whose outcome was reported")
        self._open = meter.create_gauge("brokerage.orders.open", "{order}", "Open entries of the journal")
        self._oldest = meter.create_gauge("brokerage.orders.oldest", "s", "Age of the oldest open entry")

    def __call__(self, attempt: Attempt) -> None:
        """Record an attempt."""
        operation = {"operation": attempt.operation}
        outcome: dict[str, str | int] = {**operation, "outcome": attempt.outcome, "status": attempt.status or 0}
        self._requests.add(1, outcome)
        self._durations.record(attempt.elapsed, operation)
        self._waits.record(attempt.waited, operation)
        if attempt.pause is not None:
            self._retries.add(1, {**operation, "outcome": attempt.outcome})
        if attempt.outcome not in ("abandoned", "not-sent"):
            server = urlsplit(attempt.origin)
            port = server.port or (80 if server.scheme == "http" else 443)
            labels: dict[str, str | int] = {
                "http.request.method": attempt.method,
                "server.address": server.hostname or "",
            }
            labels |= {"server.port": port, "url.template": attempt.path}
            if attempt.status is not None:
                labels["http.response.status_code"] = attempt.status
            if attempt.status is None or attempt.status >= 400:
                labels["error.type"] = attempt.outcome if attempt.status is None else str(attempt.status)
            self._http.record(attempt.elapsed, labels)

    def on_event(self, event: Event) -> None:
        """Record an event."""
        match event:
            case TokenRequest(outcome=outcome):
                self._tokens.add(1, {"outcome": outcome})
            case PollStarted(watcher=watcher, lateness=lateness):
                self._lateness.record(lateness, {"watcher": watcher})
            case FeedLag(feed=feed, group=group, lag=lag):
                self._lags.record(lag, {"feed": feed, "group": group})
            case FillSeen(source=source, delay=delay):
                self._fills.record(delay, {"source": source})
            case OrderOutcome(outcome=outcome, code=code):
                self._orders.add(1, {"outcome": outcome, "code": code})
            case OpenEntries(count=count, oldest=oldest):
                self._open.set(count)
                self._oldest.set(oldest)
