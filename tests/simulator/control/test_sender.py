import json

import pytest

from brokerage_async.simulator.control.api import Sender
from tests.simulator.harness import Harness, limit
from tests.tables import for_each


def test_request_is_sent_as_the_owner_with_a_valid_token(harness: Harness) -> None:
    sender = Sender(harness.brokerage)
    placed = sender.send("post", f"/accounts/{harness.account}/orders", json.dumps(limit()), harness.now)
    assert placed.status == 201
    assert sender.send("GET", "/watchlists", None, harness.now).status == 200
    assert [record.operation for record in harness.brokerage.ledger.requests] == [
        "oauth.token",
        "oauth.token",
        "orders.submit",
        "watchlists.list",
    ]  # the first one comes from the harness
    sender = Sender(harness.brokerage)
    sender.send("GET", "/watchlists", None, harness.now)
    assert sender.send("GET", "/watchlists", None, harness.now + 901).status == 200
    harness.sim.revoke()
    assert Sender(harness.brokerage).send("GET", "/watchlists", None, harness.now).status == 401


@for_each("target", ["watchlists", "http://elsewhere/", "/a b", "/é", "/a\r\nHost: x", ""])
def test_target_is_an_encoded_path(harness: Harness, target: str) -> None:
    with pytest.raises(ValueError, match="target must be an encoded path"):
        Sender(harness.brokerage).send("GET", target, None, harness.now)
