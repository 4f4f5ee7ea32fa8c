"""Measure an order for the guard: prices, multipliers, positions and working orders, read before it is journaled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import attrs

from .._generated.models import InstrumentType, NewComplexOrder, NewOrder, NewOrderLeg, Order, OrderEdit, Position
from .._generated.operations import (
    INSTRUMENTS_EQUITY_OPTION,
    INSTRUMENTS_FUTURE,
    INSTRUMENTS_FUTURE_OPTION,
    MARKET_DATA_BY_TYPE,
    POSITIONS_LIST,
)
from ..errors import BrokerageError, ErrorDetail, OrderRefusedError
from ..journal.caps import Usage
from ..protocol.order_status import TERMINAL
from .context import Context
from .guard import (
    CLOSING,
    OrderGuard,
    as_new_order,
    at_risk,
    net_of,
    priced_by_quote,
    quantity_of,
    refused_by,
    underlying_of,
    value_of,
)
from .lists import OrderLists
from .orders import asked_components

ONE = Decimal(1)
MAX_CONTRACTS = 10_000
BOOKING = timedelta(seconds=5)
"""How long a position may lag behind a fill."""
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

    Raises:
        OrderRefusedError: the order alone passes a cap, or it cannot be measured (code ``guard_refused``).
    """
    guard = context.guard
    if guard is None:
        return None
    measure = _Measure(context, guard, account_number, f"order {name}")
    if isinstance(order, NewComplexOrder):
        return await measure.usage(at_risk(order), components=asked_components(order))
    return await measure.usage(measure.known(None if order is None else at_risk(order)))


async def usage_of_replacement(
    context: Context, account_number: str, order_id: str, original: Order | None, edit: OrderEdit
) -> Usage | None:
    """Return the share of a replacement: what its value adds to that of the original. See `usage_of`."""
    guard = context.guard
    if guard is None:
        return None
    measure = _Measure(context, guard, account_number, f"the replacement of order {order_id}")
    terms = {"price": edit.price, "value": edit.value}
    new = None if original is None else as_new_order(original, **terms)
    old = None if original is None else as_new_order(original, price=original.price, value=original.value)
    return await measure.usage(measure.known(None if new is None else [new]), replaced=old, keeps_legs=True)


@attrs.frozen
class _Measure:
    context: Context
    guard: OrderGuard
    account_number: str
    what: str

    def known(self, orders: Sequence[NewOrder] | None) -> Sequence[NewOrder]:
        """Return orders whose terms are known."""
        if orders is None:
            raise self.refused(ErrorDetail("guard", "its terms could not be read, so that no cap can be checked"))
        return orders

    def refused(self, *details: ErrorDetail) -> OrderRefusedError:
        reason = "; ".join(f"{each.code}: {each.message}" for each in details)
        return OrderRefusedError(
            f"{self.what} of account {self.account_number}: {reason}",
            account_number=self.account_number,
            code="guard_refused",
            errors=details,
        )

    async def usage(
        self,
        orders: Sequence[NewOrder],
        *,
        components: Sequence[NewOrder] = (),
        replaced: NewOrder | None = None,
        keeps_legs: bool = False,
    ) -> Usage:
        """Measure the orders at risk. Lists and the cap on quantity bind all ``components`` of a complex order."""
        guard, components, is_valued = self.guard, components or orders, self.guard.values_orders
        needs_quote = any(priced_by_quote(order, guard) for order in orders)
        is_plain = all(leg.instrument_type == InstrumentType.EQUITY for order in components for leg in order.legs)
        if (needs_quote or not is_plain) and (details := list(refused_by(guard, components, (), ()))):
            raise self.refused(*details)  # what is not allowed needs no request
        try:
            prices = await self._prices(orders) if needs_quote else {}
            legs = [leg for order in orders for leg in order.legs] if is_valued else []
            multipliers = {leg.symbol: await self._multiplier(leg) for leg in legs}
        except BrokerageError as error:
            if isinstance(error, OrderRefusedError):
                raise
            name = self._needing_value() if is_valued else "max_order_quantity"
            raise self.refused(ErrorDetail(name, f"the order could not be valued: {error}", name)) from error
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
        if guard.max_net_quantity is None or keeps_legs:
            return usage
        nets = [net_of(order.legs, [abs(quantity_of(leg, order, prices)) for leg in order.legs]) for order in orders]
        return await self._with_net(usage, orders, nets, guard.max_net_quantity)

    def _needing_value(self) -> str:
        guard = self.guard
        names = ("max_order_value", "max_value_per_minute", "max_value_per_day")
        return next(name for name in names if getattr(guard, name) is not None)

    async def _prices(self, orders: Sequence[NewOrder]) -> dict[str, Decimal]:
        """Return the far side of the quote of each leg that needs one, all in one request."""
        legs = {leg.symbol: leg for each in orders if priced_by_quote(each, self.guard) for leg in each.legs}
        wanted = defaultdict[str, list[str]](list)
        for leg in legs.values():
            if (parameter := QUOTED.get(leg.instrument_type)) is not None:
                wanted[parameter].append(leg.symbol)
        quotes = await self.context.executor.execute(MARKET_DATA_BY_TYPE.bind(**wanted)) if wanted else []
        shown = {quote.symbol: quote for quote in quotes}
        prices = dict[str, Decimal]()
        for symbol, leg in legs.items():
            quote = shown.get(symbol)
            side = "ask" if leg.action.startswith("Buy") else "bid"
            price = None if quote is None else getattr(quote, side)
            if price is None or not price > 0:
                name = self._needing_value() if self.guard.values_orders else "max_order_quantity"
                text = f"{symbol} has no {side}, so that an order without a price has no value"
                raise self.refused(ErrorDetail(name, text, name))
            prices[symbol] = price
        return prices

    async def _contract(self, leg: NewOrderLeg) -> tuple[Decimal | None, str]:
        """Return the units of one contract, and the underlying, which are read once."""
        known, execute, symbol = self.context.contracts, self.context.executor.execute, leg.symbol
        if symbol in known:
            return known[symbol]
        units: Decimal | int | None = ONE
        underlying = underlying_of(symbol)
        match leg.instrument_type:
            case InstrumentType.EQUITY_OPTION:  # its root may differ from the underlying: SPXW, BRKB
                option = await execute(INSTRUMENTS_EQUITY_OPTION.bind(symbol=symbol))
                units, underlying = option.shares_per_contract, option.underlying_symbol or underlying
            case InstrumentType.FUTURE:
                units = (await execute(INSTRUMENTS_FUTURE.bind(symbol=symbol))).notional_multiplier
            case InstrumentType.FUTURE_OPTION:
                units = (await execute(INSTRUMENTS_FUTURE_OPTION.bind(symbol=symbol))).multiplier
        if len(known) >= MAX_CONTRACTS:
            known.clear()
        known[symbol] = (Decimal(units) if units else None, underlying)
        return known[symbol]

    async def _multiplier(self, leg: NewOrderLeg) -> Decimal:
        units, _ = await self._contract(leg)
        if units is None:
            name = self._needing_value()
            raise self.refused(ErrorDetail(name, f"{leg.symbol} shows no multiplier, so that it has no value", name))
        return units

    async def _with_net(self, usage: Usage, orders: Sequence[NewOrder], nets: Sequence[Decimal], cap: Decimal) -> Usage:
        """Add the net position: the lists are read before the positions, so that a fill in between counts twice."""
        name = "max_net_quantity"
        try:
            underlyings = {(await self._contract(leg))[1] for order in orders for leg in order.legs}
            if len(underlyings) != 1:
                text = f"an order must have one underlying, got {len(underlyings)}"
                raise self.refused(ErrorDetail(name, text, name))
            [underlying] = underlyings
            now = await self.context.journal.now()
            listed = await OrderLists(self.context.executor).live(self.account_number)
            positions = await self.context.executor.execute(POSITIONS_LIST.bind(account_number=self.account_number))
        except OrderRefusedError:
            raise
        except BrokerageError as error:
            raise self.refused(ErrorDetail(name, f"the net position could not be read: {error}", name)) from error
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
    underlying: str, listed: Sequence[Order], positions: Sequence[Position], now: datetime
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
        left = [Decimal(0)] * len(legs)
        if order.status not in TERMINAL and not waits:
            left = [
                (leg.quantity if leg.remaining_quantity is None else leg.remaining_quantity) or Decimal(0)
                for leg in legs
            ]
        for number, leg in enumerate(legs):  # fills that no position shows yet
            for fill in leg.fills or ():
                at, seen = fill.filled_at, booked.get(leg.symbol or "")
                if at is not None and now - at < BOOKING and (seen is None or seen < at):
                    left[number] += fill.quantity or Decimal(0)
        added = net_of(legs, left)
        bought, sold = bought + max(added, Decimal(0)), sold + max(-added, Decimal(0))
    return net + bought, sold - net
