"""Checks before an order is accepted, and the rules of orders: tickets keep every one."""

import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async import simulator
from brokerage_async._generated.behaviours import BEHAVIOURS
from brokerage_async._generated.models import PreflightCode
from brokerage_async._generated.operations import REQUEST_MODELS
from brokerage_async.simulator.trading.accounts import Position
from brokerage_async.simulator.trading.preflight import LIMITS
from tests.simulator import tickets
from tests.simulator.harness import CALL, EDIT, Harness, check_effect, condition, exits, leg, limit, market, notional
from tests.tables import for_each

STRICT = {"strict-position-effect-validation": True}


@for_each(
    "body, code",
    [
        (limit(effect="Credit"), "cant_buy_for_credit"),
        (limit("100.00", leg(action="Sell to Open")), "cant_sell_for_debit"),
        (limit("100.00", leg("NOTTHERE")), "invalid_symbol"),
        (limit("100.00", leg(quantity="-1")), "invalid_quantity"),
        (limit("100.00", leg(quantity="0")), "invalid_quantity"),
        (limit("1.00", leg(CALL, "0.5")), "invalid_quantity"),
        (market(leg("/ESU6", "0.5", "Buy")), "invalid_quantity"),
        (notional("50", "AAPL  260116C00400000"), "invalid_quantity"),  # its price is 0
        (market(leg("GONE")), "instrument_closing_only"),
        (market(leg("AAPL  260116C00200000", "1")), "instrument_expired"),
        (market(leg("GONE  260717C00005000", "1")), "invalid_symbol"),  # has no options
        (limit("-1.00"), "invalid_price"),
        (limit(time_in_force="GTD", gtc_date="2026-06-09"), "invalid_gtc_date"),
        (market(leg(action="Sell to Close"), advanced_instructions=STRICT), "invalid_position_effect"),
        (limit("1.00", leg(CALL, "1"), leg("MSFT  260717C00470000", "1")), "legs_underlying_mismatch"),
    ],
)
def test_invalid_order_fails_its_preflight(harness: Harness, body: dict[str, Any], code: str) -> None:
    for target in ("orders", "orders/dry-run"):
        error = harness.error("POST", f"/accounts/{harness.account}/{target}", body)
        assert error["code"] == "preflight_check_failure"
        assert code in [entry["code"] for entry in error["errors"]]


def test_preflight_opening_market_order_after_hours_is_refused() -> None:
    known = "tif_no_after_hours_opening_market_orders"
    later = market(rules={"route-after": "2026-06-15T14:00:00+00:00"})
    close = market(leg(quantity="1", action="Sell to Close"))
    for without, refused in (((), [known]), (["opening_market_orders_need_an_open_market"], [])):
        harness = Harness(without=without)
        harness.wait_until("2026-06-12T21:00:00+00:00")
        assert [harness.codes(body) for body in (market(), notional(), later)] == [refused, refused, []]
        assert harness.codes(close, harness.accounts[1]) == []


def test_preflight_fractions_are_small_market_orders() -> None:
    half, value, fraction = leg(quantity="0.5"), "notional_value_not_supported", "fractional_quantity_not_supported"
    cases = (
        (notional("5"), []),
        (notional("4.99"), [value]),
        (notional("10000"), [value]),
        (notional("5", "BRK/A"), [fraction]),
        (market(half), []),
        (market(leg(quantity="0.001")), [value]),
        (limit("100.00", half), [fraction]),
        (limit("100.00", half, time_in_force="GTC"), [fraction]),
        (notional("10") | {"value-effect": "Credit"}, ["cant_buy_for_credit"]),
    )
    kept, off = Harness().login(), Harness(without=["fractions_are_small_market_orders"]).login()
    wrong = [(body, found) for body, refused in cases if (found := kept.codes(body)) != refused]
    wrong += [(body, found) for body, _ in cases[:-1] if (found := off.codes(body))]
    assert wrong == []
    assert kept.codes(market(leg(quantity="0.001", action="Sell to Close")), kept.accounts[1]) == []


def test_preflight_both_sides_of_a_symbol_are_refused() -> None:
    """The second account holds 100 shares, and an order closes 10 of them."""
    sides, more = "illegal_buy_and_sell_on_same_symbol", "cannot_close_against_more_than_existing_position"
    close, open_ = "Sell to Close", "Sell to Open"
    cases = (
        (leg(quantity="90", action=close), []),
        (leg(quantity="91", action=close), [more]),
        (leg(quantity="1", action=open_), ["cannot_open_against_existing_position"]),
        (leg(quantity="1"), [sides]),
        (leg("GLD"), []),
    )
    for without in ((), ["no_account_holds_both_sides"]):
        harness = Harness(without=without).login()
        harness.wait(5)
        second = harness.accounts[1]
        harness.place(limit("900.00", leg(action=close), effect="Credit"), second)
        found = [(one, harness.codes(market(one), second)) for one, _ in cases]
        assert found == [(one, [] if without else refused) for one, refused in cases]
        buy = harness.place(limit())
        assert harness.codes(limit("300.00", leg(action=open_), effect="Credit")) == ([] if without else [sides])
        assert harness.ask("PATCH", f"/accounts/{harness.account}/orders/{buy}", EDIT).status == 200


def test_position_effects_are_checked_only_on_request(harness: Harness) -> None:
    order = limit("100000.00", leg(quantity="50000"))
    body = json.loads(harness.answered("POST", harness.target("orders.submit"), order, 422))
    assert body["error"]["code"] == "preflight_check_failure"
    assert [entry["code"] for entry in body["error"]["errors"]] == ["margin_check_failed"]
    assert body["data"]["errors"] == body["error"]["errors"]
    check_effect(body["data"])
    assert "id" not in body["data"]["order"]
    assert harness.place(market(leg(action="Sell to Close")))


def test_close_of_a_position_stays_a_close(harness: Harness) -> None:
    harness.trade(market())
    closing = limit("900.00", leg(action="Sell to Close"), effect="Credit")
    first = harness.place(closing)
    assert harness.order(first)["legs"][0]["action"] == "Sell to Close"
    harness.cancel(first)
    harness.wait(1)
    harness.trade(market(leg(action="Sell to Close")))
    assert harness.order(harness.place(closing))["legs"][0]["action"] == "Sell to Open"


def test_dry_run_creates_nothing(harness: Harness) -> None:
    before = len(harness.sim.ledger.events)
    order = harness.preview(limit(external_identifier="x"))["order"]
    assert not {"id", "received-at"} & set(order)
    assert order["updated-at"] == 0
    assert len(harness.sim.ledger.events) == before
    assert harness.sim.ledger.orders(external_identifier="x") == []


def test_order_and_position_have_at_most_their_size(harness: Harness) -> None:
    cases: list[tuple[str, str, str, list[str]]] = [
        ("0", "50000", "Buy to Open", []),
        ("0", "50001", "Buy to Open", ["size_limit_exceeded"]),
        ("199990", "10", "Buy to Open", []),
        ("199990", "11", "Buy to Open", ["size_limit_exceeded"]),
        ("300000", "60000", "Sell to Close", []),
    ]
    for held, quantity, action, expected in cases:
        shares = Position(harness.instrument("AAPL"), Decimal(held), Fraction(1), harness.now)
        harness.own().positions |= {"AAPL": shares} if Decimal(held) else {}
        effect = "Debit" if action == "Buy to Open" else "Credit"
        body = limit("1.00", leg(quantity=quantity, action=action), effect=effect)
        assert (held, quantity, harness.codes(body)) == (held, quantity, expected)
    served = harness.get(f"/accounts/{harness.account}/position-limit")["data"]
    for kind, limits in LIMITS.items():
        name = kind.lower().replace(" ", "-")
        assert (served[f"{name}-order-size"], served[f"{name}-position-size"]) == (limits.order, limits.position)
    assert "underlying-opening-order-limit" not in served  # orders are not held against one


CALL = leg("AAPL  260717C00200000", "1")
PUT = leg("AAPL  260717P00200000", "1")
COINS = leg("BTC/USD", "0.1"), leg("ETH/USD", "1")
FUTURE_OPTION = "./ESZ6 EW3U6 260918P6000"
STOP: dict[str, Any] = {"order-type": "Stop", "time-in-force": "GTC", "stop-trigger": "250", "legs": [leg()]}
CONDITION = condition("AAPL", "gte", "900")
COMPONENT = {"instrument-type": "Equity", "quantity": "1", "quantity-direction": "Long", "symbol": "AAPL"}
COINS_OFF = "cryptocurrency_orders_are_off"


def without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in names}


COMPONENTS = [*(without(COMPONENT, name) for name in COMPONENT), COMPONENT | {"quantity-direction": "Zero"}]
INCOMPLETE = [without(CONDITION, name) for name in ("action", "comparator", "indicator", "threshold")]
INCOMPLETE += [CONDITION | {"price-components": [one]} for one in COMPONENTS]


def stop(*legs: Any) -> dict[str, Any]:
    return market(*legs, order_type="Stop", stop_trigger="2.00")


CASES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("price_terms_by_order_type", "price_not_allowed"): [market(price="100"), market(price_effect="Debit")],
    ("price_terms_by_order_type", "price_effect_missing"): [without(limit(), "price-effect")],
    ("price_terms_by_order_type", "value_effect_missing"): [without(notional(), "value-effect")],
    ("market_orders_have_one_leg", "market_order_with_several_legs"): [market(CALL, PUT)],
    ("stops_of_spreads_have_a_net_trigger", "stop_order_with_several_legs"): [stop(CALL, PUT)],
    ("future_options_have_no_stops", "stop_order_not_supported"): [stop(leg(FUTURE_OPTION, "1"))],
    ("market_orders_are_never_gtc", "gtc_market_orders_not_supported"): [
        notional() | {"time-in-force": "GTC"},
        market() | {"time-in-force": "GTD", "gtc-date": "2026-06-30"},
        STOP,
    ],
    ("extended_hours_are_for_equities", "extended_hours_not_supported"): [
        limit("1.00", CALL, time_in_force="Ext"),
        limit("1.00", leg("/ESU6", "1", "Buy"), time_in_force="Ext"),
        limit("1.00", CALL, PUT, time_in_force="GTC Ext Overnight"),
    ],
    ("buy_and_sell_are_for_futures", "plain_action_not_supported"): [limit("1.00", leg(FUTURE_OPTION, "1", "Buy"))],
    ("cryptocurrency_orders_are_off", "cryptocurrency_orders_disabled"): [limit("100.00", COINS[0])],
    ("cryptocurrency_orders_have_one_leg", "cryptocurrency_order_with_several_legs"): [limit("100.00", *COINS)],
    ("conditions_are_complete", "incomplete_condition"): [limit(rules={"conditions": [one]}) for one in INCOMPLETE],
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
    assert set(re.findall(r'notice\("([a-z_.]+)"', source)) <= known


def test_order_rules_invented_codes_say_so(harness: Harness) -> None:
    for body, invented in ((limit("100.00", COINS[0]), True), (STOP, False)):
        (entry,) = harness.error("POST", f"/accounts/{harness.account}/orders/dry-run", body)["errors"]
        assert entry["message"].endswith(" (code invented by the simulator)") is invented


THREE = [*exits(), exits()[1]]
PAIR = [limit(), limit("90.00", leg("MSFT"))]
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("price_terms_by_order_type", limit(value="10")),
    ("fractions_are_small_market_orders", notional() | {"legs": [leg(quantity="1")]}),
    ("legs_are_distinct_and_few", limit("1.00", CALL, CALL)),
    ("legs_are_distinct_and_few", limit("1.00", *(CALL | {"symbol": f"{CALL['symbol']}{n}"} for n in range(5)))),
    ("legs_are_distinct_and_few", limit("1.00", leg(), leg("MSFT"))),
    ("oco_orders_have_two_components", {"type": "OCO", "orders": THREE}),
)
"""Orders of a form that the service refuses, by a rule without a code of its own."""


def form_is_refused(harness: Harness, body: dict[str, Any]) -> bool:
    path = "complex-orders" if "orders" in body else "orders"
    answer = harness.ask("POST", f"/accounts/{harness.account}/{path}/dry-run", body)
    return answer.status == 422 and json.loads(answer.body)["error"]["code"] == "validation_error"


def test_order_forms_broken_are_refused_unless_switched_off() -> None:
    combination = "oco_orders_are_a_limit_and_a_stop"
    usual = Harness(without=[combination]).login()
    off = {name: Harness(without=[name, combination]).login() for name, _ in FORMS}
    found = [(name, form_is_refused(usual, body), form_is_refused(off[name], body)) for name, body in FORMS]
    assert found == [(name, True, False) for name, _ in FORMS]


def test_complex_orders_without_their_components_are_refused(harness: Harness) -> None:
    pairs = {"type": "PAIRS", "orders": PAIR, "ratio-price-comparator": "gte", "ratio-price-threshold": "1.5"}
    broken: tuple[dict[str, Any], ...] = (
        {"orders": exits()},
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
    assert [body for body in broken if not form_is_refused(harness, body)] == []
    assert not form_is_refused(harness, pairs)


@settings(max_examples=8)
@given(st.integers(0, 2**32))
def test_tickets_keep_the_form(seed: int) -> None:
    tickets.play(seed)
