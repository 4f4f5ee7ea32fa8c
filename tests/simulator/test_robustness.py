"""Every request gets a documented response, whatever it contains."""

import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async._generated.operations import OPERATIONS
from tests.protocol.values import json_values
from tests.simulator.harness import Harness, limit
from tests.simulator.test_vectors import NOT_AN_EQUITY, START, translated
from tests.vectors import EXCHANGES

HARNESS = Harness(environment="production", start=START, equities=40, chain_rows=10).login()
SAMPLES = {one.operation: translated(one, HARNESS) for one in EXCHANGES if str(one) != NOT_AN_EQUITY}

STATUSES = {200, 201, 204, 400, 401, 403, 404, 422}

WORDS = ["0", "-1", "1e400", "NaN", "9" * 40, "2026-06-12", "2026-06-12T00:00:00Z", "AAPL", "Limit"]
JSON = json_values(["symbol", "quantity", "odd", ""], words=WORDS)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(found for key, one in inner for found in places(one, (*at, key)))]


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=25)
@given(data=st.data())
def test_operation_with_arbitrary_values_responds(name: str, data: st.DataObject) -> None:
    operation, (target, body) = OPERATIONS[name], SAMPLES[name]
    path, _, query = target.partition("?")
    segments, names = path.split("/"), operation.path.split("/")
    for number, part in enumerate(reversed(names), 1):
        if part.startswith("{") and data.draw(st.booleans()):
            other = st.text(min_size=1, max_size=6).filter(lambda text: text.strip("."))
            segments[-number] = quote(data.draw(other), safe="")
    more = [
        (one.wire, data.draw(st.sampled_from(GUESSES[one.kind]) | st.text(max_size=6)))
        for one in operation.parameters
        if one.location == "query" and data.draw(st.booleans())
    ]
    kept = query if data.draw(st.booleans()) else ""
    asked = f"{'/'.join(segments)}?{kept}&{urlencode(more)}"
    response = HARNESS.ask(operation.method, asked, changed(body, data))
    assert response.status in STATUSES
    if response.status != 204 and (name, response.status) != ("backtests.logs", 200):
        json.loads(response.body)


GUESSES = {
    "string": ["AAPL", "Filled", "Asc", "Equity", HARNESS.account],
    "integer": ["0", "1", "200", "-1", "9" * 30],
    "identifier": ["1"],
    "decimal": ["1.5", "-0", "1E9", "NaN"],
    "boolean": ["true", "false"],
    "date": ["2026-06-10", "0001-01-01", "9999-12-31", "2026-02-30"],
    "date-time": ["2026-06-10T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"],
}


def changed(valid: bytes | None, data: st.DataObject) -> bytes | None:
    if valid is None:
        return None
    body: Any = json.loads(valid)
    for _ in range(data.draw(st.integers(0, 2))):
        *path, last = data.draw(st.sampled_from([place for place in places(body) if place] or [("x",)]))
        inner = body
        for key in path:
            inner = inner[key]
        inner[last] = data.draw(JSON)
    return json.dumps(body).encode()


@settings(max_examples=100)
@given(
    st.binary(max_size=60),
    st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    st.text("/%?&=.[]a2éF", max_size=30),
)
def test_arbitrary_request_gets_an_expected_status(body: bytes, method: str, target: str) -> None:
    assert HARNESS.ask(method, f"/{target}", body).status in STATUSES


@pytest.mark.slow
@settings(max_examples=30)
@given(data=st.data())
def test_accepted_orders_reach_a_terminal_status(data: st.DataObject) -> None:
    harness = Harness(equities=40).login()
    targets = {"orders.submit": f"/accounts/{harness.account}/orders", "quote_alerts.create": "/quote-alerts"}
    for _ in range(data.draw(st.integers(1, 6))):
        for name, target in targets.items():
            body = changed(SAMPLES[name][1], data)
            assert harness.ask("POST", target, body).status in STATUSES
        harness.wait(data.draw(st.floats(0, 4 * 3600)))
        harness.login()
    harness.wait(7 * 86400)
    for order in harness.state.order_store.of([harness.own()]):
        assert order.is_terminal or order.terms.time_in_force.startswith(("GTC", "GTD"))


def test_extreme_dates_are_handled(harness: Harness) -> None:
    assert harness.rows("/market-time/sessions?from-date=9999-12-31&to-date=9999-12-31") == []
    assert harness.rows("/market-time/sessions?from-date=0001-01-01&to-date=0001-01-02") == []
    far = (limit(time_in_force="GTD", gtc_date="9999-12-31"), limit(rules={"route-after": "9999-12-31T00:00:00Z"}))
    for body in far:
        assert harness.ask("POST", f"/accounts/{harness.account}/orders", body).status == 422
