"""Requests, routed, parsed and refused, and the wire format of answers."""

import json
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.simulator.api import wire
from brokerage_async.simulator.api.wire import Dialect, money, timestamp
from tests.simulator.harness import Harness, condition, leg, limit, market
from tests.tables import for_each


def refused(harness: Harness, body: Any, status: int = 422) -> tuple[str, list[str]]:
    """Return the code of a refusal and what its entries name."""
    error = harness.error("POST", harness.target("orders.dry_run"), body, status)
    return error["code"], [entry.get("domain", entry.get("code")) for entry in error.get("errors", ())]


def test_each_invalid_key_and_type_is_listed(harness: Harness) -> None:
    body = {**limit(), "Price": "1", "time-in-force": "Tomorrow", "automated-source": "yes", "gtc-date": 20260101}
    body["legs"] = [leg() | {"quantity": 10, "instrument-type": None, "Symbol": "AAPL"}]
    wrong = {"Price", "time-in-force", "automated-source", "gtc-date"}
    wrong |= {f"legs[0].{name}" for name in ("Symbol", "instrument-type", "quantity")}
    code, domains = refused(harness, body)
    assert (code, set(domains)) == ("validation_error", wrong)
    _, domains = refused(harness, {**limit(), "gtc-date": None, "rules": None, "source": None})
    assert set(domains) == {"gtc-date", "rules", "source"}
    (entry,) = harness.error("POST", harness.target("orders.dry_run"), {**limit(), "value": "1"})["errors"]
    assert entry["reason"].startswith("price and value must not both be set")
    expected = ("preflight_check_failure", ["gtc_market_orders_not_supported"])
    assert refused(harness, market(time_in_force="GTC")) == expected


def test_wrongly_cased_key_is_rejected_with_the_right_one(harness: Harness) -> None:
    for key in ("orderType", "order_type", "Order-Type", "ordertype"):
        (entry,) = harness.error("POST", harness.target("orders.dry_run"), {**limit(), key: "Limit"})["errors"]
        assert entry == {"domain": key, "reason": f"{key} is wrongly cased, the field is order-type"}


def test_unknown_keys_are_ignored(harness: Harness) -> None:
    more = {"behavior": "immediate", "rules": {"conditions": [condition("AAPL", "lte", "1") | {"colour": "blue"}]}}
    body = limit("100.00", leg() | {"remaining-quantity": "10"}, underlying_symbol="AAPL", **more)
    order = harness.preview(body)["order"]
    assert not {"behavior", "colour"} & (order | order["rules"]["conditions"][0]).keys()


@for_each(
    "body, domain",
    [
        ({**limit(), "price": None}, "price"),
        (limit(time_in_force="GTD"), "gtc-date"),
        (limit(gtc_date="2026-07-01"), "gtc-date"),
        (market(order_type="Stop"), "stop-trigger"),
        (market(order_type="Notional Market"), "value"),
        (market(leg(quantity=None)), "legs[0].quantity"),
        (market(leg(action="Buy")), "legs[0].instrument-type"),
        (limit(value="5"), "value"),
        (market(leg(), leg()), "legs[1].symbol"),
    ],
)
def test_broken_rule_over_several_fields_is_listed(harness: Harness, body: Any, domain: str) -> None:
    code, domains = refused(harness, body)
    assert code == "validation_error"
    assert domain in domains


def test_amount_up_to_the_limit_is_accepted() -> None:
    harness = Harness(without=["cryptocurrency_orders_are_off"]).login()
    for number in ("1e9", "9" * 28, "1e-10", "١", "1_0", " 1", "NaN", "Infinity", "0x1", ""):
        assert refused(harness, limit(number)) == ("validation_error", ["price"]), number
        found = refused(harness, limit("1.00", leg(quantity=number)))
        assert found == ("validation_error", ["legs[0].quantity"]), number
    for number in ("999999999.99", "1e8", "0.000000001", "1.00000000000000000000000000000000001"):
        for one in (leg(quantity=number), leg("BTC/USD", number)):
            response = harness.ask("POST", harness.target("orders.dry_run"), limit(number, one))
            assert json.loads(response.body)["data"]["order"]["price"], number


def test_date_time_in_a_body_is_validated(harness: Harness) -> None:
    for text in ("2026-06-10T15:00:00Z", "2026-06-10T15:00:00", "2026-06-10T11:00:00.123456789-04:00"):
        assert "route-after" in harness.preview(limit(rules={"route-after": text}))["order"]["rules"]
    forms = ("2026-06-10", "20260610T150000Z", "2026-06-10x15:00Z")
    for text in (*forms, "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        refused(harness, limit(rules={"route-after": text}))


def test_body_that_is_no_object_is_422_and_no_json_400(harness: Harness) -> None:
    for body in (b"", b"[]", b'"x"', b"null"):
        harness.error("POST", f"/accounts/{harness.account}/orders", body)
    for body in (b"{", b"\xff", b"NaN", b"[" * 100_000):
        assert refused(harness, body, 400) == ("validation_error", ["body"])


def test_query_status(harness: Harness) -> None:
    statuses = {
        "/accounts/{}/orders?page-offset=-1": 400,
        "/accounts/{}/orders?page-offset=one": 400,
        "/accounts/{}/orders?page-offset=--1": 400,
        "/accounts/{}/orders?page-offset=999999999999999999": 200,
        "/accounts/{}/orders?page-offset=9999999999999999999": 400,
        "/accounts/{}/orders?page-offset=%D9%A1": 400,
        "/accounts/{}/orders?per-page=0": 400,
        "/instruments/equities?per-page=1000": 200,
        "/instruments/equities?per-page=1001": 400,
        "/customers/me/orders/live?account-numbers[]={}&per-page=0": 400,
        "/accounts/{}/orders?sort=Sideways": 400,
        "/accounts/{}/orders?status[]=Lost": 400,
        "/accounts/{}/orders?start-date=06/10/2026": 400,
        "/accounts/{}/orders?start-at=yesterday": 400,
        "/accounts/{}/orders?start-at=0001-01-01T00:00:00%2B14:00": 400,
        "/accounts/{}/orders?start-at=2026-06-10T14:00:00": 200,
        "/accounts/{}/orders?unknown=1": 200,
        "/accounts/{}/transactions?type=Trade&types[]=Trade": 422,
        "/instruments/equities?is-etf=maybe": 400,
        "/instruments/equities?lendability=Sometimes": 400,
        "/instruments/equity-options?active=1": 400,
        "/market-time/sessions": 422,
        "/market-time/sessions?to-date=tomorrow": 422,
        "/market-time/sessions?to-date=2026-06-09": 422,
        "/market-time/sessions?from-date=2026-01-01&to-date=2026-10-01": 200,
        "/market-time/sessions?from-date=2026-01-01&to-date=2026-10-02": 422,
        "/market-time/sessions?to-date=2026-07-01&instrument-collection=Moon": 422,
        "/market-time/sessions/current": 422,
        "/market-time/sessions/current?instrument-collections[]=Moon": 422,
        "/market-metrics/historic-corporate-events/earnings-reports/AAPL": 422,
        "/market-metrics/historic-corporate-events/earnings-reports/AAPL?start-date=20250101": 422,
    }
    assert {target: harness.ask("GET", target.format(harness.account)).status for target in statuses} == statuses


def test_validation_error_entries_follow_the_wire_form() -> None:
    for form, names in (("observed", {"domain", "reason"}), ("documented", {"code", "message", "domain"})):
        (entry,) = Harness(wire=form).login().error("GET", "/market-time/sessions")["errors"]
        assert set(entry) == names


def test_integer_in_a_body_is_within_its_bounds(harness: Harness) -> None:
    for index, status in ((2**31 - 1, 201), (2**31, 422), (-(2**31) - 1, 422)):
        body = {"name": "n", "watchlist-entries": [{"symbol": "AAPL"}], "order-index": index}
        assert harness.ask("POST", "/watchlists", body).status == status


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=6))
def test_money_is_lossless_with_two_places_and_no_exponent(amount: Decimal) -> None:
    assert Decimal(money(amount)) == amount
    texts = {"1": "1.00", "1.5": "1.50", "1.005": "1.005", "1E+3": "1000.00", "0.000010": "0.00001", "-2": "-2.00"}
    assert {amount: money(Decimal(amount)) for amount in texts} == texts


def test_dialect_chooses_the_json_type() -> None:
    observed, documented = Dialect("observed"), Dialect("documented")
    assert (observed.identifier(7), documented.identifier(7), observed.identifier(None)) == (7, "7", None)
    assert (observed.quantity(Decimal("10.0")), observed.quantity(Decimal("0.5"))) == (10, 0.5)
    assert (documented.quantity(Decimal("10.0")), documented.quantity(Decimal("0.50"))) == ("10", "0.5")
    assert (observed.moment(None), observed.moment(1.5)) == (0, 1500)
    assert documented.moment(None) == "1970-01-01T00:00:00.000+00:00"
    assert timestamp(1_781_100_000.1234) == "2026-06-10T14:00:00.123+00:00"


def test_envelopes(harness: Harness) -> None:
    one = f"/accounts/{harness.account}/orders/{harness.place(limit())}"
    assert [harness.get(one)[name] for name in ("context", "data")] == [one, harness.order(one.rpartition("/")[2])]
    assert harness.get("/watchlists") == {"data": {"items": []}, "context": "/watchlists"}
    assert wire.bare({"a": 1}).body == b'{"a":1}'
    assert harness.answered("DELETE", "/quote-alerts/unknown", None, 204) == b""
    assert wire.html(502, "Bad Gateway").headers["content-type"] == "text/html"
