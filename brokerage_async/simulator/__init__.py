"""Simulated brokerage for tests, demonstrations and development.

`Simulator` serves the whole interface over HTTP on a loopback port, or in memory. It has a settable clock, scriptable
faults and a ledger of every request and order. The same seed gives the same history. `run` puts a whole program and the
brokerage on one virtual clock: a trading day in seconds.
"""

from .control.api import CONTROL_ROUTES
from .faults import Fault
from .ledger import Ledger
from .live import LiveQuotes, PriceClient
from .market.price_path import PricePath, read_prices
from .market.quotes import PriceSource
from .market.random_walk import RandomWalk
from .simulator import Simulator
from .virtual_run import DeadlockError, VirtualTimeError, run

__all__ = [
    "CONTROL_ROUTES", "DeadlockError", "Fault", "Ledger", "LiveQuotes", "PriceClient", "PricePath", "PriceSource",
    "RandomWalk", "Simulator", "VirtualTimeError", "read_prices", "run",
]  # fmt: skip
