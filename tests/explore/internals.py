"""The internals that plants change; nothing else of the explorer depends on them."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from brokerage_async.errors import ServerError
from brokerage_async.operation import Effect
from brokerage_async.order_entry import decisions, submit
from brokerage_async.order_entry.decisions import Decision, Fate, Finding
from brokerage_async.protocol import retry

__all__ = ["hasty", "submit", "table_with", "trusting"]


def hasty(fate: Fate, finding: Finding | None = None, **rest: Any) -> Decision:
    """Send again without looking first."""
    again = fate is Fate.UNKNOWN and rest.get("resubmits_left", 0) > 0
    return Decision.RESUBMIT if again else decisions.decide(fate, finding, **rest)


def trusting(error: Any, **rest: Any) -> Fate:
    """Take a server error for a refusal."""
    return Fate.REFUSED if isinstance(error, ServerError) else decisions.fate_of(error, **rest)


def table_with(outcome: str) -> Any:
    """Return a patch of the retry table that repeats mutations after this outcome."""
    changed = retry.TABLE[Effect.MUTATE] | {retry.Outcome[outcome]: retry.Action.REPEAT}
    return patch.dict(retry.TABLE, {Effect.MUTATE: changed})
