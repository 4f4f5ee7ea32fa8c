"""Events that the account stream sends after changes, with their recipients and order."""

import json
from typing import Any

import pytest

from brokerage_async.simulator.streams.server import ACCOUNT_PATH
from brokerage_async.simulator.streams.session import AccountSession
from tests.simulator.harness import COMPLEX_ORDERS, Harness, leg, limit, market


class Peer:
    """Client that has connected an account, and perhaps subscribed to more."""

    def __init__(self, harness: Harness, account: str, *actions: str) -> None:
        session = harness.brokerage.streams.open(ACCOUNT_PATH, harness.now)
        assert isinstance(session, AccountSession)
        self.received: list[dict[str, Any]] = []
        session.connect(lambda text, _: self.received.append(json.loads(text)), lambda: None)
        token = json.loads(harness.token().body)["access_token"]
        for action in ("connect", *actions):
            message = {"action": action, "value": [account], "auth-token": f"Bearer {token}"}
            session.receive(json.dumps(message), harness.now)
            assert self.received[-1]["status"] == "ok"
        self.received.clear()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the objects of the events of a type so far."""
        return [message["data"] for message in self.received if message.get("type") == kind]

    @property
    def kinds(self) -> list[str]:
        """Types of the events so far, each once, in the order of their first."""
        return list(dict.fromkeys(message["type"] for message in self.received))


def test_fill_sends_order_position_balance_chain_and_gains(harness: Harness) -> None:
    peer, other = Peer(harness, harness.account), Peer(harness, harness.accounts[2])
    harness.place(market(leg(quantity="3")))
    harness.wait(10)
    assert peer.kinds == ["Order", "AccountBalance", "CurrentPosition", "OrderChain", "UnderlyingYearGainSummary"]
    assert other.received == []
    assert peer.events("Order")[-1]["status"] == "Filled"
    position = peer.events("CurrentPosition")[-1]
    assert (position["symbol"], float(position["quantity"]), position["quantity-direction"]) == ("AAPL", 3, "Long")


def test_complex_order_is_sent_once_for_all_components_of_a_moment(harness: Harness) -> None:
    peer = Peer(harness, harness.account)
    harness.place(limit())
    harness.wait(5)
    assert "ComplexOrder" not in peer.kinds
    peer = Peer(harness, harness.account)
    answer = harness.ask("POST", f"/accounts/{harness.account}/complex-orders", COMPLEX_ORDERS["OTOCO"])
    number = json.loads(answer.body)["data"]["complex-order"]["id"]
    harness.wait(0.01)
    [accepted] = peer.events("ComplexOrder")
    assert (accepted["id"], accepted["type"], accepted["trigger-order"]["status"]) == (number, "OTOCO", "Contingent")
    assert len(peer.events("Order")) >= 3
    harness.wait(5)
    assert peer.events("ComplexOrder")[-1]["trigger-order"]["status"] == "Live"
    harness.ask("DELETE", f"/accounts/{harness.account}/complex-orders/{number}")
    harness.wait(5)
    assert peer.events("ComplexOrder")[-1]["terminal-at"] is not None
    assert [row["status"] for row in peer.events("ComplexOrder")[-1]["orders"]] == ["Cancelled", "Cancelled"]


def test_transfer_of_cash_sends_the_transaction_and_the_balance(harness: Harness) -> None:
    peer = Peer(harness, harness.account)
    before = float(harness.get(f"/accounts/{harness.account}/balances/USD")["data"]["cash-balance"])
    harness.brokerage.act("move_cash", harness.now, account_number=harness.account, amount="-250.5")
    harness.wait(1)
    [transfer], [balance] = peer.events("ExternalTransaction"), peer.events("AccountBalance")
    assert (transfer["amount"], transfer["direction"], transfer["account-number"]) == (
        "250.50", "Withdrawal", harness.account,
    )  # fmt: skip
    assert float(balance["cash-balance"]) == before - 250.5
    for amount in ("0", "none", "NaN"):
        with pytest.raises((ValueError, ArithmeticError)):
            harness.brokerage.act("move_cash", harness.now, account_number=harness.account, amount=amount)
    with pytest.raises(ValueError, match="account_number must be one of the simulator"):
        harness.brokerage.act("move_cash", harness.now, account_number="X", amount="1")


def test_published_watchlist_comes_to_those_who_subscribed(harness: Harness) -> None:
    subscribed, other = Peer(harness, harness.account, "public-watchlists-subscribe"), Peer(harness, harness.account)
    harness.sim.publish_watchlist("Picks", ["AAPL", "MSFT"])
    [sent] = subscribed.events("PublicWatchlists")
    assert other.received == []
    assert [entry["symbol"] for entry in sent["watchlist-entries"]] == ["AAPL", "MSFT"]
    [listed] = [row for row in harness.rows("/public-watchlists") if row["name"] == "Picks"]
    assert (sent["cms-id"], sent["group-name"]) == (listed["cms-id"], "Published")
    harness.sim.publish_watchlist("Picks", ["SPY"])
    assert subscribed.events("PublicWatchlists")[-1]["cms-id"] == sent["cms-id"]
    assert len([row for row in harness.rows("/public-watchlists") if row["name"] == "Picks"]) == 1
    with pytest.raises(ValueError, match="symbols must be known equities"):
        harness.sim.publish_watchlist("Picks", ["NOSUCH"])


def test_nothing_is_sent_where_nobody_listens_and_day_trades_change_the_status(harness: Harness) -> None:
    harness.place(market())
    harness.wait(10)
    harness.brokerage.act("move_cash", harness.now, account_number=harness.account, amount="1")
    assert not harness.brokerage.streams._due
    peer = Peer(harness, harness.account)
    target = f"/accounts/{harness.account}/trading-status"
    assert harness.get(target)["data"]["day-trade-count"] == 0
    harness.place(market(leg(quantity="3")))
    harness.wait(10)
    assert peer.events("TradingStatus") == []
    harness.place(market(leg(quantity="3", action="Sell to Close")))
    harness.wait(10)
    [status] = peer.events("TradingStatus")
    assert status["day-trade-count"] == 1
    assert status == harness.get(target)["data"]
