"""Account stream of the simulator: the recorded session, events after changes with their recipients, faults."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import models
from brokerage_async.models import LegAction
from brokerage_async.simulator.faults import DELIVER, StreamFaults
from brokerage_async.simulator.streams.server import ACCOUNT_PATH
from tests.simulator.harness import COMPLEX_ORDERS, Harness, Peer, leg, limit, market
from tests.tables import for_each


class AccountPeer(Peer):
    def __init__(self, harness: Harness) -> None:
        super().__init__(harness, ACCOUNT_PATH)
        self.token = json.loads(harness.token().body)["access_token"]

    def send(self, **message: Any) -> dict[str, Any]:
        fields = {key.replace("_", "-"): value for key, value in message.items()}
        self.session.receive(json.dumps({"auth-token": f"Bearer {self.token}", **fields}), self.harness.now)
        return self.received[-1]


@pytest.fixture
def peer() -> AccountPeer:
    return AccountPeer(Harness())


def test_connect_subscriptions_and_messages_before_them(peer: AccountPeer) -> None:
    assert peer.send(action="heartbeat", request_id=1)["message"] == "not-implemented"
    assert peer.send(action="quote-alerts-subscribe", request_id=2)["message"] == "connect-not-completed"
    account = peer.harness.account
    answer = peer.send(action="connect", value=[account, "foreign"], request_id=3)
    assert (answer["status"], answer["value"], answer["request-id"]) == ("ok", [account], 3)
    assert peer.send(action="connect", value=peer.harness.accounts[1])["status"] == "ok"
    assert [peer.send(action=each)["status"] for each in ("quote-alerts-subscribe", "heartbeat")] == ["ok"] * 2
    assert peer.send(action="dance")["message"] == "not-implemented"
    assert peer.session.accounts == {account, peer.harness.accounts[1]}


def test_words_of_the_account_stream() -> None:
    behaviours = ("unknown_domain", "missing_value", "answer_without_value")
    for without, expected in (
        ((), ("Unknown domain", "value missing or not valid", None)),
        ([f"account_stream_{name}" for name in behaviours], (None, "failed", ["the account"])),
    ):
        peer = AccountPeer(Harness(without=without))
        account = peer.harness.account
        raw = peer.send(action="connect", value=[account], auth_token=peer.token)
        empty = peer.send(action="connect", value=[])
        good = peer.send(action="connect", value=[account])
        named = good.get("value") and ["the account" for each in good["value"] if each == account]
        assert (raw.get("message"), empty.get("message"), named) == expected
        assert good["status"] == "ok"


def test_refused_token_has_no_request_id_and_a_silent_client_is_disconnected(peer: AccountPeer) -> None:
    for form, word in (("Bearer wrong", "failed"), ("", "Unknown domain"), (None, "Unknown domain")):
        answer = peer.send(action="connect", value=[peer.harness.account], request_id=1, auth_token=form)
        assert (answer["message"], "request-id" in answer) == (word, False)
    peer.received.clear()
    for text in ("", "[]", '{"action": 7}'):
        peer.session.receive(text, peer.harness.now)
    assert peer.received == []
    peer.session.check(peer.harness.now + 59)
    assert not peer.closed
    peer.session.hear(peer.harness.now + 50)
    peer.session.check(peer.harness.now + 70)
    assert not peer.closed
    peer.session.check(peer.harness.now + 110)
    assert peer.closed


class Listener(AccountPeer):
    """Client that has connected an account, and perhaps subscribed to more."""

    def __init__(self, harness: Harness, account: str, *actions: str) -> None:
        super().__init__(harness)
        for action in ("connect", *actions):
            assert self.send(action=action, value=[account])["status"] == "ok"
        self.received.clear()

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [message["data"] for message in self.received if message.get("type") == kind]

    @property
    def kinds(self) -> list[str]:
        """Types of the events so far, each once, in the order of their first."""
        return list(dict.fromkeys(message["type"] for message in self.received))


def test_fill_sends_order_position_balance_chain_and_gains(harness: Harness) -> None:
    peer, other = Listener(harness, harness.account), Listener(harness, harness.accounts[2])
    identifier = harness.trade(market(leg(quantity="3")))
    assert peer.kinds == ["Order", "AccountBalance", "CurrentPosition", "OrderChain", "UnderlyingYearGainSummary"]
    assert other.received == []
    assert peer.events("Order")[-1]["status"] == "Filled"
    position = peer.events("CurrentPosition")[-1]
    assert (position["symbol"], float(position["quantity"]), position["quantity-direction"]) == ("AAPL", 3, "Long")
    [listed] = harness.rows(f"/accounts/{harness.account}/positions")
    assert str(position.pop("order-id")) == identifier
    assert {**position, "updated-at": None} == {**listed, "updated-at": None}
    harness.trade(market(leg(quantity="3", action="Sell to Close")))
    position = peer.events("CurrentPosition")[-1]
    assert (float(position["quantity"]), position["quantity-direction"]) == (0, "Zero")


def test_complex_order_is_sent_once_for_all_components_of_a_moment(harness: Harness) -> None:
    peer = Listener(harness, harness.account)
    harness.trade(limit(), seconds=5)
    assert "ComplexOrder" not in peer.kinds
    peer = Listener(harness, harness.account)
    number = harness.call("complex_orders.submit", COMPLEX_ORDERS["OTOCO"])["complex-order"]["id"]
    harness.wait(0.01)
    [accepted] = peer.events("ComplexOrder")
    assert (accepted["id"], accepted["type"], accepted["trigger-order"]["status"]) == (number, "OTOCO", "Contingent")
    assert len(peer.events("Order")) >= 3
    harness.wait(5)
    assert peer.events("ComplexOrder")[-1]["trigger-order"]["status"] == "Live"
    harness.call("complex_orders.cancel", id=number)
    harness.wait(5)
    assert peer.events("ComplexOrder")[-1]["terminal-at"] is not None
    assert [row["status"] for row in peer.events("ComplexOrder")[-1]["orders"]] == ["Cancelled", "Cancelled"]


def test_assignment_sends_the_positions_that_it_ends_and_opens(harness: Harness) -> None:
    account, option, one = harness.own(), harness.instrument("AAPL  260717P00200000"), Decimal(1)
    harness.state.bookkeeping.open_position(account, option, LegAction.SELL_TO_OPEN, one, one, harness.now)
    harness.sim.set_price("AAPL", 190)
    harness.wait((option.expires_at or 0) - 1 - harness.now)
    peer = Listener(harness.login(), harness.account)
    harness.wait(2)
    assert set(peer.kinds) == {"CurrentPosition", "AccountBalance", "OrderChain", "UnderlyingYearGainSummary"}
    names = ("symbol", "quantity", "quantity-direction")
    sent = [tuple(str(position[name]) for name in names) for position in peer.events("CurrentPosition")]
    assert sent == [(option.symbol, "0", "Zero"), ("AAPL", "100", "Long")]
    assert float(peer.events("AccountBalance")[-1]["cash-balance"]) == float(account.cash)


def test_transfer_of_cash_sends_the_transaction_and_the_balance(harness: Harness) -> None:
    peer = Listener(harness, harness.account)
    before = float(harness.get(f"/accounts/{harness.account}/balances/USD")["data"]["cash-balance"])
    harness.sim.move_cash(harness.account, "-250.5")
    harness.wait(1)
    [transfer], [balance] = peer.events("ExternalTransaction"), peer.events("AccountBalance")
    read = models.converter.structure(transfer, models.ExternalTransaction)
    assert (read.amount, read.direction, read.account_number) == (Decimal("250.5"), "Withdrawal", harness.account)
    assert (transfer["amount"], read.extra, None in attrs.astuple(read, recurse=False)) == ("250.50", {}, False)
    assert float(balance["cash-balance"]) == before - 250.5
    for amount in ("0", "none", "NaN"):
        with pytest.raises(ValueError, match="amount must be"):
            harness.sim.move_cash(harness.account, amount)
    with pytest.raises(ValueError, match="account_number must be one of the simulator"):
        harness.sim.move_cash("X", "1")


def test_published_watchlist_comes_to_those_who_subscribed(harness: Harness) -> None:
    subscribed, other = (Listener(harness, harness.account, *more) for more in (["public-watchlists-subscribe"], []))
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
    harness.trade(market())
    harness.sim.move_cash(harness.account, "1")
    assert not harness.brokerage.streams._due
    peer = Listener(harness, harness.account)
    target = f"/accounts/{harness.account}/trading-status"
    assert harness.get(target)["data"]["day-trade-count"] == 0
    harness.trade(market(leg(quantity="3")))
    assert peer.events("TradingStatus") == []
    harness.trade(market(leg(quantity="3", action="Sell to Close")))
    [status] = peer.events("TradingStatus")
    assert status["day-trade-count"] == 1
    assert status == harness.get(target)["data"]


def test_fault_meets_the_next_events_of_its_type() -> None:
    faults = StreamFaults()
    faults.add("late(2.5)", kind="Order", times=2)
    faults.add("duplicate")
    faults.add("lose", kind="protocol")
    met = [faults.deliver(kind).name for kind in ("AccountBalance", "Order", "Order", "Order", "", "")]
    assert met == ["duplicate", "late", "late", "deliver", "lose", "deliver"]
    faults.refusals = 1
    assert [faults.refuses(), faults.refuses()] == [True, False]
    faults.add("lose")
    faults.refusals, faults.is_half_open, faults.is_deaf = 1, True, True
    faults.clear()
    assert faults.deliver("Order") == DELIVER
    assert (faults.refuses(), faults.is_half_open, faults.is_deaf) == (False, False, False)
    with pytest.raises(ValueError, match=r"fault must be one of lose, .* got 'explode'"):
        faults.add("explode")
    with pytest.raises(ValueError, match="times must be at least 1, got 0"):
        faults.add("lose", times=0)


@for_each("price, gain", [(110, 30), (95, -15)])
def test_chain_and_gains_of_the_year_follow_the_trades_of_an_underlying(price: int, gain: int) -> None:
    harness = Harness(start=datetime(2026, 12, 31, 15, tzinfo=UTC)).login()
    peer = Listener(harness, harness.account)
    effect = "Credit" if gain > 0 else "Debit"

    def trade(quantity: int, action: str = "Buy to Open") -> tuple[str, dict[str, Any], Any]:
        """Trade, and return the order, the chain that was sent, and the gains as a client reads them."""
        identifier = harness.trade(market(leg(quantity=str(quantity), action=action)))
        sent = peer.events("UnderlyingYearGainSummary")[-1]
        read = models.converter.structure(sent, models.UnderlyingYearGainSummary)
        assert (read.extra, read.account_number, read.symbol) == ({}, harness.account, "AAPL")
        return identifier, peer.events("OrderChain")[-1], read

    harness.sim.set_price("AAPL", 100)
    first, chain, gains = trade(4)
    assert [node["node-type"] for node in chain["lite-nodes"]] == ["order", "open-positions"]
    assert str(chain["id"]) == str(chain["lite-nodes"][0]["id"]) == first
    totals = chain["computed-data"]
    assert (totals["open"], totals["total-opening-cost-effect"], totals["winner-realized"]) == (True, "Debit", False)
    assert Decimal(totals["realized-gain"]) == 0
    [entry] = totals["open-entries"]
    assert (entry["symbol"], entry["quantity"], entry["quantity-type"]) == ("AAPL", "4", "Long")
    read = models.converter.structure(chain, models.OrderChain)
    assert not any(part.extra for part in (read, read.computed_data, *read.lite_nodes))
    assert (chain["created-at"][-5:], read.created_at.tzinfo is None) == ("+0000", False)
    assert (gains.instrument_type, gains.yearly_realized_gain, gains.realized_lot_gain) == ("Equity", 0, 0)

    harness.sim.set_price("AAPL", price)
    _, chain, gains = trade(3, "Sell to Close")
    totals = chain["computed-data"]
    assert (Decimal(totals["realized-gain"]), totals["realized-gain-effect"]) == (abs(gain), effect)
    fees = Decimal(totals["total-fees"]) + Decimal(totals["total-commissions"])
    assert Decimal(totals["realized-gain-with-fees"]) == abs(gain - fees)
    assert totals["open"]
    assert gains.yearly_realized_gain == gains.realized_lot_gain == abs(gain)
    assert gains.yearly_realized_gain_effect == effect
    assert (gains.fees > 0, gains.fees_effect) == (True, "Debit")

    _, chain, _ = trade(1, "Sell to Close")
    assert Decimal(chain["computed-data"]["realized-gain"]) == abs(gain) / 3 * 4
    assert chain["computed-data"]["winner-realized-and-closed"] is (gain > 0)
    assert (chain["computed-data"]["open"], chain["lite-nodes-sizes"], len(chain["lite-nodes"])) == (False, 3, 3)

    second, chain, _ = trade(2)
    assert str(chain["id"]) == second != first
    assert [node["legs"][0]["fill-quantity"] for node in chain["lite-nodes"][:-1]] == ["2"]
    harness.wait_until("2027-01-04T15:00:00+00:00")
    peer = Listener(harness, harness.account)
    assert trade(1)[2].yearly_realized_gain == 0
