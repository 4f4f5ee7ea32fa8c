"""Order entry: every order is placed once, or known to be unknown.

The service does not recognise a repeated order, and a request whose answer got lost may have been processed. So
`OrderEntry.place` writes each order down before it is sent, sends it once, and when no answer tells what became of
it, looks for its external identifier among the orders of the account.
"""

from .api import ChangeOutcome, LookPlan, OrderChange, OrderEntry, Outcome, Placement

__all__ = ["ChangeOutcome", "LookPlan", "OrderChange", "OrderEntry", "Outcome", "Placement"]
