"""Books that start from the fills alone, with the fees and margins of the simulated brokerage written down again."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import attrs

UNCOVERED_PART = Decimal("0.2")
"""Part of the underlying's value that a short option requires when nothing covers it."""

FUTURE_MARGINS: Mapping[str, int] = {"ES": 15_000, "CL": 6_200, "6E": 2_600, "MYM": 980}
"""Dollars per contract."""

INDEX_FEES = {"SPX": Decimal("0.65"), "VIX": Decimal("0.60")}

# Dollars per share or contract: regulatory, clearing, commission to open, commission to close.
PER_UNIT = {
    "Equity Option": ("0.03", "0.10", "1.00", "0"),
    "Future": ("0.02", "1.55", "1.25", "1.25"),
    "Future Option": ("0.02", "0.85", "2.50", "0"),
}


EQUITY_MARGIN_RATES = {"Margin": Decimal("0.5"), "Cash": Decimal(1)}
"""Part of a share's value that an account of a kind has to hold."""


def fees_of(kind: str, underlying: str, action: str, quantity: Decimal, price: Decimal) -> dict[str, Decimal]:
    if kind == "Equity":
        sold = quantity if action.startswith("Sell") else Decimal(0)
        fees = [round(sold * Decimal("0.000166"), 3), round(quantity * Decimal("0.0008"), 3), Decimal(0), Decimal(0)]
    elif kind == "Cryptocurrency":
        fees = [Decimal(0), Decimal(0), round(quantity * price * Decimal("0.0035"), 3), Decimal(0)]
    else:
        regulatory, clearing, opening, closing = (quantity * Decimal(rate) for rate in PER_UNIT[kind])
        index = quantity * INDEX_FEES.get(underlying, Decimal(0)) if kind == "Equity Option" else Decimal(0)
        fees = [regulatory, clearing, closing if action.endswith("to Close") else opening, index]
    names = ("regulatory_fees", "clearing_fees", "commission", "proprietary_index_option_fees")
    return dict(zip(names, fees, strict=True))


NEW_YORK = timezone(timedelta(hours=-4))
"""Time of the exchanges, in summer."""

ZERO = Decimal(0)


@attrs.frozen(kw_only=True)
class Fact:
    symbol: str
    kind: str
    underlying: str
    multiplier: Decimal = Decimal(1)
    strike: Decimal = ZERO
    option_type: str = ""
    expires: date = date.max


@attrs.frozen(kw_only=True)
class Fill:
    exec_id: str
    at: datetime
    symbol: str
    action: str
    quantity: Decimal
    price: Decimal

    @property
    def bought(self) -> Decimal:
        return self.quantity if self.action.startswith("Buy") else -self.quantity


@attrs.define(kw_only=True)
class Holding:
    """Position in one instrument; ``paid`` are the gains in ``earned`` that were rounded and booked."""

    quantity: Decimal
    average: Fraction
    earned: Fraction = Fraction(0)
    paid: Decimal = ZERO
    gains: dict[date, Decimal] = attrs.field(factory=lambda: defaultdict(Decimal))


@attrs.define(kw_only=True)
class Book:
    """Cash, positions and fees of one account after its deposits and fills."""

    kind: str
    facts: Mapping[str, Fact]
    cash: Decimal = ZERO
    holdings: dict[str, Holding] = attrs.field(factory=dict)
    fees: dict[date, Decimal] = attrs.field(factory=lambda: defaultdict(Decimal))
    values: dict[str, Decimal] = attrs.field(factory=dict)
    due: Counter[tuple[str, Decimal]] = attrs.field(factory=Counter)

    def add(self, fill: Fill) -> None:
        """Book a fill: the position, the proceeds or the gain on a future, and the fees."""
        self.settle(fill)
        fees = sum(self.fees_of(fill).values(), ZERO)
        self.fees[day_of(fill.at)] += fees
        self.cash -= fees

    def expire(self, end: Fill, way: str = "") -> None:
        """Book the end of a position, or a delivery, without fees: its value in cash, and what is due by its way."""
        fact = self.settle(end)
        if way in ("Exercise", "Assignment"):
            units = fact.multiplier / self.facts[fact.underlying].multiplier * (-1 if fact.option_type == "C" else 1)
            self.due[fact.underlying, fact.strike] += end.bought * units
        elif not fact.option_type and way != "Futures Settlement":
            self.due[end.symbol, end.price] -= end.bought

    def settle(self, fill: Fill) -> Fact:
        """Book the position and its value in cash, for a future the gain. Return the facts of the instrument."""
        fact = self.facts[fill.symbol]
        gain = self.hold(fact, fill)
        value = gain if fact.kind == "Future" else -fill.bought * fill.price * fact.multiplier
        self.values[fill.exec_id] = value
        self.cash += value
        return fact

    def fees_of(self, fill: Fill) -> dict[str, Decimal]:
        fact = self.facts[fill.symbol]
        return fees_of(fact.kind, fact.underlying, fill.action, fill.quantity, fill.price)

    def hold(self, fact: Fact, fill: Fill) -> Decimal:
        """Change a position and return the gain on the part that was closed, to the cent over its life."""
        change, price = fill.bought, Fraction(fill.price)
        held = self.holdings.get(fill.symbol)
        if held is None:
            self.holdings[fill.symbol] = Holding(quantity=change, average=price)
            return ZERO
        gain = ZERO
        same_side = (held.quantity > 0) == (change > 0)
        if same_side:
            total = held.quantity + change
            held.average = (Fraction(held.quantity) * held.average + Fraction(change) * price) / Fraction(total)
        else:
            closed = min(abs(held.quantity), abs(change))
            side = 1 if held.quantity > 0 else -1
            held.earned += side * Fraction(closed) * (price - held.average) * Fraction(fact.multiplier)
            gain = cents_of(held.earned) - held.paid
            held.paid += gain
            held.gains[day_of(fill.at)] += gain
            if abs(change) > closed:
                held.average, held.earned, held.paid = price, Fraction(0), ZERO
        held.quantity += change
        if held.quantity == 0:
            del self.holdings[fill.symbol]
        return gain

    # Values at market prices

    def worth(self, symbol: str, price: Decimal) -> Fraction:
        held, fact = self.holdings[symbol], self.facts[symbol]
        cost = held.average if fact.kind == "Future" else Fraction(0)
        return Fraction(held.quantity) * (Fraction(price) - cost) * Fraction(fact.multiplier)

    def net_liq(self, marks: Mapping[str, Decimal]) -> Decimal:
        return cents_of(Fraction(self.cash) + sum(self.worth(symbol, marks[symbol]) for symbol in self.holdings))

    def requirement(self, marks: Mapping[str, Decimal]) -> Decimal:
        groups: dict[str, list[str]] = {}
        for symbol in self.holdings:
            groups.setdefault(self.facts[symbol].underlying, []).append(symbol)
        return sum((round(self.group_requirement(group, marks), 2) for group in groups.values()), ZERO)

    def group_requirement(self, symbols: Iterable[str], marks: Mapping[str, Decimal]) -> Decimal:
        """Return the margin of the positions on one underlying, in the order they were opened."""
        total, shares = ZERO, ZERO
        options: dict[str, dict[str, Decimal]] = {"C": {}, "P": {}}
        for symbol in symbols:
            fact, quantity = self.facts[symbol], self.holdings[symbol].quantity
            if fact.option_type:
                options[fact.option_type][symbol] = quantity
            elif fact.kind == "Future":
                total += abs(quantity) * FUTURE_MARGINS[symbol[1:-2]]
            elif fact.kind == "Equity":
                total += abs(quantity) * marks[symbol] * EQUITY_MARGIN_RATES[self.kind]
                shares += quantity
            else:
                total += abs(quantity) * marks[symbol]
        total += self.options_requirement(options["C"], shares, marks)
        return total + self.options_requirement(options["P"], ZERO, marks)

    def options_requirement(
        self, held: Mapping[str, Decimal], shares: Decimal, marks: Mapping[str, Decimal]
    ) -> Decimal:
        """Return the margin of calls or puts: short ones are covered by shares, then by long ones."""
        total = ZERO
        free = {symbol: quantity for symbol, quantity in held.items() if quantity > 0}
        for symbol, quantity in held.items():
            if quantity > 0:
                continue
            fact, open_ = self.facts[symbol], -quantity
            by_shares = max(ZERO, min(open_, shares // fact.multiplier))
            shares -= by_shares * fact.multiplier
            open_ -= by_shares
            for other in free:
                cover = self.facts[other]
                if cover.expires >= fact.expires:
                    pairs = min(open_, free[other])
                    width = cover.strike - fact.strike if fact.option_type == "C" else fact.strike - cover.strike
                    loss = max(ZERO, max(ZERO, width) + marks[other] - marks[symbol])
                    total += pairs * loss * fact.multiplier
                    free[other] -= pairs
                    open_ -= pairs
            total += open_ * UNCOVERED_PART * marks[fact.underlying] * fact.multiplier
        return total + sum((left * marks[one] * self.facts[one].multiplier for one, left in free.items()), ZERO)


def day_of(at: datetime) -> date:
    return at.astimezone(NEW_YORK).date()


def cents_of(amount: Fraction) -> Decimal:
    return Decimal(round(amount * 100)) / 100
