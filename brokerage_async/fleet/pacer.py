"""Pacer of one lane: the way from a call to the shared budget."""

from __future__ import annotations

from typing import Protocol

from ..http.limiter import Lane
from .budget import Budget

__all__ = ["BudgetKeeper", "LanePacer"]


class BudgetKeeper(Protocol):
    """Asks the engine for what the lanes of this process need."""

    def attach(self, pacer: LanePacer, lane: Lane) -> None:
        """Wake ``lane`` whenever it may have permissions."""
        ...

    def detach(self, pacer: LanePacer) -> None:
        """Stop waking the lane."""
        ...

    def refused(self, *, is_trade: bool) -> None:
        """Note that a request has to wait for a permission."""
        ...

    def throttled(self, pause: float) -> None:
        """Note a 429 for all workers."""
        ...

    def refill(self) -> None:
        """Ask for tokens to hold, in the background."""
        ...


class LanePacer:
    """Pacer of one lane of one client.

    Attributes:
        is_trade: whether its requests go before reads.
        bridges: whether its requests may use the local share now, because the engine is slow.
    """

    __slots__ = ("_budget", "_keeper", "bridges", "is_trade")

    def __init__(self, keeper: BudgetKeeper, budget: Budget, *, is_trade: bool) -> None:
        self._keeper = keeper
        self._budget = budget
        self.is_trade: bool = is_trade
        self.bridges: bool = False

    def take(self, now: float) -> bool:
        """Spend the permission for one request, if there is one now."""
        budget = self._budget
        if budget.take(now, is_trade=self.is_trade) or (self.bridges and budget.bridge(now)):
            if budget.held <= budget.refill_at:
                self._keeper.refill()
            return True
        self._keeper.refused(is_trade=self.is_trade)
        return False

    def attach(self, lane: Lane) -> None:
        """Wake ``lane`` when it may have permissions."""
        self._keeper.attach(self, lane)

    def throttled(self, pause: float) -> None:
        """Note a 429 for all workers."""
        self._keeper.throttled(pause)

    def close(self) -> None:
        """Stop waking the lane."""
        self._keeper.detach(self)
