"""Theoretical values of European options: Black-Scholes with a volatility for each strike and time to expiration.

The volatilities form a surface of Gatheral and Jacquier (SSVI, "Arbitrage-free SVI volatility surfaces", 2014), whose
parameters keep call prices convex in the strike and increasing in time. It is centred on the forward, so it moves with
the underlying. Therefore delta and gamma are derivatives of the price itself, volatility included.
"""

from __future__ import annotations

from math import erfc, exp, expm1, log, sqrt

import attrs

RATE: float = 0.04
"""Continuous interest rate."""
YEAR: float = 365 * 86400.0
"""Seconds of a year."""

_SKEW, _CURVATURE = -0.4, 0.6
"""Correlation and curvature of the surface; free of arbitrage while curvature * (1 + abs(skew)) is at most 2."""
_REVERSION = 3.0
_SPOT_STEP, _TIME_STEP, _VOLATILITY_STEP, _RATE_STEP = 1e-3, 1 / 365 / 24, 1e-4, 1e-5


@attrs.frozen
class Surface:
    """Volatilities of the options of one underlying, and its dividend yield.

    ``near`` is the volatility at the money of an option that expires soon, ``far`` of one that expires after years.
    A future has no ``dividend``: its price is the forward.
    """

    near: float
    far: float
    dividend: float | None = 0.0

    def forward(self, spot: float, years: float, rate: float = RATE) -> float:
        """Return the price of the underlying for delivery at a later time."""
        return spot if self.dividend is None else spot * exp((rate - self.dividend) * years)

    def volatility(self, strike: float, forward: float, years: float) -> float:
        at_the_money = self.far**2 * years - (self.near**2 - self.far**2) * expm1(-_REVERSION * years) / _REVERSION
        bent = _CURVATURE / sqrt(at_the_money * (1 + at_the_money)) * log(strike / forward)
        variance = at_the_money / 2 * (1 + _SKEW * bent + sqrt((bent + _SKEW) ** 2 + 1 - _SKEW**2))
        return sqrt(variance / years)


@attrs.frozen(kw_only=True)
class Theory:
    """Value of an option, and how it changes.

    ``delta`` and ``gamma`` are per dollar of the underlying, ``theta`` per day, ``vega`` and ``rho`` per percentage
    point of volatility and interest.
    """

    price: float
    volatility: float
    delta: float
    gamma: float
    theta: float
    vega: float
    rho: float


def price_of(
    surface: Surface, spot: float, strike: float, years: float, *, is_call: bool, rate: float = RATE, shift: float = 0.0
) -> float:
    """Return the value of an option, its volatility shifted. At its expiration, this is its exercise value."""
    sign = 1 if is_call else -1
    if years <= 0:
        return max(0.0, sign * (spot - strike))
    forward = surface.forward(spot, years, rate)
    deviation = (surface.volatility(strike, forward, years) + shift) * sqrt(years)
    upper = log(forward / strike) / deviation + deviation / 2
    worth = sign * (forward * _normal(sign * upper) - strike * _normal(sign * (upper - deviation)))
    return exp(-rate * years) * max(0.0, worth)


def theory_of(surface: Surface, spot: float, strike: float, years: float, *, is_call: bool) -> Theory:
    def price(spot: float = spot, years: float = years, **more: float) -> float:
        return price_of(surface, spot, strike, years, is_call=is_call, **more)

    here = price()
    if years <= 0:
        delta = 0.0 if here == 0 else 1.0 if is_call else -1.0
        return Theory(price=here, volatility=surface.near, delta=delta, gamma=0.0, theta=0.0, vega=0.0, rho=0.0)
    step = spot * _SPOT_STEP * min(1.0, sqrt(years))
    above, below = price(spot + step), price(spot - step)
    wider, later = price(shift=_VOLATILITY_STEP), price(years=years - min(_TIME_STEP, years))
    return Theory(
        price=here,
        volatility=surface.volatility(strike, surface.forward(spot, years), years),
        delta=(above - below) / (2 * step),
        gamma=(above - 2 * here + below) / step**2,
        theta=(later - here) / (min(_TIME_STEP, years) * 365),
        vega=(wider - here) / _VOLATILITY_STEP / 100,
        rho=(price(rate=RATE + _RATE_STEP) - here) / _RATE_STEP / 100,
    )


def _normal(x: float) -> float:
    return erfc(-x / sqrt(2)) / 2
