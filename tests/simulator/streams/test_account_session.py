"""Account stream of the simulator: the recorded session, events after changes with their recipients, faults."""

import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from brokerage_async import models
from brokerage_async.models import LegAction
from brokerage_async.simulator.api.accounts import Positions
from brokerage_async.simulator.faults import DELIVER, StreamFaults
from brokerage_async.simulator.streams.server import ACCOUNT_PATH
from brokerage_async.simulator.streams.session import (
    external_transaction,
    order_chain,
    position_row,
    year_gains,
)
from tests.simulator.harness import COMPLEX_ORDERS, Harness, Peer, leg, limit, market
from tests.tables import for_each


class AccountPeer(Peer):
    """Client of the account stream with a token."""

    def __init__(self, harness: Harness) -> None:
        super().__init__(harness, ACCOUNT_PATH)
        self.token = json.loads(harness.token().body)["access_token"]

    def send(self, **message: Any) -> dict[str, Any]:
        """Send a message and return the answer."""
        body = {
            "auth-token": f"Bearer {self.token}",
            **{key.replace("_", "-"): value for key, value in message.items()},
        }
        self.session.receive(json.dumps(body), self.harness.now)
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
    assert peer.send(action="quote-alerts-subscribe")["status"] == "ok"
    assert peer.send(action="heartbeat")["status"] == "ok"
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


def test_refused_token_has_no_request_id(peer: AccountPeer) -> None:
    for form, word in (("Bearer wrong", "failed"), ("", "Unknown domain"), (None, "Unknown domain")):
        answer = peer.send(action="connect", value=[peer.harness.account], request_id=1, auth_token=form)
        assert answer["message"] == word
        assert "request-id" not in answer


def test_other_messages_are_ignored_and_a_silent_client_is_disconnected(peer: AccountPeer) -> None:
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
        """Return the objects of the events of a type so far."""
        return [message["data"] for message in self.received if message.get("type") == kind]

    @property
    def kinds(self) -> list[str]:
        """Types of the events so far, each once, in the order of their first."""
        return list(dict.fromkeys(message["type"] for message in self.received))


def test_fill_sends_order_position_balance_chain_and_gains(harness: Harness) -> None:
    peer, other = Listener(harness, harness.account), Listener(harness, harness.accounts[2])
    harness.trade(market(leg(quantity="3")))
    assert peer.kinds == ["Order", "AccountBalance", "CurrentPosition", "OrderChain", "UnderlyingYearGainSummary"]
    assert other.received == []
    assert peer.events("Order")[-1]["status"] == "Filled"
    position = peer.events("CurrentPosition")[-1]
    assert (position["symbol"], float(position["quantity"]), position["quantity-direction"]) == ("AAPL", 3, "Long")


def test_complex_order_is_sent_once_for_all_components_of_a_moment(harness: Harness) -> None:
    peer = Listener(harness, harness.account)
    harness.trade(limit(), seconds=5)
    assert "ComplexOrder" not in peer.kinds
    peer, target = Listener(harness, harness.account), f"/accounts/{harness.account}/complex-orders"
    number = harness.data("POST", target, COMPLEX_ORDERS["OTOCO"], 201)["complex-order"]["id"]
    harness.wait(0.01)
    [accepted] = peer.events("ComplexOrder")
    assert (accepted["id"], accepted["type"], accepted["trigger-order"]["status"]) == (number, "OTOCO", "Contingent")
    assert len(peer.events("Order")) >= 3
    harness.wait(5)
    assert peer.events("ComplexOrder")[-1]["trigger-order"]["status"] == "Live"
    harness.data("DELETE", f"{target}/{number}")
    harness.wait(5)
    assert peer.events("ComplexOrder")[-1]["terminal-at"] is not None
    assert [row["status"] for row in peer.events("ComplexOrder")[-1]["orders"]] == ["Cancelled", "Cancelled"]


def test_assignment_sends_the_positions_that_it_ends_and_opens(harness: Harness) -> None:
    account = harness.own()
    option = harness.instrument("AAPL  260717P00200000")
    one = Decimal(1)
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
    shown = transfer["amount"], transfer["direction"], transfer["account-number"]
    assert shown == ("250.50", "Withdrawal", harness.account)
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
    met = [faults.deliver(kind).name for kind in ("", "Order", "AccountBalance", "Order", "Order")]
    assert met == ["deliver", "late", "duplicate", "late", "deliver"]
    faults.add("lose")
    faults.refusals, faults.is_half_open = 1, True
    faults.clear()
    assert (faults.deliver("Order"), faults.refuses(), faults.is_half_open) == (DELIVER, False, False)
    faults = StreamFaults()
    faults.add("lose", kind="protocol")
    assert [faults.deliver(kind).name for kind in ("Order", "", "")] == ["deliver", "lose", "deliver"]
    faults.is_deaf = True
    faults.clear()
    assert not faults.is_deaf
    faults = StreamFaults()
    faults.refusals = 1
    assert [faults.refuses(), faults.refuses()] == [True, False]
    with pytest.raises(ValueError, match=r"fault must be one of lose, .* got 'explode'"):
        StreamFaults().add("explode")
    with pytest.raises(ValueError, match="times must be at least 1, got 0"):
        StreamFaults().add("lose", times=0)


YEAR = 366 * 86400


def trade(harness: Harness, quantity: int, action: str = "Buy to Open") -> str:
    return harness.trade(market(leg(quantity=str(quantity), action=action)), seconds=20)


def as_sent(wire: Any) -> dict[str, Any]:
    """Return a wire struct as a client gets it."""
    assert wire is not None
    decoded: dict[str, Any] = json.loads(msgspec.json.encode(wire))
    return decoded


def test_position_is_that_of_the_list_and_ends_with_direction_zero(harness: Harness) -> None:
    def position(identifier: str) -> dict[str, Any]:
        execution: Any = harness.own().transactions[-1].booked
        assert str(execution.order_number) == identifier
        return as_sent(position_row(Positions(harness.state), harness.own(), execution, harness.now))

    identifier = trade(harness, 3)
    found = position(identifier)
    [listed] = harness.rows(f"/accounts/{harness.account}/positions")
    assert str(found.pop("order-id")) == identifier
    assert {**found, "updated-at": None} == {**listed, "updated-at": None}
    found = position(trade(harness, 3, "Sell to Close"))
    assert (float(found["quantity"]), found["quantity-direction"]) == (0, "Zero")


def test_transfer_of_cash_has_every_key(harness: Harness) -> None:
    [deposit] = harness.own().transactions
    transfer = as_sent(external_transaction(harness.own(), deposit))
    assert transfer["direction"] == "Deposit"
    read = models.converter.structure(transfer, models.ExternalTransaction)
    assert not read.extra
    fields = {name for name in dir(read) if not name.startswith("_") and name != "extra"}
    assert [name for name in fields if getattr(read, name) is None] == []


def chain(harness: Harness, underlying: str = "AAPL") -> dict[str, Any]:
    """Return the chain of the first account, as JSON."""
    return as_sent(order_chain(harness.own(), underlying))


def test_open_chain_ends_with_its_positions_and_every_field_is_read(harness: Harness) -> None:
    assert order_chain(harness.own(), "AAPL") is None
    identifier = trade(harness, 3)
    found = chain(harness)
    assert [node["node-type"] for node in found["lite-nodes"]] == ["order", "open-positions"]
    assert (str(found["id"]), str(found["lite-nodes"][0]["id"])) == (identifier, identifier)
    totals = found["computed-data"]
    assert (totals["open"], totals["total-opening-cost-effect"], totals["winner-realized"]) == (True, "Debit", False)
    assert Decimal(totals["realized-gain"]) == 0
    [entry] = totals["open-entries"]
    assert (entry["symbol"], entry["quantity"], entry["quantity-type"]) == ("AAPL", "3", "Long")
    assert found["created-at"].endswith("+0000")
    trade(harness, 3)
    read = models.converter.structure(chain(harness), models.OrderChain)
    assert not read.extra
    assert read.created_at.tzinfo is not None
    assert not read.computed_data.extra
    assert read.lite_nodes is not None
    assert all(not node.extra for node in read.lite_nodes)


def test_chain_realizes_the_gain_of_the_part_that_is_closed(harness: Harness) -> None:
    harness.sim.set_price("AAPL", 100)
    trade(harness, 4)
    harness.sim.set_price("AAPL", 110)
    trade(harness, 3, "Sell to Close")
    totals = chain(harness)["computed-data"]
    assert (Decimal(totals["realized-gain"]), totals["realized-gain-effect"]) == (Decimal(30), "Credit")
    fees = Decimal(totals["total-fees"]) + Decimal(totals["total-commissions"])
    assert Decimal(totals["realized-gain-with-fees"]) == 30 - fees
    assert totals["open"]
    trade(harness, 1, "Sell to Close")
    found = chain(harness)
    assert Decimal(found["computed-data"]["realized-gain"]) == 40
    assert found["computed-data"]["winner-realized-and-closed"]
    assert (found["computed-data"]["open"], found["lite-nodes-sizes"], len(found["lite-nodes"])) == (False, 3, 3)


def test_closed_chain_is_followed_by_another(harness: Harness) -> None:
    first = trade(harness, 1)
    trade(harness, 1, "Sell to Close")
    second = trade(harness, 2)
    found = chain(harness)
    assert first != second
    assert str(found["id"]) == second
    assert [node["legs"][0]["fill-quantity"] for node in found["lite-nodes"][:-1]] == ["2"]


def gains(harness: Harness, underlying: str = "AAPL", later: float = 0) -> models.UnderlyingYearGainSummary | None:
    """Return the summary as a client reads it."""
    sent = year_gains(harness.own(), underlying, harness.now + later)
    return None if sent is None else models.converter.structure(as_sent(sent), models.UnderlyingYearGainSummary)


def test_opening_costs_fees_and_gains_nothing(harness: Harness) -> None:
    assert gains(harness) is None
    harness.sim.set_price("AAPL", 100)
    trade(harness, 1)
    assert gains(harness, "SPY") is None
    assert gains(harness, later=YEAR) is None
    trade(harness, 4000)
    found = gains(harness)
    assert (found.account_number, found.symbol, found.instrument_type) == (harness.account, "AAPL", "Equity")
    assert (found.yearly_realized_gain, found.realized_lot_gain) == (0, 0)
    assert found.fees is not None
    assert found.fees > 0
    assert found.fees_effect == "Debit"
    assert found.extra == {}


@for_each("price, gain", [(110, 30), (95, -15)])
def test_gain_of_the_year_is_realized_by_the_part_that_is_closed(price: int, gain: int) -> None:
    harness = Harness().login()
    harness.sim.set_price("AAPL", 100)
    trade(harness, 4)
    harness.sim.set_price("AAPL", price)
    trade(harness, 3, "Sell to Close")
    found = gains(harness)
    assert found.yearly_realized_gain == found.realized_lot_gain == Decimal(abs(gain))
    assert found.yearly_realized_gain_effect == ("Credit" if gain > 0 else "Debit")
