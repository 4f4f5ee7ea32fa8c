"""Interface versions, by ``Accept-Version``."""

import json

import pytest

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.api.versions import InterfaceVersions
from brokerage_async.simulator.api.wire import RefusedError
from tests.simulator.harness import Harness

SERVED = ["20240501", "20250715", "20250813", "20251101", "20260211", "20260629", "20261012", "29991231", "2.0.1"]
GONE = ["20240430", "20230101", "20260230", "20261301", "1", "latest", "", "2026-02-11", "20٢٦1012", "2026W01"]


@pytest.mark.parametrize("version", SERVED)
def test_dates_from_the_oldest_version_on_are_served(harness: Harness, version: str) -> None:
    assert harness.ask("GET", "/watchlists", accept_version=version).status == 200
    harness.headers["Accept-Version"] = version
    assert harness.token().status == 200


@pytest.mark.parametrize("version", GONE)
def test_other_versions_are_gone(harness: Harness, version: str) -> None:
    response = harness.ask("GET", "/watchlists", accept_version=version)
    assert response.status == 406
    assert json.loads(response.body)["error"]["code"] == 406


def test_withdrawn_version_is_gone_at_every_endpoint() -> None:
    harness = Harness(withdrawn_versions=["20251101"]).login()
    assert harness.ask("GET", "/watchlists", accept_version="20251101").status == 406
    assert harness.ask("GET", "/watchlists", accept_version="20251102").status == 200
    harness.headers["Accept-Version"] = "20251101"
    assert harness.token().status == 406


def test_versions_can_be_withdrawn_at_any_time(harness: Harness) -> None:
    harness.sim.withdrawn_versions = {"20250813", "2.0.1"}
    assert harness.sim.withdrawn_versions == {"20250813", "2.0.1"}
    for version, status in (("20250813", 406), ("2.0.1", 406), ("20250814", 200), (None, 200)):
        assert harness.ask("GET", "/watchlists", accept_version=version).status == status


def test_withdrawn_version_that_cannot_exist_raises() -> None:
    with pytest.raises(ValueError, match="withdrawn versions must be dates of the form YYYYMMDD, got '2025-11-01'"):
        Simulator(withdrawn_versions=["2025-11-01"])


def test_version_of_the_market_sessions_interface_selects_nothing() -> None:
    versions = InterfaceVersions()
    assert versions.require("2.0.1") is None
    assert versions.require("20261012") == "20261012"
    with pytest.raises(RefusedError, match="Version 20240430 is no longer supported"):
        versions.require("20240430")
