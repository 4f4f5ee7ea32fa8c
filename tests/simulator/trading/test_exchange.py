"""Life of an order: routed, live, filled in parts as prices cross and sizes allow, expired, rejected, by chance."""

from decimal import Decimal
from typing import Any, cast

import attrs
import pytest

from brokerage_async._generated.behaviours import BEHAVIOURS
from brokerage_async.simulator import PricePath
from brokerage_async.simulator.trading.exchange import RATES
from tests.simulator.harness import CALL, Harness, condition, leg, limit, lone_order, market, notional, spread, switched
from tests.tables import for_each


def test_marketable_order_is_received_routed_in_flight_live_and_filled(harness: Harness) -> None:
    identifier = harness.place(market())
    assert harness.status(identifier) == "Received"
    order = harness.order(identifier, after=10)
    assert harness.history(identifier) == ["Received", "Routed", "In Flight", "Live", "Filled"]
    assert (order["cancellable"], order["editable"]) == (False, False)
    assert order["received-at"] < order["in-flight-at"] < order["live-at"] < order["terminal-at"]
    (filled,) = order["legs"]
    assert filled["remaining-quantity"] == 0
    assert sum(fill["quantity"] for fill in filled["fills"]) == 10
    harness = Harness(without=["orders_pass_in_flight"]).login()
    identifier = harness.trade(market())
    assert harness.history(identifier) == ["Received", "Routed", "Live", "Filled"]


def test_fill_beats_a_requested_cancellation() -> None:
    """The request is on its way to the exchange while a trade happens there, for the whole order or for a part."""
    seen = set()
    for without in ((), ("fills_after_cancel_requests",)):
        for seed in range(12):
            harness = Harness(seed=seed, equities=20, without=without).login()
            identifier = harness.place(limit("250.00"))
            while harness.status(identifier) != "Live":
                harness.wait(0.01)
            harness.wait(0.15)
            assert harness.cancel(identifier).status == 200
            harness.wait(25)
            history = harness.history(identifier)
            (traded,) = harness.order(identifier)["legs"]
            assert history[-2] == "Cancel Requested"
            assert (history[-1] == "Filled") is (traded["remaining-quantity"] == 0)
            seen.add((without, history[-1], bool(traded["fills"])))
    assert {("Filled", True), ("Cancelled", False)} <= {found[1:] for found in seen if not found[0]}
    assert {found[1:] for found in seen if found[0]} == {("Cancelled", False)}


def test_limit_order_fills_at_its_price(harness: Harness) -> None:
    cancelled, filled = harness.trade(limit("100.00")), harness.trade(limit("150.00"))
    assert harness.cancel(cancelled).status == 200
    harness.wait(25)
    harness.sim.set_price("AAPL", 149)
    assert (harness.status(filled, after=10), {price for _, price in harness.fills(filled)}) == ("Filled", {149})
    harness.sim.set_price("AAPL", 99)
    harness.wait(10)
    assert harness.history(cancelled)[-2:] == ["Cancel Requested", "Cancelled"]
    assert harness.fills(cancelled) == []


def test_limit_order_never_fills_beyond_its_price(harness: Harness) -> None:
    """Not even one whose price is gone before the trade."""
    waiting = harness.trade(limit("150.00", order_type="Marketable Limit"), seconds=600)
    at_once = harness.trade(limit("250.00", order_type="Marketable Limit"))
    assert (harness.status(waiting), harness.status(at_once)) == ("Live", "Filled")
    identifier = harness.place(limit("250.00"))
    while harness.status(identifier) != "Live":
        harness.wait(0.01)
    harness.sim.set_price("AAPL", 300)
    assert (harness.status(identifier, after=60), harness.fills(identifier)) == ("Live", [])


def test_spread_is_filled_before_its_last_fills() -> None:
    for harness, open_at_first in switched("filled_with_fills_to_come", 1, 0):
        identifier = harness.place(spread())
        while (order := harness.order(identifier))["status"] != "Filled":
            harness.wait(0.02)
        assert [each["remaining-quantity"] for each in order["legs"]] == [0, open_at_first]
        assert len(harness.own().positions) == 2 - open_at_first
        before = order["updated-at"]
        order = harness.order(identifier, after=21)
        assert [each["remaining-quantity"] for each in order["legs"]] == [0, 0]
        assert len(harness.own().positions) == 2
        assert (order["updated-at"] > before) is bool(open_at_first)


def test_order_after_hours_waits_for_the_next_session(harness: Harness) -> None:
    harness.wait_until("2026-06-12T21:00:00+00:00")
    placed = harness.data("POST", f"/accounts/{harness.account}/orders", limit("250.00"), 201)
    assert [warning["code"] for warning in placed["warnings"]] == ["tif.next_valid_session"]
    for moment, status in (("2026-06-15T13:29:59+00:00", "Received"), ("2026-06-15T13:31:00+00:00", "Filled")):
        assert harness.status(str(placed["order"]["id"]), after=moment) == status
    old = Harness(without=["next_session_warning_is_dotted"])
    old.wait_until("2026-06-12T21:00:00+00:00")
    assert [warning["code"] for warning in old.preview(limit("250.00"))["warnings"]] == ["tif_next_valid_sesssion"]


def test_order_lives_as_long_as_its_time_in_force(harness: Harness) -> None:
    order = harness.order(harness.trade(limit("100.00", time_in_force="IOC"), seconds=2))
    assert (order["status"], order["cancelled-size"]) == ("Cancelled", "10")
    resting = {
        "Day": ("2026-06-10T19:59:00+00:00", "2026-06-10T20:00:01+00:00"),
        "GTD": ("2026-06-12T19:59:00+00:00", "2026-06-12T20:00:01+00:00"),
        "GTC": ("2026-06-15T15:00:00+00:00", None),
    }
    for force, (alive, ended) in resting.items():
        date = {"gtc_date": ended[:10]} if force == "GTD" and ended else {}
        identifier = harness.place(limit("100.00", time_in_force=force, **date))
        assert harness.status(identifier, after=alive) == "Live"
        if ended is not None:
            assert harness.order(identifier, after=ended)["terminal-at"] == f"{ended[:10]}T20:00:00.000+00:00"
            assert harness.history(identifier) == ["Received", "Routed", "In Flight", "Live", "Expired"]
            harness.wait_until(f"{ended[:10]}T21:00:00+00:00")
            assert harness.status(harness.trade(limit("250.00", time_in_force="Ext"))) == "Filled"


def test_exchange_price_between_ticks_is_rejected_at_routing() -> None:
    rejected = ("Rejected", "The price is between two ticks (text of the simulator)")
    for harness, expected in switched("off_tick_rejected_at_routing", rejected, ("Live", None)):
        for body in (limit("100.005"), limit("3.01", leg(CALL, "1"))):
            assert harness.preview(body)["warnings"] == []
            order = harness.order(harness.trade(body, seconds=1))
            assert (order["status"], order.get("reject-reason")) == expected
        for price in ("100.01", "0.0101"):
            assert harness.status(harness.trade(limit(price), seconds=1)) == "Live"


def puts(order_type: str, first: str, second: str, **terms: Any) -> dict[str, Any]:
    """Return an order for a put spread of AAPL, its legs in the given order: an action and a strike each."""
    legs = [leg(f"AAPL  260717P00{each[-3:]}000", "1", each[:-4]) for each in (first, second)]
    return limit(terms.pop("price"), *legs, **terms) | {"order-type": order_type}


CREDIT_SPREAD = puts("Limit", "Sell to Open 190", "Buy to Open 180", price="0.05", effect="Credit")
DEBIT_SPREAD = puts("Limit", "Buy to Open 190", "Sell to Open 180", price="9.90")


@for_each(
    "opening, spot, offset, first, second, terms, moves",
    [  # whatever leg comes first
        (CREDIT_SPREAD, 200, 1, "Buy to Close 190", "Sell to Close 180", {"price": "9.00"}, (195, 180)),
        (CREDIT_SPREAD, 200, 1, "Sell to Close 180", "Buy to Close 190", {"price": "9.00"}, (195, 180)),
        (DEBIT_SPREAD, 185, -1, "Buy to Close 180", "Sell to Close 190", {"price": "0.05", "effect": "Credit"}, (205,)),
    ],
)
def test_stop_limit_of_a_spread_is_triggered_by_its_net_price(
    opening: Any, spot: int, offset: int, first: str, second: str, terms: dict[str, Any], moves: tuple[int, ...]
) -> None:
    """It buys back a credit spread that has become dearer, or sells one whose credit has fallen."""
    harness = Harness().login()
    high, low = (harness.instrument(f"AAPL  260717P00{strike}000") for strike in (190, 180))

    def net() -> Decimal:
        return harness.state.prices.price(high, harness.now) - harness.state.prices.price(low, harness.now)

    harness.sim.set_price("AAPL", spot)
    assert harness.status(harness.trade(opening)) == "Filled"
    trigger = net() + offset
    identifier = harness.trade(puts("Stop Limit", first, second, stop_trigger=str(trigger), **terms), seconds=600)
    assert harness.status(identifier) == "Live"
    for move in moves:
        harness.sim.set_price("AAPL", move)
        harness.wait(120)
        is_reached = (net() - trigger) * offset >= 0
        assert (move, harness.status(identifier)) == (move, "Filled" if is_reached else "Live")
    assert is_reached


def test_order_for_a_halted_instrument_is_rejected_after_a_warning(harness: Harness) -> None:
    body = market(leg("HALT"))
    assert harness.preview(body)["warnings"][0]["code"] == "order_would_be_rejected"
    order = harness.order(harness.trade(body, seconds=2))
    assert (order["status"], order["reject-reason"]) == ("Rejected", "Trading in the instrument is halted")


def test_route_after_and_cancel_at_rules(harness: Harness) -> None:
    rules = {"route-after": "2026-06-10T15:00:00Z", "cancel-at": "2026-06-10T16:00:00Z"}
    identifier = harness.place(limit(rules=rules))
    assert harness.status(identifier, after="2026-06-10T14:59:59+00:00") == "Received"
    assert harness.status(identifier, after="2026-06-10T15:00:02+00:00") == "Live"
    order = harness.order(identifier, after="2026-06-10T16:00:02+00:00")
    assert order["status"] == "Cancelled"
    assert {"routed-at", "cancelled-at"} <= set(order["rules"])


def test_price_condition_and_stop_hold_the_order_back(harness: Harness) -> None:
    identifier = harness.trade(market(rules={"conditions": [condition("MSFT", "lte", "400")]}), seconds=600)
    order = harness.order(identifier)
    assert (order["status"], order["contingent-status"]) == ("Contingent", "Pending Condition")
    harness.sim.set_price("MSFT", 399)
    order = harness.order(identifier, after=120)
    assert (order["status"], order["rules"]["conditions"][0]["triggered-value"]) == ("Filled", "399.00")
    harness = Harness().login()
    harness.trade(market())
    stop = market(leg(action="Sell to Close"), order_type="Stop", stop_trigger="180.00")
    identifier = harness.trade(stop, seconds=600)
    assert harness.status(identifier) == "Live"
    harness.sim.set_price("AAPL", "179.50")
    assert harness.status(identifier, after=10) == "Filled"


def test_overnight_order_works_in_the_evening_unless_that_is_switched_off() -> None:
    for harness, status in switched("overnight_orders_work_at_night", "Filled", "Received"):
        harness.wait_until("2026-06-11T01:00:00+00:00")  # Wednesday, 21:00 in New York
        harness.login()
        identifier = harness.trade(limit("999.00", time_in_force="Ext Overnight"), seconds=60)
        assert harness.status(identifier) == status


def test_exchange_fill_comes_however_often_the_price_is_set(harness: Harness) -> None:
    order = harness.place(market(leg()))
    for number in range(40):
        harness.sim.set_price("AAPL", 200 + number % 3)
        harness.wait(0.1)
    assert harness.status(order) == "Filled"


def scripted(bid: str, *sizes: int) -> Harness:
    """Return a brokerage that quotes AAPL twenty cents wide, each minute with the next size."""
    quote = {"price": bid, "bid": bid, "ask": Decimal(bid) + Decimal("0.2")}
    rows = [{**quote, "time": 60 * n, "bid_size": size, "ask_size": size} for n, size in enumerate(sizes)]
    return Harness(prices={"AAPL": PricePath(rows)}).login()


HUNDRED = leg(quantity="100")


@for_each(
    "bid, sizes, body, steps",
    [
        ("199.90", (30, 50, 500), market(HUNDRED), [(59, "Live", 30), (60, "Live", 80), (30, "Filled", 100)]),
        ("99.90", (30,), limit("101.00", HUNDRED, time_in_force="IOC"), [(30, "Cancelled", 30)]),
        # 3 contracts are wanted of the second option: enough for one unit of one and two
        ("199.90", (60, 2000), spread("2", "4"), [(59, "Live", 1 + 2), (60, "Filled", 2 + 4)]),
        ("99.90", (0, 1), notional("50"), [(59, "Live", 0), (10, "Filled", Decimal("0.5005"))]),
    ],
)
def test_order_larger_than_the_size_fills_quote_by_quote(bid: str, sizes: Any, body: Any, steps: Any) -> None:
    harness = scripted(bid, *sizes)
    identifier = harness.place(body)
    for seconds, status, expected in steps:
        assert harness.status(identifier, after=seconds) == status
        assert sum(quantity for quantity, _ in harness.fills(identifier)) == expected


def test_orders_of_one_side_share_the_size_of_a_quote() -> None:
    harness = scripted("199.90", 50)
    first, second = (harness.place(market(leg(quantity="40"))) for _ in range(2))
    sale = harness.trade(market(leg(quantity="50", action="Sell to Close")), harness.accounts[1], seconds=30)
    assert sum(quantity for quantity, _ in harness.fills(first) + harness.fills(second)) == 50
    assert harness.status(sale, harness.accounts[1]) == "Filled"


def always(monkeypatch: pytest.MonkeyPatch, behaviour: str) -> None:
    """Let a rare event happen to each order, or on each day."""
    monkeypatch.setitem(cast("dict[str, Any]", RATES), behaviour, attrs.evolve(RATES[behaviour], one_in=1))


def test_rates_are_met_in_a_thousand_days_of_ten_orders() -> None:
    """Of 10,000 orders, each event meets some, and none meets many."""
    exchange = Harness(seed=7).state.exchange
    for behaviour, rate in RATES.items():
        delays = [exchange.chance(behaviour, lone_order(number=number)) for number in range(10_000)]
        met = [delay for delay in delays if delay is not None]
        assert 0.4 * 10_000 / rate.one_in < len(met) < 1.8 * 10_000 / rate.one_in
        assert all(rate.seconds[0] <= delay <= rate.seconds[1] for delay in met)
        assert behaviour in BEHAVIOURS


def cancelled(harness: Harness) -> str:
    identifier = harness.trade(limit(), seconds=1)
    assert harness.cancel(identifier).status == 200
    return identifier


def in_an_outage(harness: Harness) -> str:
    """Place an order that rests, once the sandbox's session is offline."""
    is_offline = Harness().state.exchange.is_offline
    outage = next(now for now in minutes(harness.now, days=3) if is_offline(now))
    harness.wait(outage - harness.now)
    return harness.login().place(limit())


def minutes(start: float, days: int) -> range:
    return range(int(start), int(start) + days * 86400, 60)


@for_each(
    "behaviour, begin, seconds, usual, rare",
    [
        ("filled_with_fills_to_come", lambda here: here.place(spread()), 4.0, ("Filled", 0), ("Filled", 1)),
        ("cancels_confirmed_late", cancelled, 1.0, ("Cancelled", 10), ("Cancel Requested", 10)),
        ("fills_after_cancel_requests", cancelled, 1.0, ("Cancelled", 10), ("Filled", 0)),
        ("live_orders_can_be_rejected", lambda here: here.place(limit()), 61.0, ("Live", 10), ("Rejected", 10)),
        ("administrators_remove_orders", lambda here: here.place(limit()), 606.0, ("Live", 10), ("Removed", 10)),
        ("orders_can_be_dead", lambda here: here.place(limit()), 1.0, ("Live", 10), ("Dead", 10)),
        ("sandbox_sessions_go_offline", in_an_outage, 1.0, ("Live", 10), ("Rejected", 10)),
    ],
)
def test_each_event_happens_by_the_seed_and_can_be_switched_off(
    behaviour: str, begin: Any, seconds: float, usual: tuple[str, int], rare: tuple[str, int]
) -> None:
    for without, expected in (((), rare), ((behaviour,), usual)):
        with pytest.MonkeyPatch.context() as patch:
            always(patch, behaviour)
            harness = Harness(without=without).login()
            identifier = begin(harness)
            harness.wait(seconds)
            shown = harness.login().order(identifier)
            found = shown["status"], sum(each["remaining-quantity"] for each in shown["legs"])
            assert found == expected, (behaviour, without, harness.history(identifier))
            fills = [(10, 100)] * (shown["status"] == "Filled")
            assert begin is not cancelled or harness.fills(identifier) == fills  # at the limit


def test_session_of_the_sandbox_is_offline_for_25_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, "sandbox_sessions_go_offline")
    for environment, expected in (("sandbox", 25), ("production", 0)):
        one = Harness(seed=3, environment=environment)
        offline = [now for now in minutes(one.now, days=1) if one.state.exchange.is_offline(now)]
        assert len(offline) == expected
    harness = Harness().login()
    refused = in_an_outage(harness)
    shown = harness.order(refused, after=1)
    assert (shown["status"], shown["reject-reason"]) == ("Rejected", "Session offline")
    harness.wait(25 * 60)
    assert harness.login().status(harness.trade(limit(), seconds=1)) == "Live"
