"""The life of an order: routed, live, filled in parts, expired, rejected."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async._generated.models import OrderStatus
from brokerage_async.simulator.trading.orders import TRANSITIONS
from tests.simulator.house import EDIT, House, leg, limit, market


def test_a_marketable_order_is_received_routed_live_and_filled(house: House) -> None:
    identifier = house.place(market())
    assert house.status(identifier) == "Received"
    house.wait(10)
    order = house.order(identifier)
    assert house.history(identifier) == ["Received", "Routed", "Live", "Filled"]
    assert (order["cancellable"], order["editable"]) == (False, False)
    assert order["received-at"] < order["in-flight-at"] < order["live-at"] < order["terminal-at"]
    (filled,) = order["legs"]
    assert filled["remaining-quantity"] == 0
    assert sum(fill["quantity"] for fill in filled["fills"]) == 10


def test_an_order_off_the_market_rests_until_the_close(house: House) -> None:
    identifier = house.place(limit("100.00"))
    house.wait(3600)
    house.login()
    assert house.status(identifier) == "Live"
    house.wait_until("2026-06-10T20:00:01+00:00")
    assert house.history(identifier) == ["Received", "Routed", "Live", "Expired"]
    assert house.order(identifier)["terminal-at"] == "2026-06-10T20:00:00.000+00:00"


def test_an_order_until_cancelled_outlives_the_day(house: House) -> None:
    identifier = house.place(limit("100.00", time_in_force="GTC"))
    house.wait_until("2026-06-15T15:00:00+00:00")
    assert house.status(identifier) == "Live"


def test_an_order_until_a_date_ends_with_that_day(house: House) -> None:
    identifier = house.place(limit("100.00", time_in_force="GTD", gtc_date="2026-06-12"))
    house.wait_until("2026-06-12T19:59:00+00:00")
    assert house.status(identifier) == "Live"
    house.wait_until("2026-06-12T20:00:01+00:00")
    assert house.status(identifier) == "Expired"


def test_an_order_after_hours_waits_for_the_next_session(house: House) -> None:
    house.wait_until("2026-06-12T21:00:00+00:00")
    response = house.ask("POST", f"/accounts/{house.account}/orders", market())
    placed = json.loads(response.body)["data"]
    assert [warning["code"] for warning in placed["warnings"]] == ["tif_next_valid_sesssion"]
    identifier = str(placed["order"]["id"])
    house.wait_until("2026-06-15T13:29:59+00:00")
    assert house.status(identifier) == "Received"
    house.wait_until("2026-06-15T13:31:00+00:00")
    assert house.status(identifier) == "Filled"


def test_extended_hours_fill_after_the_close(house: House) -> None:
    house.wait_until("2026-06-10T21:00:00+00:00")
    identifier = house.place(limit("250.00", time_in_force="Ext"))
    house.wait(10)
    assert house.status(identifier) == "Filled"


def test_immediate_or_cancel_drops_what_does_not_fill(house: House) -> None:
    identifier = house.place(limit("100.00", time_in_force="IOC"))
    house.wait(2)
    order = house.order(identifier)
    assert order["status"] == "Cancelled"
    assert order["cancelled-size"] == "10"


def test_a_limit_fills_when_the_price_comes_to_it(house: House) -> None:
    identifier = house.place(limit("150.00"))
    house.wait(5)
    house.world.market.set_price("AAPL", Decimal(149), house.now)
    house.wait(10)
    order = house.order(identifier)
    assert order["status"] == "Filled"
    assert {fill["fill-price"] for fill in order["legs"][0]["fills"]} == {"149.00"}


def test_a_stop_waits_for_its_trigger(house: House) -> None:
    house.place(market(leg(quantity="10")))
    house.wait(10)
    stop = market(leg(action="Sell to Close"), order_type="Stop", stop_trigger="180.00")
    identifier = house.place(stop)
    house.wait(600)
    assert house.status(identifier) == "Live"
    house.world.market.set_price("AAPL", Decimal("179.50"), house.now)
    house.wait(10)
    assert house.status(identifier) == "Filled"


def test_a_notional_order_buys_for_an_amount_of_money(house: House) -> None:
    identifier = house.place(
        market(leg(quantity=None), order_type="Notional Market", value="500.00", value_effect="Debit")
    )
    house.wait(10)
    order = house.order(identifier)
    assert order["status"] == "Filled"
    (fill,) = order["legs"][0]["fills"]
    assert Decimal(str(fill["quantity"])) * Decimal(fill["fill-price"]) == pytest.approx(Decimal(500), abs=Decimal(2))


def test_a_spread_fills_leg_by_leg_in_proportion(house: House) -> None:
    legs = [
        leg("AAPL  260717C00200000", "4", "Buy to Open", "Equity Option"),
        leg("AAPL  260717C00210000", "8", "Sell to Open", "Equity Option"),
    ]
    identifier = house.place(limit("50.00", *legs))
    house.wait(15)
    order = house.order(identifier)
    assert order["status"] == "Filled"
    first, second = ([fill["quantity"] for fill in one["fills"]] for one in order["legs"])
    assert [2 * quantity for quantity in first] == second
    assert order["size"] == 12


def test_halted_instruments_are_rejected_and_warned_of(house: House) -> None:
    body = market(leg("HALT"))
    preview = json.loads(house.ask("POST", f"/accounts/{house.account}/orders/dry-run", body).body)["data"]
    assert preview["warnings"][0]["code"] == "order_would_be_rejected"
    identifier = house.place(body)
    house.wait(2)
    order = house.order(identifier)
    assert (order["status"], order["reject-reason"]) == ("Rejected", "Trading in the instrument is halted")


def test_an_order_can_wait_for_a_time_and_end_at_one(house: House) -> None:
    rules = {"route-after": "2026-06-10T15:00:00Z", "cancel-at": "2026-06-10T16:00:00Z"}
    identifier = house.place(limit(rules=rules))
    house.wait_until("2026-06-10T14:59:59+00:00")
    assert house.status(identifier) == "Received"
    house.wait_until("2026-06-10T15:00:02+00:00")
    assert house.status(identifier) == "Live"
    house.wait_until("2026-06-10T16:00:02+00:00")
    order = house.order(identifier)
    assert order["status"] == "Cancelled"
    assert {"routed-at", "cancelled-at"} <= set(order["rules"])


def test_an_order_can_wait_for_a_price(house: House) -> None:
    condition = {
        "action": "route",
        "symbol": "MSFT",
        "instrument-type": "Equity",
        "indicator": "last",
        "comparator": "lte",
        "threshold": "400",
    }
    identifier = house.place(market(rules={"conditions": [condition]}))
    house.wait(600)
    order = house.order(identifier)
    assert (order["status"], order["contingent-status"]) == ("Contingent", "Pending Condition")
    house.world.market.set_price("MSFT", Decimal(399), house.now)
    house.wait(120)
    order = house.order(identifier)
    assert order["status"] == "Filled"
    assert order["rules"]["conditions"][0]["triggered-value"] == "399.00"


steps = st.lists(
    st.tuples(
        st.sampled_from(["limit", "market", "ioc", "cancel", "replace", "wait", "price"]),
        st.integers(0, 5),
        st.floats(0.05, 400.0),
    ),
    min_size=3,
    max_size=25,
)


@settings(max_examples=40)
@given(st.integers(0, 10_000), steps)
def test_histories_are_legal_and_quantities_balance(seed: int, plan: list[tuple[str, int, float]]) -> None:
    house = House(seed=seed).login()
    placed: list[str] = []
    for action, which, amount in plan:
        match action:
            case "limit":
                placed.append(house.place(limit(f"{195 + which * 2}.00", leg(quantity=str(which + 1)))))
            case "market":
                placed.append(house.place(market(leg(quantity=str(which + 1)))))
            case "ioc":
                placed.append(house.place(limit("200.00", time_in_force="IOC")))
            case "cancel" if placed:
                house.cancel(placed[which % len(placed)])
            case "replace" if placed:
                target = f"/accounts/{house.account}/orders/{placed[which % len(placed)]}"
                response = house.ask("PUT", target, EDIT | {"price": "198.00"})
                if response.status == 200:
                    placed.append(str(json.loads(response.body)["data"]["id"]))
            case "price":
                house.world.market.set_price("AAPL", Decimal(195 + which), house.now)
            case _:
                house.wait(amount)
                house.login()
    house.wait(60)
    check_histories(house)
    check_quantities(house)
    account = house.world.accounts.get(house.account)
    assert account is not None
    working = [order for order in house.world.blotter.of([account]) if not order.is_terminal]
    assert account.reserved == sum((order.reserved for order in working), Decimal(0))


def check_histories(house: House) -> None:
    latest: dict[str, str] = {}
    for event in house.sim.ledger.events:
        before = latest.get(event.order_id)
        assert event.before == before
        if before is not None:
            assert OrderStatus(event.after) in TRANSITIONS[OrderStatus(before)]
        latest[event.order_id] = event.after


def check_quantities(house: House) -> None:
    account = house.world.accounts.get(house.account)
    assert account is not None
    held = Decimal(0)
    for order in house.world.blotter.of([account]):
        for one in order.legs:
            filled = sum((Decimal(str(fill.quantity)) for fill in one.fills), Decimal(0))
            assert filled + one.remaining == one.quantity
            assert (order.status is OrderStatus.FILLED) == (one.remaining == 0)
            held += filled * one.sign
    assert account.held("AAPL") == held
