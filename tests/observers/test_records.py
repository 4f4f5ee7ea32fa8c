"""Records of attempts for observers and the log, metrics as a collector gets them, and the dashboard over them."""

import asyncio
import json
import logging
import re
from typing import Any
from unittest.mock import Mock, call

import attrs
import pytest
import yaml
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from brokerage_async.errors import NotFoundError
from brokerage_async.observers import (
    Attempt,
    Event,
    FeedLag,
    FillSeen,
    ObserverList,
    OpenEntries,
    OpenTelemetryMetrics,
    OrderOutcome,
    PollStarted,
    TokenRequest,
)
from brokerage_async.operation import Effect
from brokerage_async.simulator import Simulator
from tests.documents import ROOT
from tests.http.calls import raised_by
from tests.stream.world import SMALL

ATTEMPT = Attempt(
    operation="orders.live", effect=Effect.READ, method="GET", path="/", origin="https://x.example", number=1,
    outcome="throttled", status=429, code=None, waited=0.0, elapsed=0.1, pause=1.0, request_bytes=0, response_bytes=0,
)  # fmt: skip
EVENTS: list[Event] = [
    TokenRequest(outcome="refused", elapsed=0.5),
    PollStarted(watcher="orders", lateness=0.25),
    FeedLag(feed="orders", group="desk", lag=0.125),
    OrderOutcome(outcome="refused", code="guard_refused"),
    OpenEntries(count=2, oldest=52.5),
    FillSeen(source="orders", delay=1.5),
]
LOG = "brokerage_async.session"


@attrs.define
class Collected:
    reader: InMemoryMetricReader = attrs.field(factory=InMemoryMetricReader)

    def metrics(self) -> OpenTelemetryMetrics:
        return OpenTelemetryMetrics(MeterProvider([self.reader]))

    def points(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        data = self.reader.get_metrics_data()
        (scope,) = data.resource_metrics[0].scope_metrics
        return {
            metric.name: [
                (dict(point.attributes), getattr(point, "value", None) or getattr(point, "count", None))
                for point in metric.data.data_points
            ]
            for metric in scope.metrics
        }


async def test_client_records_requests_retries_waits_and_tokens() -> None:
    collected, sim = Collected(), Simulator(**SMALL)
    sim.faults.add("GET", r"/holidays", "status(500)")
    async with sim.client(observers=[collected.metrics()]) as client:
        await client.market_time.equity_holidays()
        await raised_by(client.orders.cancel(sim.account_numbers[0], "1"), NotFoundError)
    points = collected.points()
    holidays = "market_time.equity_holidays"
    assert ({"operation": holidays, "outcome": "server-error", "status": 500}, 1) in points["brokerage.requests"]
    assert ({"operation": holidays, "outcome": "success", "status": 200}, 1) in points["brokerage.requests"]
    assert points["brokerage.retries"] == [({"operation": holidays, "outcome": "server-error"}, 1)]
    assert points["brokerage.token.requests"] == [({"outcome": "success"}, 1)]
    assert ({"operation": holidays}, 2) in points["brokerage.request.wait"]
    assert ({"operation": "orders.cancel"}, 1) in points["brokerage.request.duration"]
    assert sim.account_numbers[0] not in str(points)
    stable = {
        "http.request.method": "GET", "server.address": "sandbox.simulator.invalid", "server.port": 443,
        "url.template": "/market-time/equities/holidays",
    }  # fmt: skip
    assert ({**stable, "http.response.status_code": 200}, 1) in points["http.client.request.duration"]
    failed = {**stable, "http.response.status_code": 500, "error.type": "500"}
    assert (failed, 1) in points["http.client.request.duration"]


def test_histograms_resolve_milliseconds_and_say_what_they_measure() -> None:
    collected = Collected()
    metrics = collected.metrics()
    for event in (PollStarted(watcher="orders", lateness=0.02), FeedLag(feed="orders", group="desk", lag=0.02)):
        metrics.on_event(event)
    data = collected.reader.get_metrics_data()
    (scope,) = data.resource_metrics[0].scope_metrics
    for metric in scope.metrics:
        (point,) = metric.data.data_points
        assert metric.unit == "s"
        assert metric.description
        assert point.explicit_bounds[0] == 0.005  # type: ignore[union-attr]
        assert point.bucket_counts[2] == 1  # type: ignore[union-attr]


async def test_watcher_records_the_lateness_of_its_polls() -> None:
    collected, sim = Collected(), Simulator(**SMALL)
    async with sim.client(observers=[collected.metrics()]) as client:
        await client.quote_alerts.list()
        async with client.watch.orders("me", sim.account_numbers[:1], interval=0.05, min_interval=0.05) as watcher:
            await raised_by(asyncio.wait_for(anext(watcher), 0.3), TimeoutError)
    ((labels, count),) = collected.points()["brokerage.poll.lateness"]
    assert labels["watcher"]
    assert sim.account_numbers[0] not in str(labels)
    assert count >= 3


def test_events_become_points() -> None:
    collected = Collected()
    metrics = collected.metrics()
    for event in EVENTS:
        metrics.on_event(event)
    expected: dict[str, tuple[dict[str, Any], Any]] = {
        "brokerage.token.requests": ({"outcome": "refused"}, 1),
        "brokerage.poll.lateness": ({"watcher": "orders"}, 1),
        "brokerage.orders": ({"outcome": "refused", "code": "guard_refused"}, 1),
        "brokerage.orders.open": ({}, 2),
        "brokerage.orders.oldest": ({}, 52.5),
        "brokerage.fill.delay": ({"source": "orders"}, 1),
        "brokerage.feed.lag": ({"feed": "orders", "group": "desk"}, 1),
    }
    assert collected.points() == {name: [point] for name, point in expected.items()}


def series() -> dict[str, set[str]]:
    """Return the labels of each series of a text that Prometheus scrapes, by its name."""
    provider = MeterProvider([PrometheusMetricReader()])
    try:
        recorder = OpenTelemetryMetrics(provider)
        recorder(ATTEMPT)
        for event in EVENTS:
            recorder.on_event(event)
        families = text_string_to_metric_families(generate_latest().decode())
        return {sample.name: {*sample.labels} for family in families for sample in family.samples}
    finally:
        provider.shutdown()


def test_dashboard_and_alarms_ask_for_series_and_labels_that_prometheus_scrapes() -> None:
    scraped = series()
    panels = json.loads((ROOT / "docs" / "fleet-dashboard.json").read_text("utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) == 10
    [group] = yaml.safe_load((ROOT / "docs" / "alarms.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]:
        assert {"alert", "expr", "labels", "annotations"} == set(rule), rule
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    for expression in (*shown, *(rule["expr"] for rule in group["rules"])):
        labels = {
            label
            for found in re.findall(r"by \(([^)]*)\)|\{(\w+)=", expression)
            for label in re.findall(r"\w+", str(found))
        }
        for name in re.findall(r"brokerage_\w+", expression):
            assert labels <= scraped[name], expression
    of_prometheus = re.compile("(_count|_sum|_bucket|_created)$")
    ours = {of_prometheus.sub("", name) for name in scraped if name.startswith("brokerage_")}
    assert {of_prometheus.sub("", name) for name in re.findall(r"brokerage_[a-z]\w+", " ".join(shown))} == ours


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever an earlier test has set: the log takes no details unless a test asks for them."""
    caplog.set_level(logging.INFO, LOG)


def test_nobody_is_active_until_somebody_listens(caplog: pytest.LogCaptureFixture) -> None:
    assert not ObserverList(()).active
    assert ObserverList([print]).active
    with caplog.at_level(logging.DEBUG, LOG):
        assert ObserverList(()).active


def test_observers_of_the_first_list_are_told_in_order_whether_one_fails_or_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    observer = Mock()
    observer.broken.side_effect = ZeroDivisionError
    observers = [observer.first, observer.broken, observer.last]
    listed = ObserverList(observers)
    observers.clear()
    listed(ATTEMPT)
    assert observer.mock_calls == [call.first(ATTEMPT), call.broken(ATTEMPT), call.last(ATTEMPT)]
    assert caplog.messages == ["an observer failed on orders.live"]
    assert caplog.records[0].exc_info is not None
