"""Operations that the simulator does not serve yet. It answers them with 501."""

from __future__ import annotations

__all__ = ["UNSERVED"]

UNSERVED: frozenset[str] = frozenset(
    {
        "complex_orders.cancel",
        "complex_orders.dry_run",
        "complex_orders.edit_pairs_dry_run",
        "complex_orders.submit",
    }
)
"""Names of the operations without a handler; an operation with one must not be listed."""
