"""Rules of orders that the service checks: each is refused with its code, and tickets keep every one."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async import simulator
from brokerage_async._generated.behaviours import BEHAVIOURS
from brokerage_async._generated.models import PreflightCode
from brokerage_async._generated.operations import REQUEST_MODELS
from tests.simulator.harness import Harness, exits, leg, limit, market
from tests.simulator.tickets import Tickets, misses

CALL = leg("AAPL  260717C00200000", "1")
PUT = leg("AAPL  260717P00200000", "1")
COIN = leg("BTC/USD", "0.1")
NOTIONAL = market(leg(quantity=None), order_type="Notional Market", value="10", value_effect="Debit")
STOP: dict[str, Any] = {"order-type": "Stop", "time-in-force": "GTC", "stop-trigger": "250", "legs": [leg()]}
CONDITION = {"action": "route", "comparator": "gte", "indicator": "last", "threshold": "900", "symbol": "AAPL"}
COMPONENT = {"instrument-type": "Equity", "quantity": "1", "quantity-direction": "Long", "symbol": "AAPL"}
COINS_OFF = "cryptocurrency_orders_are_off"


def without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in names}


def conditional(condition: dict[str, Any]) -> dict[str, Any]:
    return limit(rules={"conditions": [condition]})


def stop(*legs: Any) -> dict[str, Any]:
    return market(*legs, order_type="Stop", stop_trigger="2.00")


CASES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("price_terms_by_order_type", "price_not_allowed"): [market(price="100"), market(price_effect="Debit")],
    ("price_terms_by_order_type", "price_effect_missing"): [without(limit(), "price-effect")],
    ("price_terms_by_order_type", "value_effect_missing"): [without(NOTIONAL, "value-effect")],
    ("market_orders_have_one_leg", "market_order_with_several_legs"): [market(CALL, PUT)],
    ("stops_of_spreads_have_a_net_trigger", "stop_order_with_several_legs"): [stop(CALL, PUT)],
    ("future_options_have_no_stops", "stop_order_not_supported"): [stop(leg("./ESZ6 EW3U6 260918P6000", "1"))],
    ("market_orders_are_never_gtc", "gtc_market_orders_not_supported"): [
        NOTIONAL | {"time-in-force": "GTC"},
        market() | {"time-in-force": "GTD", "gtc-date": "2026-06-30"},
        STOP,
    ],
    ("extended_hours_are_for_equities", "extended_hours_not_supported"): [
        limit("1.00", CALL, time_in_force="Ext"),
        limit("1.00", CALL, PUT, time_in_force="GTC Ext Overnight"),
    ],
    ("buy_and_sell_are_for_futures", "plain_action_not_supported"): [
        limit("1.00", leg("./ESU6 E1AN6 260702C6000", "1", "Buy"))
    ],
    ("cryptocurrency_orders_are_off", "cryptocurrency_orders_disabled"): [limit("100.00", COIN)],
    ("cryptocurrency_orders_have_one_leg", "cryptocurrency_order_with_several_legs"): [
        limit("100.00", COIN, leg("ETH/USD", "1"))
    ],
    ("conditions_are_complete", "incomplete_condition"): [
        *(conditional(without(CONDITION, name)) for name in ("action", "comparator", "indicator", "threshold")),
        *(
            conditional(CONDITION | {"price-components": [each]})
            for each in (*(without(COMPONENT, name) for name in COMPONENT), COMPONENT | {"quantity-direction": "Zero"})
        ),
    ],
    ("oco_orders_are_a_limit_and_a_stop", "invalid_oco_order_type_combo"): [
        {"type": "OCO", "orders": [each, each]} for each in exits()
    ],
    ("blast_orders_are_refused", "unsupported_complex_order_type"): [{"type": "BLAST", "orders": exits()}],
}
"""Orders that break a rule, by its behaviour and the code that refuses them."""


def test_order_rules_broken_are_refused_with_their_code() -> None:
    off = {name: Harness(without=[name, COINS_OFF]).login() for name, _ in CASES}
    coins, plain = off[COINS_OFF], Harness().login()
    wrong = []
    for (behaviour, code), body in ((key, body) for key, bodies in CASES.items() for body in bodies):
        harness = coins if behaviour == "cryptocurrency_orders_have_one_leg" else plain
        if set(found := harness.codes(body)) != {code}:
            wrong.append((code, found))
        if code in (found := off[behaviour].codes(body)):
            wrong.append((f"{code} without {behaviour}", found))
    assert wrong == []


def test_order_rules_have_a_case_and_a_known_code_each() -> None:
    rules = [rule for model in REQUEST_MODELS.values() for rule in model.service_rules if rule.code]
    missing = {(rule.behaviour, rule.code) for rule in rules} - CASES.keys()
    assert missing == set()
    known = {*PreflightCode, *re.findall("`([a-z_]+)`", BEHAVIOURS["invented_preflight_codes"])}
    assert [rule.code for rule in rules if rule.code not in known] == []
    source = "".join(path.read_text("utf-8") for path in Path(simulator.__file__).parent.rglob("*.py"))
    assert set(re.findall(r'Message\("([a-z_.]+)"', source)) <= known


def test_order_rules_invented_codes_say_so() -> None:
    harness = Harness().login()
    for body, invented in ((limit("100.00", COIN), True), (STOP, False)):
        (entry,) = harness.error("POST", f"/accounts/{harness.account}/orders/dry-run", body)["errors"]
        assert entry["message"].endswith(" (code invented by the simulator)") is invented


THREE = [*exits(), exits()[1]]
PAIR = [limit(), limit("90.00", leg("MSFT"))]
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("price_terms_by_order_type", limit(value="10")),
    ("fractions_are_small_market_orders", NOTIONAL | {"legs": [leg(quantity="1")]}),
    ("legs_are_distinct_and_few", limit("1.00", CALL, CALL)),
    (
        "legs_are_distinct_and_few",
        limit("1.00", *(leg(f"{CALL['symbol']}{n}", kind="Equity Option") for n in range(5))),
    ),
    ("legs_are_distinct_and_few", limit("1.00", leg(), leg("MSFT"))),
    ("oco_orders_have_two_components", {"type": "OCO", "orders": THREE}),
)
"""Orders of a form that the service refuses, by a rule without a code of its own."""


def form_is_refused(harness: Harness, body: dict[str, Any]) -> bool:
    path = "complex-orders" if "type" in body else "orders"
    answer = harness.ask("POST", f"/accounts/{harness.account}/{path}/dry-run", body)
    return answer.status == 422 and json.loads(answer.body)["error"]["code"] == "validation_error"


def test_order_forms_broken_are_refused_unless_switched_off() -> None:
    combination = "oco_orders_are_a_limit_and_a_stop"
    usual = Harness(without=[combination]).login()
    wrong = [(name, body) for name, body in FORMS if not form_is_refused(usual, body)]
    for name, body in FORMS:
        if form_is_refused(Harness(without=[name, combination]).login(), body):
            wrong.append((f"without {name}", body))
    assert wrong == []


def test_complex_orders_without_their_components_are_refused() -> None:
    pairs = {"type": "PAIRS", "orders": PAIR, "ratio-price-comparator": "gte", "ratio-price-threshold": "1.5"}
    broken: tuple[dict[str, Any], ...] = (
        {"type": "OTO", "orders": exits()},
        {"type": "OTOCO", "orders": exits()},
        {"type": "OCO", "orders": exits(), "trigger-order": limit()},
        {"type": "OCO", "orders": exits()[:1]},
        {"type": "OTOCO", "orders": THREE, "trigger-order": limit()},
        {"type": "OTO", "orders": [*exits(), *exits()], "trigger-order": limit()},
        pairs | {"orders": PAIR[:1]},
        without(pairs, "ratio-price-threshold"),
        without(pairs, "ratio-price-comparator"),
    )
    harness = Harness().login()
    assert [body for body in broken if not form_is_refused(harness, body)] == []
    assert not form_is_refused(harness, pairs)


HARNESS = Harness(without=[COINS_OFF]).login()


@settings(max_examples=8)
@given(st.integers(0, 2**32))
def test_tickets_keep_the_form_and_broken_ones_are_refused_with_their_code(seed: int) -> None:
    assert list(misses(HARNESS, Tickets(Random(seed)), 4)) == []
