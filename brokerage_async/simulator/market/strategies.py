"""Strategies as positions of past days: strikes and expirations by rule, worth and delta by the simulated prices."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from math import exp, log, sqrt
from statistics import NormalDist

import attrs

from ..._generated.models import (
    BacktestDirection,
    BacktestLeg,
    BacktestLegType,
    BacktestSide,
    InstrumentType,
    OptionType,
    StrikeSelection,
)
from .calendar import local_date, monthly_expiration
from .equities import OptionDefinition, strike_step
from .instrument import Instrument, occ_symbol
from .prices import IMPLIED_VOLATILITY, Prices

__all__ = ["BY_OTHER_LEG", "HeldLeg", "Strategies", "is_option_leg"]

BY_OTHER_LEG = frozenset(
    {
        StrikeSelection.PERCENTAGE_OTM_RELATIVE,
        StrikeSelection.CURRENT_PRICE_OFFSET_RELATIVE,
        StrikeSelection.CURRENT_PRICE_EXACT_OFFSET_RELATIVE,
    }
)
"""Ways of choosing a strike that start from that of another leg."""

_NORMAL = NormalDist()
_MAX_DELTA = 0.999


def is_option_leg(leg: BacktestLeg) -> bool:
    """Return whether a leg is an option."""
    return leg.type == BacktestLegType.EQUITY_OPTION


@attrs.frozen
class HeldLeg:
    """Instrument with its quantity in units of the underlying, negative for a short position."""

    instrument: Instrument
    units: int

    @classmethod
    def of(cls, instrument: Instrument, direction: BacktestDirection, quantity: int) -> HeldLeg:
        """Return ``quantity`` shares or contracts, long or short."""
        units = quantity * int(instrument.multiplier)
        return cls(instrument, -units if direction == BacktestDirection.SHORT else units)


class Strategies:
    """Chooses the instruments of strategies, and values them at any time."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices

    def worth(self, legs: Sequence[HeldLeg], at: float) -> Decimal:
        """Return the amount that buying the legs costs, negative for a credit."""
        return sum((leg.units * self._price(leg.instrument, at) for leg in legs), Decimal(0))

    def delta(self, legs: Sequence[HeldLeg], at: float) -> float:
        """Return the change of the worth per dollar of the underlying, by the volatility that all prices imply."""
        return sum(leg.units * self._delta(leg.instrument, at) for leg in legs)

    def enter(self, symbol: str, legs: Sequence[BacktestLeg], at: float, *, exact: bool) -> list[HeldLeg] | None:
        """Return the positions of a strategy at its entry.

        None if a strike is not listed, or with ``exact`` no expiration is as many days away as a leg asks for.
        """
        today = local_date(at)
        strikes: dict[int, Decimal] = {}
        expirations: dict[int, date] = {}
        options = [number for number, leg in enumerate(legs) if is_option_leg(leg)]
        for number in sorted(options, key=lambda each: legs[each].strike_selection in BY_OTHER_LEG):
            leg = legs[number]
            expires = expirations[number] = _expiration(today, leg.days_until_expiration or 0)
            if exact and (expires - today).days != leg.days_until_expiration:
                return None
            strike = self._strike(symbol, leg, expires, strikes, at)
            if strike is None:
                return None
            strikes[number] = strike
        instruments = (
            _option(symbol, expirations[number], _right(leg), strikes[number]) if number in strikes else _shares(symbol)
            for number, leg in enumerate(legs)
        )
        return [
            HeldLeg.of(instrument, leg.direction or BacktestDirection.LONG, leg.quantity or 0)
            for instrument, leg in zip(instruments, legs, strict=True)
        ]

    def _price(self, instrument: Instrument, at: float) -> Decimal:
        """Return the price of an instrument; an option is worth no more than its exercise when it expires."""
        if instrument.strike is None or instrument.expires is None or local_date(at) < instrument.expires:
            return self._prices.price(instrument, at)
        spot = self._prices.underlying_price(instrument.underlying, at)
        is_call = instrument.option_type is OptionType.CALL
        return max(Decimal(0), spot - instrument.strike if is_call else instrument.strike - spot)

    def _delta(self, instrument: Instrument, at: float) -> float:
        if instrument.strike is None or instrument.expires is None:
            return 1.0
        spot, strike = float(self._prices.underlying_price(instrument.underlying, at)), float(instrument.strike)
        deviation = _deviation(local_date(at), instrument.expires)
        in_call = _NORMAL.cdf(log(spot / strike) / deviation + deviation / 2) if deviation else float(spot > strike)
        return in_call if instrument.option_type is OptionType.CALL else in_call - 1

    def _strike(
        self, symbol: str, leg: BacktestLeg, expires: date, strikes: dict[int, Decimal], at: float
    ) -> Decimal | None:
        """Return the listed strike nearest to the one that a leg asks for, None if it must be exact and is not."""
        spot = self._prices.underlying_price(symbol, at)
        step = strike_step(spot)
        way = leg.strike_selection
        base = strikes[leg.strike_relative_leg or 0] if way in BY_OTHER_LEG else spot
        if way == StrikeSelection.PREMIUM:
            return self._strike_by_premium(symbol, leg, expires, at)
        if way == StrikeSelection.DELTA:
            wanted = spot * Decimal(_moneyness(leg, _deviation(local_date(at), expires)))
        elif way in (StrikeSelection.PERCENTAGE_OTM, StrikeSelection.PERCENTAGE_OTM_RELATIVE):
            part = leg.percentage_otm or Decimal(0)
            wanted = base * (1 + part if _right(leg) is OptionType.CALL else 1 - part)
        else:
            wanted = base + (leg.current_price_offset or 0)
        if way == StrikeSelection.CURRENT_PRICE_EXACT_OFFSET_RELATIVE:
            return wanted if wanted > 0 and wanted % step == 0 else None
        return max(step, round(wanted / step) * step)

    def _strike_by_premium(self, symbol: str, leg: BacktestLeg, expires: date, at: float) -> Decimal:
        """Return the strike up to twice the spot price whose option costs about as much as a leg asks for."""
        spot, right = self._prices.underlying_price(symbol, at), _right(leg)
        step = strike_step(spot)
        sign = -1 if right is OptionType.CALL else 1  # the higher the strike, the cheaper a call

        def premium(number: int) -> Decimal:
            return sign * self._price(_option(symbol, expires, right, number * step), at)

        numbers = range(1, int(spot * 2 / step) + 2)
        wanted = sign * (leg.premium or Decimal(0))
        position = bisect.bisect_left(numbers, wanted, key=premium)
        nearest = numbers[max(0, position - 1) : position + 1]
        return step * min(nearest, key=lambda number: abs(premium(number) - wanted))


def _expiration(today: date, days: int) -> date:
    """Return the monthly expiration after today that is nearest to a number of days away."""
    months = (today.year * 12 + today.month - 1 + offset for offset in range(days // 30 + 3))
    ahead = (monthly_expiration(month // 12, month % 12 + 1) for month in months)
    return min((day for day in ahead if day > today), key=lambda day: abs((day - today).days - days))


def _deviation(today: date, expires: date) -> float:
    """Return the standard deviation of the logarithm of the underlying until an expiration."""
    return IMPLIED_VOLATILITY * sqrt(max(0, (expires - today).days) / 365)


def _moneyness(leg: BacktestLeg, deviation: float) -> float:
    """Return the ratio of strike to spot price at which an option has the delta of a leg."""
    delta = min(float(leg.delta or 0) / 100, _MAX_DELTA)
    of_call = delta if _right(leg) is OptionType.CALL else 1 - delta
    return exp(deviation * deviation / 2 - _NORMAL.inv_cdf(of_call) * deviation)


def _right(leg: BacktestLeg) -> OptionType:
    return OptionType.CALL if leg.side == BacktestSide.CALL else OptionType.PUT


def _shares(symbol: str) -> Instrument:
    return Instrument(symbol=symbol, instrument_type=InstrumentType.EQUITY, underlying=symbol)


def _option(symbol: str, expires: date, right: OptionType, strike: Decimal) -> Instrument:
    occ = occ_symbol(symbol.replace("/", ""), expires, right, strike)
    option = OptionDefinition(
        symbol=occ, underlying=symbol, expires=expires, option_type=right, strike=strike, active=True
    )
    return option.instrument()
