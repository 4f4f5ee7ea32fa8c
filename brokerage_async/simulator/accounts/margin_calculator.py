"""Margin requirements and buying power, by simple rules whose figures always add up.

Buying power is the equity of an account, less the requirements of its positions, less the buying power reserved by its
working orders. Requirements: half of the value of shares (all of it in a cash account), the whole value of long
options, nothing for a call covered by shares, the maximum loss of a vertical spread, a fifth of the underlying's value
for an uncovered short option, and a fixed amount per future.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import attrs

from ..._generated.converters import BuyingPowerEffectWire
from ..._generated.models import InstrumentType, OptionType
from ..api.wire import money
from ..market.instrument import FUTURES, Instrument
from ..market.prices import Prices
from ..trading.fees import Fees, amounts, effect
from .accounts import Account

_ZERO = Decimal(0)
_CENT = Decimal("0.01")
UNCOVERED = Decimal("0.2")
"""Part of the underlying's value that an uncovered short option requires."""
_MAINTENANCE = Decimal("0.6")

Holding = tuple[Instrument, Decimal]
"""An instrument and a signed quantity."""

PriceOf = Callable[[Instrument], Decimal]


def merged(holdings: Iterable[Holding], trades: Iterable[Holding]) -> list[Holding]:
    """Return the holdings after trades."""
    after = {instrument.symbol: (instrument, quantity) for instrument, quantity in holdings}
    for instrument, quantity in trades:
        held = after.get(instrument.symbol, (instrument, _ZERO))[1]
        after[instrument.symbol] = (instrument, held + quantity)
    return list(after.values())


def requirement(holdings: Iterable[Holding], price_of: PriceOf, spot: Decimal, equity_rate: Decimal) -> Decimal:
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

    @property
    def change(self) -> Decimal:
        """Change of the buying power. Negative when the order needs some."""
        return -(self.margin_change + self.fees.total)

    @property
    def new(self) -> Decimal:
        return self.current + self.change

    def wire(self) -> BuyingPowerEffectWire:
        """Return the buying power effect of a placed-order response."""
        return BuyingPowerEffectWire(
            **self.comparison(), is_spread=self.is_spread, impact=money(abs(self.change)), effect=effect(-self.change)
        )

    def comparison(self) -> dict[str, Any]:
        """Return the figures before, after and of the order alone."""
        return amounts(
            change_in_margin_requirement=-self.margin_change,
            change_in_buying_power=self.change,
            current_buying_power=self.current,
            new_buying_power=self.new,
            isolated_order_margin_requirement=-self.isolated,
        )


class MarginCalculator:
    """Computes requirements and buying power at market prices."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._cache: dict[str, tuple[tuple[int, tuple[int, float]], Decimal]] = {}

    def pricer(self, now: float, agreed: Mapping[str, Decimal] | None = None) -> PriceOf:
        """Return a price function for ``now``: ``agreed`` prices by symbol, market prices otherwise."""
        prices = self._prices

        def price_of(instrument: Instrument) -> Decimal:
            price = agreed.get(instrument.symbol) if agreed else None
            return prices.price(instrument, now) if price is None else price

        return price_of

    def by_underlying(self, account: Account) -> dict[str, list[Holding]]:
        """Return the positions of an account, grouped by underlying."""
        groups: dict[str, list[Holding]] = {}
        for position in account.positions.values():
            groups.setdefault(position.instrument.underlying, []).append((position.instrument, position.quantity))
        return groups

    def required(
        self, account: Account, holdings: Iterable[Holding], underlying: str, price_of: PriceOf, now: float
    ) -> Decimal:
        """Return the requirement of holdings on one underlying, to the cent."""
        spot = self._prices.underlying_price(underlying, now)
        return requirement(holdings, price_of, spot, account.equity_rate).quantize(_CENT)

    def equity(self, account: Account, now: float) -> Decimal:
        """Return the equity of an account, to the cent."""
        price = self._prices.price
        worth = (position.worth(price(position.instrument, now)) for position in account.positions.values())
        return (account.cash + sum(worth, _ZERO)).quantize(_CENT)

    def total_required(self, account: Account, now: float) -> Decimal:
        """Return the requirement of all positions of an account, to the cent."""
        price_of = self.pricer(now)
        groups = self.by_underlying(account).items()
        return sum((self.required(account, held, underlying, price_of, now) for underlying, held in groups), _ZERO)

    def buying_power(self, account: Account, now: float) -> Decimal:
        """Return the remaining buying power of an account, to the cent."""
        key = account.version, self._prices.stamp(now)
        cached = self._cache.get(account.number)
        if cached is None or cached[0] != key:
            cached = key, self.equity(account, now) - self.total_required(account, now)
            self._cache[account.number] = cached
        return cached[1] - account.reserved

    def impact(
        self, account: Account, trades: Sequence[Holding], fees: Fees, agreed: Mapping[str, Decimal], now: float
    ) -> BuyingPowerImpact:
        """Return the effect of ``trades`` at ``agreed`` prices, market prices otherwise."""
        margin_change = isolated = _ZERO
        if trades:
            price_of, underlying = self.pricer(now, agreed), trades[0][0].underlying
            before = self.by_underlying(account).get(underlying, []) if account.positions else []
            margin_change = isolated = self.required(account, trades, underlying, price_of, now)
            if before:
                combined = self.required(account, merged(before, trades), underlying, price_of, now)
                margin_change = combined - self.required(account, before, underlying, price_of, now)
        return BuyingPowerImpact(
            current=self.buying_power(account, now),
            margin_change=margin_change,
            isolated=isolated,
            fees=fees,
            is_spread=len(trades) > 1,
        )

    def maintenance(self, required: Decimal) -> Decimal:
        """Return the maintenance part of an initial requirement, to the cent."""
        return (required * _MAINTENANCE).quantize(_CENT)
