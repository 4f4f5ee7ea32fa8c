"""Short constructors for common orders: plain ``NewOrder`` values, and ``NewComplexOrder`` values made of them.

Legs name action and instrument; the order adds price and duration::

    limit(buy_to_open("AAPL", 100), price="187.50")
    stop(sell_to_close("AAPL", 100), trigger="180")
    vertical("AAPL", date(2026, 6, 12), "C", long=110, short=115, debit="1.85")
    bracket(entry, profit=limit(*closing_legs(entry), price=195), loss=stop(*closing_legs(entry), trigger=180))

Amounts are ``Decimal``, ``int`` or plain digits in a ``str``; a float is rejected, because it is rarely the intended
number. The published rules of the service are kept. Set other fields with ``attrs.evolve(order, ...)``.

An order whose legs all close, placed alone or in an OCO, asks for strict validation of the position effect: the service
refuses it rather than opening a position. ``attrs.evolve(order, advanced_instructions=None)`` switches that off.
"""

from .complex_orders import bracket, one_cancels_other, one_triggers_other, pair
from .legs import buy, buy_to_close, buy_to_open, closing_legs, sell, sell_to_close, sell_to_open
from .orders import limit, market, notional, stop, stop_limit
from .spreads import iron_condor, spread, vertical
from .ticks import round_to_tick

__all__ = [
    "bracket",
    "buy",
    "buy_to_close",
    "buy_to_open",
    "closing_legs",
    "iron_condor",
    "limit",
    "market",
    "notional",
    "one_cancels_other",
    "one_triggers_other",
    "pair",
    "round_to_tick",
    "sell",
    "sell_to_close",
    "sell_to_open",
    "spread",
    "stop",
    "stop_limit",
    "vertical",
]
