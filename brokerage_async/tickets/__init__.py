"""Short constructors for common orders: plain ``NewOrder`` values, and ``NewComplexOrder`` values made of them.

Legs name action and instrument. The order adds price and duration::

    limit(buy_to_open("AAPL", 100), price="187.50")
    stop(sell_to_close("AAPL", 100), trigger="180")
    bracket(entry, profit=limit(*closing_legs(entry), price=195), loss=stop(*closing_legs(entry), trigger=180))

Amounts are ``Decimal``, ``int`` or plain digits. Orders that only close, but in brackets, ask for strict validation.
"""

from .orders import (
    bracket,
    buy,
    buy_to_close,
    buy_to_open,
    closing_legs,
    iron_condor,
    limit,
    market,
    notional,
    one_cancels_other,
    one_triggers_other,
    pair,
    sell,
    sell_to_close,
    sell_to_open,
    spread,
    stop,
    stop_limit,
    vertical,
)
from .ticks import prices_toward, round_to_tick

__all__ = [
    "bracket", "buy", "buy_to_close", "buy_to_open", "closing_legs", "iron_condor", "limit", "market", "notional",
    "one_cancels_other", "one_triggers_other", "pair", "prices_toward", "round_to_tick", "sell", "sell_to_close",
    "sell_to_open", "spread", "stop", "stop_limit", "vertical",
]  # fmt: skip
