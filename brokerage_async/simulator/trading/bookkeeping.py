"""Books executions and the expirations of options: position, cash, fees and transaction."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from ..._generated.converters import FillWire
from ..._generated.models import LegAction
from ..accounts.accounts import Account, Accounts, Execution, Transaction, cash_movement, trade
from ..api.wire import Dialect, money, timestamp
from ..clock import EventQueue
from ..market.instrument import Instrument
from ..market.prices import Prices
from .fees import Fees, fees_of
from .orders import Leg, Order

_FIRST_NUMBER = 700_000_000


class Bookkeeping:
    """Numbers and books executions and cash movements."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._last_number = _FIRST_NUMBER
        self._cash_listeners: list[Callable[[Account, Transaction], None]] = []
        self._listeners: list[Callable[[Instrument, float], None]] = []

    def on_cash(self, listener: Callable[[Account, Transaction], None]) -> None:
        """Call ``listener`` after each movement of cash."""
        self._cash_listeners.append(listener)

    def on_execution(self, listener: Callable[[Instrument, float], None]) -> None:
        """Call ``listener(instrument, now)`` after each booked execution."""
        self._listeners.append(listener)

    def execute(self, order: Order, leg: Leg, quantity: Decimal, price: Decimal, now: float) -> FillWire:
        """Book one execution of one leg and return its fill."""
        turn = f"{order.number}-{len(leg.fills) + 1}"
        identifier = f"{turn}-{order.legs.index(leg)}"
        fees = fees_of(leg.instrument, leg.action, quantity, price)
        execution = Execution(identifier, order.number, leg.instrument, leg.action, quantity, price, fees)
        self._book(order.account, execution, now)
        return FillWire(
            ext_group_fill_id=turn,
            ext_exec_id=identifier,
            fill_id=f"SIM_{identifier}",
            quantity=self._dialect.quantity(quantity),
            fill_price=money(price),
            filled_at=timestamp(now),
            destination_venue="SIMULATED",
        )

    def open_position(
        self, account: Account, instrument: Instrument, action: LegAction, quantity: Decimal, price: Decimal, now: float
    ) -> None:
        """Book a position that an account opened before the first order of the simulation."""
        identifier, fees = f"opening-{len(account.transactions)}", fees_of(instrument, action, quantity, price)
        self._book(account, Execution(identifier, None, instrument, action, quantity, price, fees), now)

    def expire_position(
        self, account: Account, instrument: Instrument, held: Decimal, worth: Decimal, now: float
    ) -> None:
        """Book the end of a position in an option: ``worth`` per unit is paid in cash, nothing is delivered."""
        identifier = f"expiration-{len(account.transactions)}"
        action = LegAction.SELL_TO_CLOSE if held > 0 else LegAction.BUY_TO_CLOSE
        kind = "Expiration" if not worth else f"Cash Settled {'Exercise' if held > 0 else 'Assignment'}"
        self._book(account, Execution(identifier, None, instrument, action, abs(held), worth, Fees()), now, kind)

    def _book(self, account: Account, execution: Execution, now: float, delivered: str | None = None) -> None:
        value = account.trade(execution.instrument, execution.signed, execution.price, execution.fees.total, now)
        booked = trade(self._number(), account.number, now, execution, value, self._dialect, delivered)
        account.transactions.append(booked)
        for listener in self._listeners:
            listener(execution.instrument, now)

    def move_cash(self, account: Account, kind: str, amount: Decimal, now: float) -> None:
        """Book a deposit or, if negative, a withdrawal."""
        account.move_cash(amount)
        movement = cash_movement(self._number(), account.number, now, kind, amount, self._dialect)
        account.transactions.append(movement)
        for listener in self._cash_listeners:
            listener(account, movement)

    def _number(self) -> int:
        self._last_number += 1
        return self._last_number


class Expirations:
    """Settles options of all accounts once they expire. Shares and futures are not delivered."""

    def __init__(self, accounts: Accounts, bookkeeping: Bookkeeping, prices: Prices, event_queue: EventQueue) -> None:
        self._accounts = accounts
        self._bookkeeping = bookkeeping
        self._prices = prices
        self._event_queue = event_queue
        self._awaited: set[str] = set()
        bookkeeping.on_execution(self._await)

    def _await(self, instrument: Instrument, now: float) -> None:
        expires_at = instrument.expires_at
        if not instrument.is_option or expires_at is None or instrument.symbol in self._awaited:
            return
        self._awaited.add(instrument.symbol)
        self._event_queue.at(max(now, expires_at), lambda at: self._settle(instrument, at))

    def _settle(self, instrument: Instrument, now: float) -> None:
        self._awaited.discard(instrument.symbol)
        worth = self._prices.intrinsic(instrument, now)
        for account in self._accounts.all():
            held = account.held(instrument.symbol)
            if held:
                self._bookkeeping.expire_position(account, instrument, held, worth, now)
