"""Operations that the simulator does not serve yet. It answers them with 501."""

from __future__ import annotations

__all__ = ["UNSERVED"]

UNSERVED: frozenset[str] = frozenset()
"""Names of the operations without a handler; an operation with one must not be listed."""
