"""Operations that the simulator does not serve yet."""

from __future__ import annotations

import json

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.request import encode_path
from brokerage_async.simulator.api.unserved import UNSERVED
from tests.simulator.harness import Harness


def test_unserved_operations_are_those_without_a_handler(harness: Harness) -> None:
    namespaces = harness.state.namespaces()
    missing = {
        name for name in OPERATIONS if not hasattr(namespaces.get(name.partition(".")[0]), name.partition(".")[2])
    }
    assert missing == UNSERVED


@pytest.mark.parametrize("name", sorted(UNSERVED))
def test_unserved_operation_is_answered_with_501(name: str, harness: Harness, production: Harness) -> None:
    operation = OPERATIONS[name]
    where = production if operation.production_only else harness
    path = {each.wire: where.account for each in operation.parameters if each.location == "path"}
    prefix = "" if operation.host is None else f"/{operation.host}"
    response = where.ask(operation.method, prefix + encode_path(operation.path, path))
    assert response.status == 501
    assert json.loads(response.body)["error"]["code"] == "not_implemented"
