"""Measure an order for the guard: prices, multipliers, positions and working orders, read before it is journaled."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal

import attrs

from .._generated import models, operations
from .._generated.models import InstrumentType, NewComplexOrder, NewOrder, NewOrderLeg, Order
from ..errors import BrokerageError, ErrorDetail, OrderRefusedError
from ..journal.caps import Usage
from ..protocol.order_status import TERMINAL
from .context import Context
from .guard import OrderGuard
from .lists import OrderLists
from .orders import asked_components, open_quantity

CLOSING = ("Buy to Close", "Sell to Close")
MAX_CONTRACTS = 10_000
BOOKING = timedelta(seconds=5)
"""How long a position may lag behind a fill: that took up to 3 s in a loaded sandbox."""
UNLISTED = timedelta(seconds=20)
"""How long the lists may lag behind an order."""
QUOTED = {
    InstrumentType.EQUITY: "equity",
    InstrumentType.EQUITY_OPTION: "equity_option",
    InstrumentType.FUTURE: "future",
    InstrumentType.FUTURE_OPTION: "future_option",
    InstrumentType.CRYPTOCURRENCY: "cryptocurrency",
}
"""Instrument types that have quotes, with their parameter of the request."""


async def usage_of(
    context: Context, account_number: str, name: str, order: NewOrder | NewComplexOrder | None
) -> Usage | None:
    """Return an order's share of the caps of the guard, with these caps. None without a guard.

    Raise OrderRefusedError if the order alone passes a cap, or cannot be measured (code ``guard_refused``).
    """
    if context.guard is None:
        return None
    measure = _Measure(context, context.guard, account_number, f"order {name}")
    return await measure.usage(None if order is None else asked_components(order))


async def usage_of_replacement(
    context: Context, account_number: str, order_id: str, original: Order | None, edit: models.OrderEdit
) -> Usage | None:
    """Return the share of a replacement: what its value adds to that of the original. See `usage_of`."""
    if context.guard is None:
        return None
    measure = _Measure(context, context.guard, account_number, f"the replacement of order {order_id}")
    old = None if original is None else as_new_order(original)
    new = None if old is None else [attrs.evolve(old, price=edit.price, value=edit.value)]
    return await measure.usage(new, replaced=old)


@attrs.frozen
class _Measure:
    context: Context
    guard: OrderGuard
    account_number: str
    what: str

    def unmeasured(self, cap: str, reason: str) -> OrderRefusedError:
        return self.refused(ErrorDetail(cap, reason, cap))

    @contextmanager
    def measuring(self, cap: str, problem: str) -> Iterator[None]:
        """Refuse the order if something that it is measured by for a cap cannot be read."""
        try:
            yield
        except OrderRefusedError:
            raise
        except BrokerageError as error:
            raise self.unmeasured(cap, f"{problem}: {error}") from error

    def refused(self, *details: ErrorDetail) -> OrderRefusedError:
        reason = "; ".join(f"{each.code}: {each.message}" for each in details)
        return OrderRefusedError(
            f"{self.what} of account {self.account_number}: {reason}",
            account_number=self.account_number,
            code="guard_refused",
            errors=details,
        )

    async def usage(self, components: Sequence[NewOrder] | None, replaced: NewOrder | None = None) -> Usage:
        """Measure the components at risk. Lists and the cap on quantity bind all of them.

        One that is ``replaced`` has the legs of the new order already.
        """
        if components is None:
            raise self.refused(ErrorDetail("guard", "its terms could not be read, so that no cap can be checked"))
        guard, orders, is_valued = self.guard, at_risk(components), self.guard.values_orders
        needs_quote = any(priced_by_quote(order, guard) for order in orders)
        is_plain = all(leg.instrument_type == InstrumentType.EQUITY for order in components for leg in order.legs)
        if (needs_quote or not is_plain) and (details := list(refused_by(guard, components, (), ()))):
            raise self.refused(*details)  # what is not allowed needs no request
        with self.measuring(self._value_cap(), "the order could not be valued"):
            prices = await self._prices(orders) if needs_quote else {}
            legs = [leg for order in orders for leg in order.legs] if is_valued else []
            multipliers = {leg.symbol: await self._multiplier(leg) for leg in legs}
        values = [value_of(order, multipliers, prices) for order in orders] if is_valued else []
        sizes = [abs(quantity_of(leg, order, prices)) for order in components for leg in order.legs]
        if details := list(refused_by(guard, components, values, sizes)):
            raise self.refused(*details)
        value = sum(values, Decimal(0))
        if replaced is not None and is_valued and (replaced.price is not None or replaced.value is not None):
            value = max(value - value_of(replaced, multipliers, {}), Decimal(0))
        usage = Usage(
            value=value,
            max_value_per_minute=guard.max_value_per_minute,
            max_value_per_day=guard.max_value_per_day,
            max_orders_per_minute=guard.max_orders_per_minute,
            max_orders_per_day=guard.max_orders_per_day,
        )
        if guard.max_net_quantity is None or replaced is not None:
            return usage
        nets = [net_of(order.legs, [abs(quantity_of(leg, order, prices)) for leg in order.legs]) for order in orders]
        return await self._with_net(usage, orders, nets, guard.max_net_quantity)

    def _value_cap(self) -> str:
        """Return the cap that the value of an order is needed for, or else its quantity."""
        names = ("max_order_value", "max_value_per_minute", "max_value_per_day")
        return next((name for name in names if getattr(self.guard, name) is not None), "max_order_quantity")

    async def _prices(self, orders: Sequence[NewOrder]) -> dict[str, Decimal]:
        """Return the far side of the quote of each leg that needs one, all in one request."""
        legs = {leg.symbol: leg for each in orders if priced_by_quote(each, self.guard) for leg in each.legs}
        wanted = defaultdict[str, list[str]](list)
        for leg in legs.values():
            if (parameter := QUOTED.get(leg.instrument_type)) is not None:
                wanted[parameter].append(leg.symbol)
        quotes = await self.context.executor.execute(operations.MARKET_DATA_BY_TYPE.bind(**wanted)) if wanted else []
        shown = {quote.symbol: quote for quote in quotes}
        prices = dict[str, Decimal]()
        for symbol, leg in legs.items():
            quote = shown.get(symbol)
            side = "ask" if leg.action.startswith("Buy") else "bid"
            price = None if quote is None else getattr(quote, side)
            if price is None or not price > 0:
                reason = f"{symbol} has no {side}, so that an order without a price has no value"
                raise self.unmeasured(self._value_cap(), reason)
            prices[symbol] = price
        return prices

    async def _contract(self, leg: NewOrderLeg) -> tuple[Decimal | None, str]:
        """Return the units of one contract, and the underlying, which are read once."""
        known, execute, symbol = self.context.contracts, self.context.executor.execute, leg.symbol
        if symbol in known:
            return known[symbol]
        units: Decimal | int | None = 1
        underlying = underlying_of(symbol)
        match leg.instrument_type:
            case InstrumentType.EQUITY_OPTION:  # its root may differ from the underlying: SPXW, BRKB
                option = await execute(operations.INSTRUMENTS_EQUITY_OPTION.bind(symbol=symbol))
                units, underlying = option.shares_per_contract, option.underlying_symbol or underlying
            case InstrumentType.FUTURE:
                units = (await execute(operations.INSTRUMENTS_FUTURE.bind(symbol=symbol))).notional_multiplier
            case InstrumentType.FUTURE_OPTION:
                units = (await execute(operations.INSTRUMENTS_FUTURE_OPTION.bind(symbol=symbol))).multiplier
        if len(known) >= MAX_CONTRACTS:
            known.clear()
        known[symbol] = (Decimal(units) if units else None, underlying)
        return known[symbol]

    async def _multiplier(self, leg: NewOrderLeg) -> Decimal:
        units, _ = await self._contract(leg)
        if units is None:
            raise self.unmeasured(self._value_cap(), f"{leg.symbol} shows no multiplier, so that it has no value")
        return units

    async def _with_net(self, usage: Usage, orders: Sequence[NewOrder], nets: Sequence[Decimal], cap: Decimal) -> Usage:
        """Add the net position: the lists are read before the positions, so that a fill in between counts twice."""
        name, execute = "max_net_quantity", self.context.executor.execute
        with self.measuring(name, "the net position could not be read"):
            underlyings = {(await self._contract(leg))[1] for order in orders for leg in order.legs}
            if len(underlyings) != 1:
                raise self.unmeasured(name, f"an order must have one underlying, got {len(underlyings)}")
            [underlying] = underlyings
            now = await self.context.journal.now()
            listed = await OrderLists(self.context.executor, self.account_number).live()
            positions = await execute(operations.POSITIONS_LIST.bind(account_number=self.account_number))
        held = held_by(underlying, listed, positions, self.context.now())
        return attrs.evolve(
            usage,
            underlying=underlying,
            bought=sum((max(net, Decimal(0)) for net in nets), Decimal(0)),
            sold=sum((max(-net, Decimal(0)) for net in nets), Decimal(0)),
            max_net_quantity=cap,
            held_long=held[0],
            held_short=held[1],
            since=now - UNLISTED,
            includes=tuple(sorted({str(order.external_identifier) for order in listed if shows_quantity(order)})),
        )


def shows_quantity(order: Order) -> bool:
    """Return True if the list says what an order of ours may fill. One for an amount of money has no quantity yet."""
    known = order.status in TERMINAL or all(
        leg.quantity is not None or leg.remaining_quantity is not None for leg in order.legs or ()
    )
    return known and bool(order.external_identifier)


def held_by(
    underlying: str, listed: Sequence[Order], positions: Sequence[models.Position], now: datetime
) -> tuple[Decimal, Decimal]:
    """Return how long and how short an account may come to be in an underlying with its orders so far, at worst."""
    net, booked = Decimal(0), dict[str, datetime]()
    for position in positions:
        symbol = position.underlying_symbol or position.symbol or "?"
        if underlying_of(symbol) == underlying and position.quantity is not None:
            net += position.quantity * (-1 if position.quantity_direction == "Short" else 1)
            if position.symbol and position.updated_at:
                booked[position.symbol] = position.updated_at
    bought = sold = Decimal(0)
    for order in listed:
        named = order.underlying_symbol
        legs = [leg for leg in order.legs or () if underlying_of(named or leg.symbol or "?") == underlying]
        waits = order.status == "Contingent" and (
            order.replaces_order_id or all(leg.action in CLOSING for leg in order.legs or ())
        )
        left = [Decimal(0) if waits or order.status in TERMINAL else open_quantity(leg) for leg in legs]
        for number, leg in enumerate(legs):  # fills that no position shows yet
            for fill in leg.fills or ():
                at, seen = fill.filled_at, booked.get(leg.symbol or "")
                if at is not None and now - at < BOOKING and (seen is None or seen < at):
                    left[number] += fill.quantity or Decimal(0)
        added = net_of(legs, left)
        bought, sold = bought + max(added, Decimal(0)), sold + max(-added, Decimal(0))
    return net + bought, sold - net


def at_risk(components: Sequence[NewOrder]) -> Sequence[NewOrder]:
    """Return the components that count: those that open something, or the largest if none does.

    The exits of a bracket work after its entry was filled, and exits that exclude each other are filled once.
    """
    opening = [each for each in components if any(leg.action not in CLOSING for leg in each.legs)]
    return opening or [max(components, key=lambda each: max(leg.quantity or Decimal(0) for leg in each.legs))]


def underlying_of(symbol: str) -> str:
    """Return the underlying of a symbol: ``AAPL`` of its options, ``/ES`` of ``/ESZ6`` and its options."""
    first, *rest = symbol.split()
    if first.startswith((".", "/")) and len(first) > 3:
        return f"/{first.lstrip('./')[:-2]}"
    if not rest and len(first) > 15 and first[-15:-9].isdigit():  # an OCC symbol whose root has six characters
        return first[:-15]
    return first


def quantity_of(leg: NewOrderLeg, order: NewOrder, prices: Mapping[str, Decimal]) -> Decimal:
    """Return the quantity of a leg. Of an order for an amount of money, how much that buys at the far side."""
    if leg.quantity is not None:
        return leg.quantity
    price = prices.get(leg.symbol)
    return (order.value or Decimal(0)) / price if price else Decimal(0)


def value_of(order: NewOrder, multipliers: Mapping[str, Decimal], prices: Mapping[str, Decimal]) -> Decimal:
    """Return the value of an order in dollars. ``prices``: the far side of the quote of each leg, if it has no price.

    The price of several legs is for the smallest set of them that the order holds a whole number of.
    """
    if order.value is not None:
        return abs(order.value)
    quantities = [leg.quantity or Decimal(0) for leg in order.legs]
    if order.price is None:
        legs = zip(order.legs, quantities, strict=True)
        return sum((abs(n) * multipliers[leg.symbol] * prices[leg.symbol] for leg, n in legs), Decimal(0))
    if len(quantities) == 1:
        return abs(quantities[0] * multipliers[order.legs[0].symbol] * order.price)
    ratios = [abs(each).as_integer_ratio() for each in quantities]
    unit = math.lcm(*(denominator for _, denominator in ratios))
    sets = Decimal(math.gcd(*(number * unit // denominator for number, denominator in ratios))) / unit
    return sets * max(multipliers[leg.symbol] for leg in order.legs) * abs(order.price)


def priced_by_quote(order: NewOrder, guard: OrderGuard) -> bool:
    """Return True if the far side of the quote is needed to measure an order."""
    measures = guard.max_order_quantity is not None or guard.max_net_quantity is not None
    if order.value is not None:
        return measures and any(leg.quantity is None for leg in order.legs)
    return order.price is None and guard.values_orders


def net_of(legs: Sequence[NewOrderLeg | models.OrderLeg], quantities: Sequence[Decimal]) -> Decimal:
    """Return what legs add to the net position once they are filled: bought less sold."""
    signed = (n if str(leg.action or "").startswith("Buy") else -n for leg, n in zip(legs, quantities, strict=True))
    return sum(signed, Decimal(0))


def refused_by(
    guard: OrderGuard, orders: Sequence[NewOrder], values: Sequence[Decimal], quantities: Sequence[Decimal]
) -> Iterator[ErrorDetail]:
    """Yield a detail for each list, and each cap on one order, that orders do not keep."""
    for name, allowed in (("symbols", guard.symbols), ("instrument_types", guard.instrument_types)):
        if allowed is None:
            continue
        for leg in (leg for order in orders for leg in order.legs):
            what = leg.symbol if name == "symbols" else str(leg.instrument_type)
            if what not in allowed and (name != "symbols" or underlying_of(what) not in allowed):
                yield ErrorDetail(name, f"{what} must be one of {', '.join(sorted(allowed)) or 'none'}", name)
    for name, cap, sizes, unit in (
        ("max_order_value", guard.max_order_value, values, "dollars"),
        ("max_order_quantity", guard.max_order_quantity, quantities, "shares or contracts"),
    ):
        largest = max(sizes, default=Decimal(0))
        if cap is not None and largest > cap:
            text = f"{largest.normalize():f} {unit} in one order, {cap:f} are allowed: it can never have as much"
            yield ErrorDetail(name, text, name)


def as_new_order(original: Order) -> NewOrder | None:
    """Return an order with the terms of ``original``, None if that does not show its legs."""
    legs = [
        NewOrderLeg(action=leg.action, instrument_type=leg.instrument_type, symbol=leg.symbol, quantity=leg.quantity)
        for leg in original.legs or ()
        if leg.action and leg.instrument_type and leg.symbol
    ]
    if not legs or len(legs) != len(original.legs or ()):
        return None
    known = {"order_type": original.order_type or "Limit", "time_in_force": original.time_in_force or "Day"}
    return NewOrder(**known, price=original.price, value=original.value, legs=tuple(legs))  # type: ignore[arg-type]
