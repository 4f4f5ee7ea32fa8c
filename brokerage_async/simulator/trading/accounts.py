"""Accounts of customers: cash, positions and transactions, also in the past, fees, margin, and the books of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from operator import add
from typing import Any

import attrs

from ..._generated.converters import BuyingPowerEffectWire, FeeCalculationWire, TransactionWire
from ..._generated.models import (
    InstrumentType,
    LegAction,
    OptionType,
    PriceEffect,
    TransactionSubType,
    TransactionType,
)
from ..api.wire import Dialect, dumps, like, money, same, timestamp
from ..clock import EventQueue, Signal
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.instrument import FUTURES, Instrument
from ..market.prices import Prices

_ZERO = Decimal(0)
_RATES = {
    InstrumentType.EQUITY: ("0.000166", "0.0008", "0"),
    InstrumentType.EQUITY_OPTION: ("0.03", "0.10", "1.00"),
    InstrumentType.FUTURE: ("0.02", "1.55", "1.25"),
    InstrumentType.FUTURE_OPTION: ("0.02", "0.85", "2.50"),
}
"""Fees for regulation and clearing, and commissions: for each share or contract; of others, a part of their price."""
_INDEX_OPTIONS = {"SPX": Decimal("0.65"), "VIX": Decimal("0.60")}


@attrs.frozen
class Fees:
    """Amounts in dollars, all paid by the customer."""

    regulatory_fees: Decimal = _ZERO
    clearing_fees: Decimal = _ZERO
    commission: Decimal = _ZERO
    proprietary_index_option_fees: Decimal = _ZERO

    @property
    def total(self) -> Decimal:
        return sum(attrs.astuple(self), _ZERO)

    def __add__(self, other: Fees) -> Fees:
        return Fees(*map(add, attrs.astuple(self), attrs.astuple(other)))

    def by_kind(self) -> dict[str, Any]:
        return amounts(**{name: -amount for name, amount in attrs.asdict(self).items()})

    def wire(self) -> FeeCalculationWire:
        return FeeCalculationWire(**self.by_kind(), **amounts(total_fees=-self.total), per_quantity=False)


def effect(paid: Decimal) -> PriceEffect:
    """Return ``Debit`` for an amount paid, ``Credit`` for one received, ``None`` for zero."""
    return PriceEffect.NONE if paid == 0 else PriceEffect.DEBIT if paid > 0 else PriceEffect.CREDIT


def amounts(**gained: Decimal) -> dict[str, Any]:
    """Return unsigned amounts, each with its effect, as fields of a wire struct.

    Positive amounts are held or received (a credit), negative ones required or paid (a debit).
    """
    fields: dict[str, Any] = {}
    for name, amount in gained.items():
        fields[name] = money(abs(amount))
        fields[f"{name}_effect"] = effect(-amount)
    return fields


def fees_of(instrument: Instrument, action: LegAction, quantity: Decimal, price: Decimal) -> Fees:
    kind = instrument.instrument_type
    regulatory, clearing, commission = (Decimal(rate) * quantity for rate in _RATES.get(kind, ("0", "0", "0.0035")))
    if kind not in _RATES:
        commission *= price
    if kind is InstrumentType.EQUITY and not action.startswith("Sell"):
        regulatory = _ZERO
    if instrument.is_option and action.endswith("to Close"):
        commission = _ZERO
    on_index = _INDEX_OPTIONS.get(instrument.underlying, _ZERO) if kind is InstrumentType.EQUITY_OPTION else _ZERO
    fees = (regulatory, clearing, commission, on_index * quantity)
    return Fees(*(amount.quantize(Decimal("0.001")) for amount in fees))


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
    """Account of ``kind`` ``Margin`` or ``Cash``. Working orders hold the buying power that is ``reserved``.

    ``version`` counts changes of cash and positions.
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
        self.version += 1
        self.cash += amount

    def trade(self, instrument: Instrument, change: Decimal, price: Decimal, fees: Decimal, now: float) -> Decimal:
        """Book an execution. Return its value before fees: the proceeds, or the gain on the closed part of a future."""
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
    return account.transactions[0].executed_at


def replay(account: Account, times: Iterable[float]) -> Iterator[Account]:
    """Yield the account as it was at each of ``times``, in order: one object, which reserves nothing for orders."""
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


_CENT = Decimal("0.01")
UNCOVERED = Decimal("0.2")
"""Part of the underlying's value that an uncovered short option requires."""
_MAINTENANCE = Decimal("0.6")

Holding = tuple[Instrument, Decimal]
"""An instrument and a signed quantity."""


def merged(holdings: Iterable[Holding], trades: Iterable[Holding]) -> list[Holding]:
    after = {instrument.symbol: (instrument, quantity) for instrument, quantity in holdings}
    for instrument, quantity in trades:
        held = after.get(instrument.symbol, (instrument, _ZERO))[1]
        after[instrument.symbol] = (instrument, held + quantity)
    return list(after.values())


def requirement(
    holdings: Iterable[Holding], price_of: Callable[[Instrument], Decimal], spot: Decimal, equity_rate: Decimal
) -> Decimal:
    """Return the joint requirement of holdings on one underlying, whose price is ``spot``."""
    total, shares = _ZERO, _ZERO
    options: dict[OptionType, list[Holding]] = {}
    for instrument, quantity in holdings:
        if instrument.option_type is not None:
            options.setdefault(instrument.option_type, []).append((instrument, quantity))
        elif instrument.is_future:
            total += abs(quantity) * FUTURES[instrument.symbol[1:-2]].margin
        elif instrument.instrument_type is InstrumentType.EQUITY:
            total += abs(quantity) * price_of(instrument) * equity_rate
            shares += quantity
        else:
            total += abs(quantity) * price_of(instrument)
    for option_type, held in options.items():
        # Short calls are covered by shares first, then by long options that expire no earlier; puts by these alone.
        cover = shares if option_type is OptionType.CALL else _ZERO
        longs: dict[Instrument, Decimal] = {}  # what covers nothing yet
        for instrument, quantity in held:
            if quantity > 0:
                longs[instrument] = longs.get(instrument, _ZERO) + quantity
        for short, quantity in held:
            uncovered = -quantity
            covered = min(uncovered, cover // short.multiplier)
            if covered > 0:
                cover -= covered * short.multiplier
                uncovered -= covered
            for long in longs:
                paired = min(uncovered, longs[long])
                ends, covers_until = short.expires, long.expires
                if paired > 0 and ends is not None and covers_until is not None and covers_until >= ends:
                    distance = (long.strike or _ZERO) - (short.strike or _ZERO)
                    width = distance if option_type is OptionType.CALL else -distance
                    loss = max(_ZERO, max(_ZERO, width) + price_of(long) - price_of(short)) * short.multiplier
                    total += paired * loss  # the most that the spread can still lose
                    longs[long] -= paired
                    uncovered -= paired
            total += max(_ZERO, uncovered) * UNCOVERED * spot * short.multiplier
        total += sum((left * price_of(long) * long.multiplier for long, left in longs.items()), _ZERO)
    return total


@attrs.frozen(kw_only=True)
class BuyingPowerImpact:
    """Effect of an order on the buying power of an account, in signed dollars."""

    current: Decimal
    margin_change: Decimal
    isolated: Decimal
    fees: Fees
    is_spread: bool

    def __add__(self, other: BuyingPowerImpact) -> BuyingPowerImpact:
        return BuyingPowerImpact(
            current=self.current,
            margin_change=self.margin_change + other.margin_change,
            isolated=self.isolated + other.isolated,
            fees=self.fees + other.fees,
            is_spread=self.is_spread or other.is_spread,
        )

    @property
    def change(self) -> Decimal:
        """Change of the buying power. Negative when the order needs some."""
        return -(self.margin_change + self.fees.total)

    @property
    def new(self) -> Decimal:
        return self.current + self.change

    def wire(self) -> BuyingPowerEffectWire:
        return BuyingPowerEffectWire(
            **self.comparison(), is_spread=self.is_spread, impact=money(abs(self.change)), effect=effect(-self.change)
        )

    def comparison(self) -> dict[str, Any]:
        return amounts(
            change_in_margin_requirement=-self.margin_change,
            change_in_buying_power=self.change,
            current_buying_power=self.current,
            new_buying_power=self.new,
            isolated_order_margin_requirement=-self.isolated,
        )


class MarginCalculator:
    """Computes requirements and buying power at market prices, by simple rules whose figures always add up.

    Buying power is the equity of an account, less the requirements of its positions, less the buying power reserved by
    its working orders. Requirements: half of the value of shares (all of it in a cash account), the whole value of long
    options, nothing for a call covered by shares, the maximum loss of a vertical spread, a fifth of the underlying's
    value for an uncovered short option, and a fixed amount per future.
    """

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._cache: dict[str, tuple[tuple[int, tuple[int, float]], Decimal]] = {}

    def by_underlying(self, account: Account) -> dict[str, list[Holding]]:
        groups: dict[str, list[Holding]] = {}
        for position in account.positions.values():
            groups.setdefault(position.instrument.underlying, []).append((position.instrument, position.quantity))
        return groups

    def required(
        self, account: Account, holdings: Sequence[Holding], now: float, agreed: Mapping[str, Decimal] | None = None
    ) -> Decimal:
        """Return the requirement of holdings on one underlying, at ``agreed`` prices by symbol, else the market's."""
        if not holdings:
            return _ZERO.quantize(_CENT)

        def price_of(instrument: Instrument) -> Decimal:
            price = agreed.get(instrument.symbol) if agreed else None
            return self._prices.price(instrument, now) if price is None else price

        spot = self._prices.underlying_price(holdings[0][0].underlying, now)
        return requirement(holdings, price_of, spot, account.equity_rate).quantize(_CENT)

    def equity(self, account: Account, now: float) -> Decimal:
        price = self._prices.price
        worth = (position.worth(price(position.instrument, now)) for position in account.positions.values())
        return (account.cash + sum(worth, _ZERO)).quantize(_CENT)

    def total_required(self, account: Account, now: float) -> Decimal:
        return sum((self.required(account, held, now) for held in self.by_underlying(account).values()), _ZERO)

    def buying_power(self, account: Account, now: float) -> Decimal:
        key = account.version, self._prices.stamp(now)
        cached = self._cache.get(account.number)
        if cached is None or cached[0] != key:
            cached = key, self.equity(account, now) - self.total_required(account, now)
            self._cache[account.number] = cached
        return cached[1] - account.reserved

    def impact(
        self, account: Account, trades: Sequence[Holding], fees: Fees, agreed: Mapping[str, Decimal], now: float
    ) -> BuyingPowerImpact:
        margin_change = isolated = _ZERO
        if trades:
            before = self.by_underlying(account).get(trades[0][0].underlying, []) if account.positions else []
            margin_change = isolated = self.required(account, trades, now, agreed)
            if before:
                combined = self.required(account, merged(before, trades), now, agreed)
                margin_change = combined - self.required(account, before, now, agreed)
        return BuyingPowerImpact(
            current=self.buying_power(account, now),
            margin_change=margin_change,
            isolated=isolated,
            fees=fees,
            is_spread=len(trades) > 1,
        )

    def maintenance(self, required: Decimal) -> Decimal:
        return (required * _MAINTENANCE).quantize(_CENT)


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

    def reverse(self, account: Account, identifier: str, now: float, price: Decimal | None = None) -> None:
        """Undo an execution, and book it again at ``price``, if given. Its fees stay. All of this is a guess."""
        standing = (each for each in reversed(account.transactions) if each.wire.reverses_id is None)
        booked = next(each for each in standing if each.wire.exec_id == identifier)
        execution = booked.booked
        assert isinstance(execution, Execution)
        opposite = LegAction(" ".join(_OPPOSITES.get(word, word) for word in execution.action.split()))
        undone = attrs.evolve(execution, action=opposite, fees=Fees())
        self.book(account, undone, now, reverses=booked.wire.id)
        if price is not None:
            self.book(account, attrs.evolve(execution, price=price, fees=Fees()), now)
        account.hold_again(execution.instrument.symbol)

    def open_position(
        self, account: Account, instrument: Instrument, action: LegAction, quantity: Decimal, price: Decimal, now: float
    ) -> None:
        """Book a position that an account opened before the first order of the simulation."""
        identifier, fees = f"opening-{len(account.transactions)}", fees_of(instrument, action, quantity, price)
        self.book(account, Execution(identifier, None, instrument, action, quantity, price, fees), now)

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
                self.book(account, execution, now, kind or str(action))

    def book(self, account: Account, execution: Execution, now: float, ended: str = "", reverses: Any = None) -> None:
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
        if instrument.expires_at is not None and instrument.symbol not in self._awaited:
            self._awaited.add(instrument.symbol)
            self._event_queue.at(max(now, instrument.expires_at), partial(self._settle, instrument))
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

    def _settle(self, instrument: Instrument, now: float) -> None:
        self._awaited.discard(instrument.symbol)
        under = self._catalogue.instrument(instrument.underlying_type, instrument.underlying)
        is_over = under is not None and under.expires_at is not None and under.expires_at <= now
        for account in self._accounts.values():
            if not (held := account.held(instrument.symbol)):
                continue
            if not instrument.is_option:
                price = self._prices.price(instrument, now)
                self.receive_deliver(account, instrument, -held, price, now, "Futures Settlement")
                continue
            worth, way = self._prices.intrinsic(instrument, now), "Exercise" if held > 0 else "Assignment"
            if not worth or under is None or is_over or not self._has("options_deliver"):
                kind = f"Cash Settled {way}" if worth else "Expiration"
                self.receive_deliver(account, instrument, -held, worth, now, kind)
                continue
            self.receive_deliver(account, instrument, -held, Decimal(0), now, way)
            units = held * instrument.multiplier / under.multiplier * (1 if instrument.is_call else -1)
            self.receive_deliver(account, under, units, instrument.strike or worth, now)
