"""Operations that the simulator does not serve yet. It answers them with 501."""

from __future__ import annotations

__all__ = ["UNSERVED"]

UNSERVED: frozenset[str] = frozenset(
    {
        "backtests.available_dates",
        "backtests.cancel",
        "backtests.create",
        "backtests.get",
        "backtests.list",
        "backtests.simulate_trade",
    }
)
"""Names of the operations without a handler; an operation with one must not be listed."""
