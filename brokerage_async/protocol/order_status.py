"""Order statuses that end an order."""

from __future__ import annotations

__all__ = ["TERMINAL"]

TERMINAL: frozenset[str] = frozenset({"Filled", "Cancelled", "Expired", "Rejected", "Removed", "Partially Removed"})
"""Statuses after which an order no longer changes."""
