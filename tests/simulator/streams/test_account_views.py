"""Objects on the account stream match the same objects of the REST API."""

from typing import Any

from brokerage_async import models
from brokerage_async.simulator.accounts.accounts import Account
from brokerage_async.simulator.streams.account_views import AccountViews
from tests.simulator.harness import Harness, leg, market


def views_of(harness: Harness) -> tuple[AccountViews, Account]:
    account = harness.state.accounts.get(harness.account)
    assert account is not None
    return AccountViews(harness.state), account


def without(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


def test_position_is_that_of_the_list_and_ends_with_direction_zero(harness: Harness) -> None:
    identifier = harness.place(market(leg(quantity="3")))
    harness.wait(10)
    views, account = views_of(harness)
    order = harness.state.order_store.get(account, identifier)
    position = views.position(account, order.legs[0].instrument, order, harness.now)
    [listed] = harness.rows(f"/accounts/{harness.account}/positions")
    assert str(position["order-id"]) == identifier
    assert without(position, "order-id", "updated-at") == without(listed, "order-id", "updated-at")
    identifier = harness.place(market(leg(quantity="3", action="Sell to Close")))
    harness.wait(10)
    views, account = views_of(harness)
    order = harness.state.order_store.get(account, identifier)
    position = views.position(account, order.legs[0].instrument, order, harness.now)
    assert (float(position["quantity"]), position["quantity-direction"]) == (0, "Zero")


def test_views_are_those_of_the_api_with_every_key(harness: Harness) -> None:
    views, account = views_of(harness)
    balance = harness.get(f"/accounts/{harness.account}/balances/USD")["data"]
    assert without(views.balance(account, harness.now), "updated-at") == without(balance, "updated-at")
    status = harness.get(f"/accounts/{harness.account}/trading-status")["data"]
    assert views.trading_status(account, harness.now) == status
    [placed] = [each for each in harness.state.complex_order_desk.of(_second(harness)) if each.type == "OTOCO"]
    assert views.complex_order(placed) == harness.complex_order("OTOCO")
    views, _ = views_of(harness)
    first = harness.state.public_watchlists.all()[0]
    listed = harness.get(f"/public-watchlists/{first.name.replace(' ', '%20')}")["data"]
    assert views.watchlist(first) == listed
    views, account = views_of(harness)
    [deposit] = account.transactions
    transfer = views.external_transaction(account, deposit)
    assert transfer["direction"] == "Deposit"
    read = models.converter.structure(transfer, models.ExternalTransaction)
    assert not read.extra
    fields = {name for name in dir(read) if not name.startswith("_") and name != "extra"}
    assert [name for name in fields if getattr(read, name) is None] == []


def _second(harness: Harness) -> Account:
    account = harness.state.accounts.get(harness.accounts[1])
    assert account is not None
    return account
