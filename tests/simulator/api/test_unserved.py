"""Operations that the simulator does not serve yet."""

from __future__ import annotations

import json

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator.api import brokerage
from brokerage_async.simulator.api.unserved import UNSERVED
from tests.simulator.harness import Harness


def test_unserved_operations_are_those_without_a_handler(harness: Harness) -> None:
    namespaces = harness.state.namespaces()
    missing = {
        name for name in OPERATIONS if not hasattr(namespaces.get(name.partition(".")[0]), name.partition(".")[2])
    }
    assert missing == UNSERVED


def test_unserved_operation_is_answered_with_501(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokerage, "UNSERVED", frozenset({"watchlists.list"}))
    response = harness.ask("GET", "/watchlists")
    assert response.status == 501
    assert json.loads(response.body)["error"]["code"] == "not_implemented"
