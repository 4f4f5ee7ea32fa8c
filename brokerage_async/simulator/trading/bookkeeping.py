"""Books executions and expirations: position, cash, fees and transaction."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import attrs

from ..._generated.converters import FillWire, TransactionWire
from ..._generated.models import LegAction, TransactionSubType, TransactionType
from ..api.wire import Dialect, dumps, like, money, same, timestamp
from ..clock import EventQueue, Signal
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.instrument import Instrument
from ..market.prices import Prices
from .accounts import Account, Accounts, Execution, Fees, Transaction, amounts, fees_of
from .orders import Leg, Order

_FIRST_NUMBER = 700_000_000
_OPPOSITES = {"Buy": "Sell", "Sell": "Buy", "Open": "Close", "Close": "Open"}


@attrs.define(eq=False, repr=False)
class Bookkeeping:
    """Numbers and books executions and cash movements, and settles options and futures once they expire.

    An option in the money is exercised, by its holder or against its writer: shares and futures change hands at the
    strike. Options on an index are paid in cash, as are those whose future expires with them, and futures.
    """

    _dialect: Dialect
    _accounts: Accounts
    _catalogue: Catalogue
    _prices: Prices
    _event_queue: EventQueue
    _has: Callable[[str], bool]
    _last_number: int = attrs.field(init=False, default=_FIRST_NUMBER)
    _awaited: set[str] = attrs.field(init=False, factory=set)
    on_cash: Signal[Account, Transaction] = attrs.field(init=False, factory=Signal)
    on_execution: Signal[Account, Execution, float] = attrs.field(init=False, factory=Signal)

    def execute(self, order: Order, leg: Leg, quantity: Decimal, price: Decimal, now: float) -> None:
        """Fill a part of a leg."""
        turn = f"{order.number}-{len(leg.fills) + leg.busted + 1}"
        identifier = f"{turn}-{order.legs.index(leg)}"
        fees = fees_of(leg.instrument, leg.action, quantity, price)
        execution = Execution(identifier, order.number, leg.instrument, leg.action, quantity, price, fees)
        self._book(order.account, execution, now)
        fill = FillWire(
            ext_group_fill_id=turn,
            ext_exec_id=identifier,
            fill_id=f"SIM_{identifier}",
            quantity=self._dialect.quantity(quantity),
            fill_price=money(price),
            filled_at=timestamp(now),
            destination_venue="SIMULATED",
        )
        leg.remaining -= quantity
        leg.fills.append(fill)

    def reverse(self, account: Account, identifier: str, now: float, price: Decimal | None = None) -> None:
        """Undo an execution, and book it again at ``price``, if given. Its fees stay. All of this is a guess."""
        standing = (each for each in reversed(account.transactions) if each.wire.reverses_id is None)
        booked = next(each for each in standing if each.wire.exec_id == identifier)
        execution = booked.booked
        assert isinstance(execution, Execution)
        opposite = LegAction(" ".join(_OPPOSITES.get(word, word) for word in execution.action.split()))
        undone = attrs.evolve(execution, action=opposite, fees=Fees())
        self._book(account, undone, now, reverses=booked.wire.id)
        if price is not None:
            self._book(account, attrs.evolve(execution, price=price, fees=Fees()), now)
        account.hold_again(execution.instrument.symbol)

    def open_position(
        self, account: Account, instrument: Instrument, action: LegAction, quantity: Decimal, price: Decimal, now: float
    ) -> None:
        """Book a position that an account opened before the first order of the simulation."""
        identifier, fees = f"opening-{len(account.transactions)}", fees_of(instrument, action, quantity, price)
        self._book(account, Execution(identifier, None, instrument, action, quantity, price, fees), now)

    def receive_deliver(
        self, account: Account, instrument: Instrument, change: Decimal, price: Decimal, now: float, kind: str = ""
    ) -> None:
        """Book a change at an expiration, without fees. ``kind`` says how an option ended; a delivery is as a trade."""
        held = account.held(instrument.symbol)
        closed = min(abs(change), abs(held)) if held * change < 0 else Decimal(0)
        side = "Buy" if change > 0 else "Sell"
        for part, end in ((closed, "to Close"), (abs(change) - closed, "to Open")):
            if part:
                action = LegAction(side if instrument.is_future else f"{side} {end}")
                identifier = f"expiration-{len(account.transactions)}"
                execution = Execution(identifier, None, instrument, action, part, price, Fees())
                self._book(account, execution, now, kind or str(action))

    def _book(self, account: Account, execution: Execution, now: float, ended: str = "", reverses: Any = None) -> None:
        """Book an execution. ``ended`` says how a position ended without a trade, ``reverses`` what it undoes."""
        instrument, fees = execution.instrument, execution.fees
        value = account.trade(instrument, execution.signed, execution.price, fees.total, now)
        what = ended or str(execution.action)
        wire = like(
            TransactionWire,
            instrument,
            underlying_symbol=instrument.underlying,
            transaction_type=TransactionType.RECEIVE_DELIVER if ended else TransactionType.TRADE,
            transaction_sub_type=TransactionSubType(what),
            description=f"{what} {execution.quantity:f} {instrument.symbol} @ {money(execution.price)}",
            action=execution.action,
            quantity=format(execution.quantity, "f"),
            price=money(execution.price),
            **amounts(value=value, net_value=value - fees.total),
            is_estimated_fee=True,
            order_id=self._dialect.identifier(execution.order_number),
            leg_count=self._dialect.quantity(Decimal(1)),
            **same(execution.identifier, "exec_id", "ext_exec_id"),
            reverses_id=reverses,
            **fees.by_kind(),
        )
        self._append(account, execution, wire, now)
        self._await_end(instrument, now)
        self.on_execution.emit(account, execution, now)

    def move_cash(self, account: Account, kind: str, amount: Decimal, now: float) -> None:
        """Book a deposit or, if negative, a withdrawal. It has no symbol, action, quantity or price."""
        account.move_cash(amount)
        wire = TransactionWire(
            transaction_type=TransactionType.MONEY_MOVEMENT,
            transaction_sub_type=TransactionSubType(kind),
            description=kind,
            **amounts(value=amount, net_value=amount),
            is_estimated_fee=False,
        )
        self.on_cash.emit(account, self._append(account, amount, wire, now))

    def _append(self, account: Account, booked: Execution | Decimal, wire: TransactionWire, now: float) -> Transaction:
        """Complete the fields that every booking has, and append it."""
        self._last_number += 1
        wire.id, wire.account_number = self._dialect.identifier(self._last_number), account.number
        wire.executed_at, wire.transaction_date, wire.currency = timestamp(now), local_date(now), "USD"
        transaction = Transaction(executed_at=now, booked=booked, wire=wire, row=dumps(wire))
        account.transactions.append(transaction)
        return transaction

    def _await_end(self, instrument: Instrument, now: float) -> None:
        expires_at = instrument.expires_at
        if expires_at is None or instrument.symbol in self._awaited:
            return
        self._awaited.add(instrument.symbol)

        def settle(at: float) -> None:
            self._awaited.discard(instrument.symbol)
            for account in self._accounts.values():
                if held := account.held(instrument.symbol):
                    self._end(account, instrument, held, at)

        self._event_queue.at(max(now, expires_at), settle)

    def _end(self, account: Account, instrument: Instrument, held: Decimal, now: float) -> None:
        book = self.receive_deliver
        if not instrument.is_option:
            return book(account, instrument, -held, self._prices.price(instrument, now), now, "Futures Settlement")
        worth, way = self._prices.intrinsic(instrument, now), "Exercise" if held > 0 else "Assignment"
        delivered = self._catalogue.instrument(instrument.underlying_type, instrument.underlying)
        is_over = delivered is not None and delivered.expires_at is not None and delivered.expires_at <= now
        if not worth:
            return book(account, instrument, -held, worth, now, "Expiration")
        if delivered is None or is_over or not self._has("options_deliver"):
            return book(account, instrument, -held, worth, now, f"Cash Settled {way}")
        book(account, instrument, -held, Decimal(0), now, way)
        units = held * instrument.multiplier / delivered.multiplier * (1 if instrument.is_call else -1)
        return book(account, delivered, units, instrument.strike or worth, now)
