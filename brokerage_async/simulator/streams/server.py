"""Both streams of one environment: opens sessions, and pushes changes to them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from ..._generated.converters import WatchlistWire
from ..api.accounts import Accounts as AccountHandlers
from ..api.accounts import Balances, Positions
from ..clock import ScheduledEvent
from ..faults import StreamFaults
from ..market.quotes import next_minute
from ..market.watchlists import Alert
from ..state import State
from ..trading.accounts import Account, Customer, Execution, Transaction, day_trade_count
from ..trading.orders import Order, order_json
from .dxlink_session import DxLinkSession, MarketRows
from .session import AccountSession, Session, external_transaction, order_chain, position_row, year_gains

ACCOUNT_PATH, MARKET_PATH = "/streams/account", "/streams/market-data"

DELAYS: Mapping[str, float] = {
    "Order": 0.0, "ComplexOrder": 0.005, "CurrentPosition": 0.01, "AccountBalance": 0.02, "TradingStatus": 0.02,
    "OrderChain": 0.03, "UnderlyingYearGainSummary": 0.03, "ExternalTransaction": 0.0, "PublicWatchlists": 0.0,
    "QuoteAlert": 0.0,
}  # fmt: skip
"""Seconds from a change to its event, by type of the event."""

OPTION_INTERVAL = 5.0
"""Seconds between two events of an option at least, unless its underlying's price is set."""

View = Callable[[float], Any]
"""Returns an object as it is at a time, None to send nothing."""


class StreamServer:
    """Streams of an environment: open sessions, faults to come, and seconds from a change to its event, by its type."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._rows = MarketRows(state.catalogue, state.prices)
        self._positions, self._balances, self._accounts = Positions(state), Balances(state), AccountHandlers(state)
        self._opened = 0
        self._tick: ScheduledEvent | None = None
        self._tape: ScheduledEvent | None = None
        self._changes: list[tuple[float, str]] = []
        self._next_changes: dict[str, float] = {}
        self._options_pushed: dict[str, float] = {}
        self._due: set[tuple[str, object]] = set()
        self._day_trades: dict[str, int] = {}
        self.faults: StreamFaults = StreamFaults()
        self.delays: dict[str, float] = dict(DELAYS)
        self.sessions: list[Session] = []
        state.order_store.on_change(self._order_changed)
        state.bookkeeping.on_execution(self._executed)
        state.prices.on_price(self._price_changed)
        state.alert_monitor.on_change(self._alert_changed)
        state.bookkeeping.on_cash(self._cash_moved)
        state.public_watchlists.on_change(self._published)

    def open(self, path: str, now: float) -> Session | None:
        """Return a new session for a path, None for an unknown one."""
        self._opened += 1
        session: Session
        if path == MARKET_PATH:
            session = DxLinkSession(
                self._state, self._rows, self.faults, now, sessions_of=self._sessions_of, follow=self._follow
            )
        elif path == ACCOUNT_PATH:
            session = AccountSession(self._state, self.faults, now, self._opened)
        else:
            return None
        self.sessions.append(session)
        if self._tick is None:
            self._tick = self._state.event_queue.at(next_minute(now), self._minute)
        return session

    def _sessions_of(self, customer: Customer) -> int:
        return sum(isinstance(each, DxLinkSession) and each.customer is customer for each in self.sessions)

    def forget(self, session: Session) -> None:
        session.is_closed = True
        if session in self.sessions:
            self.sessions.remove(session)
        if not self.sessions:
            for event in (self._tick, self._tape):
                if event is not None:
                    event.cancel()
            self._tick = self._tape = None
            for each in (self._changes, self._next_changes, self._options_pushed):
                each.clear()

    def drop(self) -> None:
        for session in list(self.sessions):
            session.close()

    def mute(self) -> None:
        """Push no further event over the connections that are open now, which answer heartbeats as before."""
        for session in self.sessions:
            session.is_mute = True

    def send_account_event(self, account_number: str, kind: str, data: Any, now: float) -> None:
        self._push(lambda session: account_number in session.accounts, kind, data, now)

    def _push(self, wants: Callable[[AccountSession], bool], kind: str, data: Any, now: float) -> None:
        message = {"type": kind, "data": data, "timestamp": round(now * 1000)}
        for session in list(self.sessions):
            if isinstance(session, AccountSession) and wants(session):
                session.push(message, kind=kind)

    def _minute(self, now: float) -> None:
        """Look after silent clients once a minute, while there are connections."""
        for session in list(self.sessions):
            session.check(now)
        self._tick = self._state.event_queue.at(next_minute(now), self._minute) if self.sessions else None

    def _follow(self, underlying: str, now: float) -> None:
        if underlying not in self._options_pushed:
            self._options_pushed[underlying] = now
            self._await_change(underlying, now)

    def _await_change(self, underlying: str, now: float) -> None:
        due = self._next_changes[underlying] = self._state.prices.next_change(underlying, now)
        heapq.heappush(self._changes, (due, underlying))
        due = self._changes[0][0]
        if self._tape is None or due < self._tape.when:
            if self._tape is not None:
                self._tape.cancel()
            self._tape = self._state.event_queue.at(due, self._push_changes)

    def _push_changes(self, now: float) -> None:
        """Push the events of the underlyings that have changed. After a leap of the clock, as they are then."""
        self._tape, changed, now = None, {}, max(now, self._state.event_queue.until)
        while self._changes and self._changes[0][0] <= now:
            due, underlying = heapq.heappop(self._changes)
            if self._next_changes.get(underlying) != due:
                continue
            if any(isinstance(each, DxLinkSession) and each.follows(underlying) for each in self.sessions):
                changed[underlying] = now - self._options_pushed[underlying] >= OPTION_INTERVAL
                if changed[underlying]:
                    self._options_pushed[underlying] = now
            else:
                del self._options_pushed[underlying], self._next_changes[underlying]
        for session in list(self.sessions):
            if isinstance(session, DxLinkSession) and not session.is_closed:
                session.prices_changed(changed, now)
        for underlying in changed:
            self._await_change(underlying, now)
        if self._changes and self._tape is None:
            self._tape = self._state.event_queue.at(self._changes[0][0], self._push_changes)

    def _listens(self, account_number: str) -> bool:
        return any(isinstance(each, AccountSession) and account_number in each.accounts for each in self.sessions)

    def _order_changed(self, order: Order, now: float) -> None:
        number = order.account.number
        if not self._listens(number):
            return
        dialect = self._state.dialect
        data = msgspec.Raw(order_json(order, dialect))
        self._later("Order", order.account, now, lambda _: data)
        if (parent := order.complex_order) is not None:
            self._later("ComplexOrder", order.account, now, lambda _: parent.wire(dialect), key=parent.number)
        self._balance_changed(order.account, now)

    def _executed(self, account: Account, execution: Execution, now: float) -> None:
        """Push what an execution changes: of an order, or at an expiration."""
        if not self._listens(account.number):
            return
        self._later("CurrentPosition", account, now, partial(position_row, self._positions, account, execution))
        underlying = execution.instrument.underlying
        for kind, view in (("OrderChain", order_chain), ("UnderlyingYearGainSummary", year_gains)):
            self._later(kind, account, now, partial(view, account, underlying), key=underlying)
        count = day_trade_count(account, now)
        if count != self._day_trades.get(account.number, 0):
            self._later("TradingStatus", account, now, partial(self._accounts.status, account), key="")
        self._day_trades[account.number] = count
        self._balance_changed(account, now)

    def _balance_changed(self, account: Account, now: float) -> None:
        self._later("AccountBalance", account, now, partial(self._balances.balance, account), key="")

    def _later(self, kind: str, account: Account, now: float, view: View, *, key: object = None) -> None:
        """Push an object after the delay of its type. One with a key is pushed once, after all changes of a moment."""
        place = (kind, (account.number, key))
        if place in self._due:
            return
        if key is not None:
            self._due.add(place)

        def send(at: float) -> None:
            self._due.discard(place)
            if (data := view(at)) is not None:
                self.send_account_event(account.number, kind, data, at)

        delay = self.delays.get(kind, 0.0)
        if delay <= 0:
            send(now)
        else:
            self._state.event_queue.at(now + delay, send)

    def _cash_moved(self, account: Account, movement: Transaction) -> None:
        if self._listens(account.number):
            sent = external_transaction(account, movement)
            self._later("ExternalTransaction", account, movement.executed_at, lambda _: sent)
            self._balance_changed(account, movement.executed_at)

    def _alert_changed(self, alert: Alert, now: float) -> None:
        def wants(session: AccountSession) -> bool:
            return session.customer == alert.customer and "quote-alerts-subscribe" in session.actions

        data = {**alert.wire(), "expires-at": round(alert.expires_at * 1000)}  # a number here, as a client expects it
        self._push(wants, "QuoteAlert", data, now)

    def _published(self, one: WatchlistWire, now: float) -> None:
        self._push(lambda each: "public-watchlists-subscribe" in each.actions, "PublicWatchlists", one, now)

    def _price_changed(self, symbol: str, now: float) -> None:
        for session in list(self.sessions):
            if isinstance(session, DxLinkSession):
                session.prices_changed({symbol: True}, now)
        if symbol in self._next_changes:
            self._await_change(symbol, now)
