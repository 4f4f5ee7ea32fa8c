"""Accounts of customers: cash, positions, transactions, reserved buying power, and their past states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import attrs

from ..._generated.converters import TransactionWire
from ..._generated.models import LegAction
from ..market.calendar import local_date
from ..market.instrument import Instrument
from ..trading.fees import Fees


@attrs.frozen(kw_only=True)
class Transaction:
    """One booking: the execution or the amount of cash that it is of, as wire struct and as JSON."""

    executed_at: float
    booked: Execution | Decimal
    wire: TransactionWire
    row: bytes


@attrs.frozen
class Execution:
    """Part of one leg of an order, executed at one price; ``order_number`` is None for an opening position."""

    identifier: str
    order_number: int | None
    instrument: Instrument
    action: LegAction
    quantity: Decimal
    price: Decimal
    fees: Fees

    @property
    def signed(self) -> Decimal:
        """Quantity, negative for a sale."""
        return self.quantity if self.action.startswith("Buy") else -self.quantity


@attrs.frozen
class Customer:
    """Owner of accounts."""

    number: int
    username: str


@attrs.define
class Position:
    """Holding of one instrument since ``opened_at``; ``quantity`` is negative when short.

    ``average`` is the mean price of its openings, which not every decimal can hold. ``realized`` is the gain of the
    parts that were closed on the day of ``realized_at``, before fees. ``earned`` is the gain of all closed parts, of
    which ``paid`` is booked: the same to the cent.
    """

    instrument: Instrument
    quantity: Decimal
    average: Fraction
    opened_at: float
    earned: Fraction = Fraction(0)
    paid: Decimal = Decimal(0)
    realized: Decimal = Decimal(0)
    realized_at: float | None = None

    @property
    def average_price(self) -> Decimal:
        """Mean price of its openings."""
        return _decimal(self.average)

    def realized_on(self, day: date) -> Decimal:
        """Return the gain of the parts that were closed on a day, 0 for any day but the last one."""
        known = self.realized_at is not None and local_date(self.realized_at) == day
        return self.realized if known else Decimal(0)

    def realize(self, quantity: Decimal, price: Decimal, now: float) -> Decimal:
        """Return the gain, to the cent, of closing a signed part of the holding, and add it to the day's gain."""
        self.earned += Fraction(quantity * self.instrument.multiplier) * (Fraction(price) - self.average)
        gain = Decimal(round(self.earned * 100)) / 100 - self.paid
        self.paid += gain
        self.realized = self.realized_on(local_date(now)) + gain
        self.realized_at = now
        return gain

    def worth(self, price: Decimal) -> Decimal:
        """Return the market value, negative when short: for a future, which costs nothing, its open gain."""
        size = self.quantity * self.instrument.multiplier
        return size * price - (_decimal(Fraction(size) * self.average) if self.instrument.is_future else 0)


@attrs.define(kw_only=True, eq=False)
class Account:
    """One account.

    ``kind`` is ``Margin`` or ``Cash``; ``reserved`` is the buying power that working orders hold; ``version`` counts
    changes of cash and positions.
    """

    number: str
    customer: Customer
    kind: str
    cash: Decimal
    positions: dict[str, Position] = attrs.field(factory=dict)
    reserved: Decimal = Decimal(0)
    transactions: list[Transaction] = attrs.field(factory=list)
    version: int = 0

    @property
    def equity_rate(self) -> Decimal:
        """Fraction of a share position's value that is required as margin."""
        return Decimal("0.5") if self.kind == "Margin" else Decimal(1)

    def held(self, symbol: str) -> Decimal:
        """Return the signed quantity held of an instrument."""
        position = self.positions.get(symbol)
        return position.quantity if position is not None else Decimal(0)

    def hold_again(self, symbol: str) -> None:
        """Compute a position again, without executions that were reversed. Those booked again keep their place."""
        gone = {each.wire.reverses_id for each in self.transactions}
        places, standing = dict[str, int](), list[tuple[float, Execution]]()
        for each in self.transactions:
            if isinstance(each.booked, Execution) and each.wire.symbol == symbol and each.wire.reverses_id is None:
                places.setdefault(each.booked.identifier, len(places))
                standing += () if each.wire.id in gone else ((each.executed_at, each.booked),)
        self.positions.pop(symbol, None)
        for at, execution in sorted(standing, key=lambda each: places[each[1].identifier]):
            self.hold(execution.instrument, execution.signed, execution.price, at)

    def move_cash(self, amount: Decimal) -> None:
        """Book a deposit or, if negative, a withdrawal."""
        self.version += 1
        self.cash += amount

    def trade(self, instrument: Instrument, change: Decimal, price: Decimal, fees: Decimal, now: float) -> Decimal:
        """Book an execution; ``change`` is positive for a purchase.

        Return its value before fees: the proceeds, negative for a purchase, or the gain on the part of a future that it
        closes.
        """
        gain = self.hold(instrument, change, price, now)
        value = gain if instrument.is_future else -change * price * instrument.multiplier
        self.version += 1
        self.cash += value - fees
        return value

    def hold(self, instrument: Instrument, change: Decimal, price: Decimal, now: float) -> Decimal:
        """Change the position and return the gain on the part that is closed."""
        position, gain = self.positions.get(instrument.symbol), Decimal(0)
        if position is None:
            self.positions[instrument.symbol] = Position(instrument, change, Fraction(price), now)
            return gain
        before, after = position.quantity, position.quantity + change
        if before * change < 0:
            gain = position.realize(min(abs(before), abs(change)).copy_sign(before), price, now)
        if after == 0:
            del self.positions[instrument.symbol]
            return gain
        if before * change > 0:
            cost = Fraction(before) * position.average + Fraction(change * price)
            position.average = cost / Fraction(after)
        elif before * after < 0:
            position.average, position.opened_at = Fraction(price), now
            position.earned, position.paid = Fraction(0), Decimal(0)
        position.quantity = after
        return gain


class Accounts(dict[str, Account]):
    """All accounts of the environment, by number."""

    def of(self, customer: Customer) -> tuple[Account, ...]:
        return tuple(account for account in self.values() if account.customer == customer)


def _decimal(value: Fraction) -> Decimal:
    """Return a number as a decimal, exactly where one can hold it."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def opened_at(account: Account) -> float:
    """Return the time of the first transaction of an account."""
    return account.transactions[0].executed_at


def replay(account: Account, times: Iterable[float]) -> Iterator[Account]:
    """Yield the account as it was at each of ``times``, which must be in order.

    The same object is yielded each time. It reserves nothing for working orders, whose past is not kept.
    """
    past = attrs.evolve(account, cash=Decimal(0), positions={}, reserved=Decimal(0), transactions=[], version=0)
    bookings = iter(account.transactions)
    upcoming = next(bookings, None)
    for time in times:
        while upcoming is not None and upcoming.executed_at <= time:
            booked = upcoming.booked
            if isinstance(booked, Execution):
                past.trade(booked.instrument, booked.signed, booked.price, booked.fees.total, upcoming.executed_at)
            else:
                past.move_cash(booked)
            past.transactions.append(upcoming)
            upcoming = next(bookings, None)
        yield past


_WINDOW = timedelta(days=7)
"""Five trading days, weekends included."""


def day_trade_count(account: Account, now: float) -> int:
    """Return the day trades of the last five trading days: one for each instrument and day."""
    today = local_date(now)
    sides = dict[tuple[str, date], set[str]]()
    for transaction in reversed(account.transactions):
        day = local_date(transaction.executed_at)
        if today - day >= _WINDOW:
            break
        execution = transaction.booked
        if isinstance(execution, Execution) and execution.order_number is not None:
            sides.setdefault((execution.instrument.symbol, day), set()).add(execution.action.rpartition(" ")[2])
    return sum(found >= {"Open", "Close"} for found in sides.values())
