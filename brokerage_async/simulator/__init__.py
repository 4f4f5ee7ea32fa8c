"""Simulated brokerage for tests, demonstrations and development.

`Simulator` serves the whole interface over HTTP on a loopback port, or in memory. It has a settable clock, scriptable
faults and a ledger of every request and order. The same seed gives the same history.
"""

from .faults import Fault
from .ledger import Ledger
from .simulator import Simulator

__all__ = ["Fault", "Ledger", "Simulator"]
