"""Operations that the simulator does not serve yet. It answers them with 501."""

from __future__ import annotations

__all__ = ["UNSERVED"]

UNSERVED: frozenset[str] = frozenset(
    {
        "accounts.customer",
        "accounts.get",
        "accounts.list",
        "accounts.trading_status",
        "balances.get",
        "balances.list",
        "balances.net_liq_history",
        "balances.snapshots",
        "margin.effective_requirement",
        "margin.public_configuration",
        "positions.list",
        "risk.position_limit",
        "risk.span_rows",
        "transactions.get",
        "transactions.total_fees",
    }
)
"""Names of the operations without a handler; an operation with one must not be listed."""
