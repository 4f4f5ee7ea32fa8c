"""Simulated brokerage for tests, demonstrations and development.

`Simulator` serves the whole interface over HTTP on a loopback port, or in memory. It has a settable clock, scriptable
faults and a ledger of every request and order. The same seed gives the same history. `run` puts a whole program and the
brokerage on one virtual clock: a trading day in seconds.
"""

from .clock import Clock
from .control.api import CONTROL_ROUTES
from .faults import ConnectionAction, Fault, FaultPlan
from .ledger import Ledger, OrderRecord, RequestRecord
from .live import LiveQuotes, PriceClient
from .market.quotes import PricePath, PriceSource, Quote, RandomWalk, read_prices
from .recording import Snapshot
from .simulator import SimulatedCustomer, Simulator
from .virtual_run import DeadlockError, VirtualTimeError, run

__all__ = [
    "CONTROL_ROUTES", "Clock", "ConnectionAction", "DeadlockError", "Fault", "FaultPlan", "Ledger", "LiveQuotes",
    "OrderRecord", "PriceClient", "PricePath", "PriceSource", "Quote", "RandomWalk", "RequestRecord",
    "SimulatedCustomer", "Simulator", "Snapshot", "VirtualTimeError", "read_prices", "run",
]  # fmt: skip
