"""Shared context of all orders of one `OrderEntry`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import attrs

from ..journal.base import EntryKey, Journal
from ..operation import Executor
from .claims import ClaimKeeper

__all__ = ["Context"]


@attrs.frozen(kw_only=True)
class Context:
    """Everything that placing, changing and recovering orders needs: client, journal, claims and clock.

    ``service_now`` returns the time by the service's clock, or None while it is not known.
    """

    executor: Executor
    journal: Journal
    claims: ClaimKeeper
    origin: str
    environment: str
    service_now: Callable[[], datetime | None]

    def now(self) -> datetime:
        """Return the time by the service's clock; by this machine's until an answer has shown it."""
        return self.service_now() or datetime.now(UTC)

    @property
    def lease(self) -> float:
        """Seconds for which a claim holds unless it is renewed."""
        return self.claims.lease

    def key_of(self, account_number: str, external_identifier: str) -> EntryKey:
        """Return the journal key of an order at this service."""
        return EntryKey(self.origin, self.environment, account_number, external_identifier)
