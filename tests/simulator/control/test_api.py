"""Control API and its description."""

import inspect
import itertools
import json
from typing import Any

import pytest
from openapi_spec_validator import validate

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.control.actions import ACTIONS
from brokerage_async.simulator.control.api import CONTROL_ROUTES, ControlApi, description
from tests.simulator.harness import Harness, limit, market
from tests.tables import for_each

TOKEN = "made-up"


class Remote:
    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.api = ControlApi(harness.brokerage, harness.sim.clock, TOKEN)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, content = self.api.handle(method, path, b"" if body is None else json.dumps(body).encode())
        return status, json.loads(content)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        status, content = self.ask(method, path, body)
        assert status == 200, content
        return content

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        status, content = self.ask(method, path, body)
        return status, content["error"]["message"]


@pytest.fixture
def remote(harness: Harness) -> Remote:
    return Remote(harness)


def test_clock_is_advanced_stopped_and_sped_up(remote: Remote) -> None:
    assert remote.call("GET", "/clock") == {"time": "2026-06-10T14:00:00.000+00:00", "speed": 0.0}
    assert remote.call("PATCH", "/clock", {"advance": 90})["time"] == "2026-06-10T14:01:30.000+00:00"
    assert remote.call("PATCH", "/clock", {"speed": 60})["speed"] == 60
    identifier = remote.harness.place(market())
    remote.call("PATCH", "/clock", {"advance": 30})
    assert remote.harness.history(identifier)[-1] == "Filled"
    assert remote.call("PATCH", "/clock", {"speed": 0})["speed"] == 0


def test_number_beyond_all_bounds_is_refused(remote: Remote) -> None:
    fill = f"/orders/{remote.harness.place(limit())}/fill"
    fields = (("PUT", "/prices/AAPL", "price"), ("POST", fill, "quantity"), ("POST", fill, "price"))
    numbers = ("1e-999999999", "1e999999999", "1e-300", "NaN", "", "0x1")
    for number, (method, path, field) in itertools.product(numbers, fields):
        assert remote.refused(method, path, {field: number})[0] == 422, (path, field, number)
    remote.call("GET", "/state")
    for code, fault in itertools.product((0, 99, 100, 600, 99999), ("status", "after_status", "html", "after_html")):
        refused = remote.refused("POST", "/faults", {"fault": f"{fault}({code})"})
        assert refused == (422, f"status must be from 200 to 599, got {code}"), fault


def test_requests_are_sent_refused_recorded_and_unauthorized(remote: Remote) -> None:
    answer = remote.call("POST", "/requests", {"method": "GET", "target": "/customers/me"})
    assert (answer["status"], answer["headers"]["content-type"]) == (200, "application/json")
    assert json.loads(answer["body"])["data"]["id"] == "me"
    assert remote.api.handle("PATCH", "/clock", b"{")[0] == 422
    for limit_set, status in ((0, 429), (None, 200)):
        remote.call("PUT", "/rate-limit", {"requests_per_second": limit_set})
        assert remote.harness.ask("GET", "/watchlists").status == status
    identifier = remote.harness.place(limit("100.00"))
    ledger = remote.call("GET", "/ledger")
    assert ledger["requests"][-1]["operation"] == "orders.submit"
    assert [event["after"] for event in ledger["events"] if event["order_id"] == identifier] == ["Received"]
    assert remote.call("POST", "/tokens/expire") is None
    assert remote.harness.ask("GET", "/watchlists").status == 401
    remote.call("POST", "/tokens/revoke")
    assert remote.harness.token().status == 400


def test_price_is_held_and_given_back(remote: Remote) -> None:
    walk = remote.call("GET", "/prices/BRK%2FB")
    assert walk["is_held"] is False
    held = remote.call("PUT", "/prices/BRK%2FB", {"price": "12.50"})
    assert (held["last"], held["is_held"]) == ("12.50", True)
    assert remote.call("PUT", "/prices/BRK%2FB", {"price": None}) == walk


def test_faults_are_added_listed_removed_and_cleared(remote: Remote) -> None:
    rule = {"fault": "status(503)", "method": "GET", "path": "/watchlists", "times": 2}
    assert remote.call("POST", "/faults", rule) == [rule]
    fault = remote.harness.brokerage.faults.take("GET", "/watchlists")
    assert fault is not None
    assert remote.call("GET", "/faults") == [{**rule, "times": 1}]
    assert remote.call("DELETE", "/faults") == []
    for path in ("/a", "/b", "/a"):
        remote.call("POST", "/faults", {"fault": "hang", "path": path, "times": None})
    left = remote.call("POST", "/faults/remove", {"fault": "hang", "path": "/a"})
    assert [rule["path"] for rule in left] == ["/b"]


def test_orders_are_held_released_filled_and_removed(remote: Remote) -> None:
    names = [remote.harness.place(limit("100.00")) for _ in range(4)]
    held, filled, rejected, expired = names
    remote.call("POST", f"/orders/{held}/hold", {"status": "In Flight"})
    remote.call("POST", f"/orders/{filled}/fill", {"quantity": "4", "price": "99"})
    remote.call("POST", f"/orders/{rejected}/reject", {"reason": "no"})
    remote.call("POST", f"/orders/{expired}/expire")
    remote.call("PATCH", "/clock", {"advance": 60})
    orders = {order["id"]: order for order in remote.call("GET", "/orders")}
    assert [orders[each]["status"] for each in names] == ["In Flight", "Live", "Rejected", "Expired"]
    assert (orders[filled]["filled"], orders[filled]["size"], orders[held]["can_remove"]) == ("4", "10", True)
    remote.call("POST", f"/orders/{held}/release")
    after = remote.call("POST", f"/orders/{held}/remove", {})
    assert next(each["status"] for each in after if each["id"] == held) == "Removed"
    assert remote.refused("POST", f"/orders/{expired}/fill", {})[0] == 422


def test_state_has_all_of_it(remote: Remote) -> None:
    remote.harness.alert(">", "250.00")
    remote.harness.place(market(), remote.harness.accounts[1])
    remote.call("PATCH", "/clock", {"advance": 30})
    state = remote.call("GET", "/state")
    assert [account["number"] for account in state["accounts"]] == list(remote.harness.accounts)
    assert {position["symbol"] for position in state["accounts"][1]["positions"]} >= {"AAPL"}
    assert state["alerts"][0]["condition"] == "Last > 250.00"
    assert state["orders"][0]["status"] == "Filled"
    assert state["orders"][0]["description"] == "Market, Day: Buy to Open 10 AAPL"


MONTH = 31 * 86_400


@for_each(
    "method, path, body, status, reason",
    [
        ("GET", "/nope", None, 404, ""),
        ("PUT", "/faults", None, 405, ""),
        ("PATCH", "/clock", {"zap": 1}, 422, ""),
        ("PATCH", "/clock", {"advance": -1, "speed": 7}, 422, ""),
        ("PATCH", "/clock", {"advance": MONTH + 1, "speed": 7}, 422, "advance must be at most 2.6784e+06 seconds"),
        ("PATCH", "/clock", {"advance": "soon"}, 422, ""),
        ("PATCH", "/clock", {"speed": 1e9}, 422, ""),
        ("PUT", "/rate-limit", {"requests_per_second": -1}, 422, ""),
        ("POST", "/requests", {"method": "GET", "target": "elsewhere"}, 422, ""),
        ("POST", "/faults", {"fault": "status(503)", "path": "("}, 422, ""),
        ("POST", "/faults", {"fault": "zap"}, 422, "unknown fault: 'zap'"),
        ("POST", "/faults", {}, 422, ""),
        ("POST", "/faults/remove", {"fault": "hang"}, 404, "no fault hang is left for * .*"),
        ("PUT", "/prices/AAPL", {"price": "-1"}, 422, "price must be positive, got -1"),
        ("PUT", "/prices/NO.SUCH", {"price": "1"}, 404, "unknown underlying NO.SUCH"),
        ("POST", "/orders/*/hold", {}, 422, ""),
        ("POST", "/orders/7/remove", {}, 404, "unknown order 7"),
        ("POST", "/orders/7/fill", {}, 404, "unknown order 7"),
    ],
)
def test_wrong_request_is_refused(remote: Remote, method: str, path: str, body: Any, status: int, reason: str) -> None:
    before = remote.call("GET", "/clock")
    refused, message = remote.refused(method, path, body)
    assert (refused, message[: len(reason)]) == (status, reason)
    assert remote.call("GET", "/clock") == before


def test_every_route_has_a_handler_and_token_is_compared_whole() -> None:
    sim = Simulator()
    api = ControlApi(sim.brokerage, sim.clock, TOKEN)
    cases = inspect.getsource(ControlApi._do)
    names = {route.name for route in CONTROL_ROUTES} - ACTIONS.keys()
    assert [name for name in names if f'"{name}"' not in cases] == []
    assert [api.is_token(token) for token in (TOKEN, "made-u", "", "é")] == [True, False, False, False]


def test_description_is_valid_and_complete() -> None:
    document = json.loads(description())
    validate(document)
    found = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert found == {(route.method, route.path) for route in CONTROL_ROUTES}
    for path, item in document["paths"].items():
        for operation in item.values():
            assert path.count("{") == len(operation["parameters"])
            assert set(operation["responses"]) == {"200", "401", "403", "404", "422"}
    fill = document["paths"]["/orders/{order_id}/fill"]["post"]["requestBody"]["content"]["application/json"]
    assert fill["schema"] == {"$ref": "#/components/schemas/FillOrder"}
