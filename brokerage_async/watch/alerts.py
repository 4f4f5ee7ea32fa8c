"""Quote alerts: the stages of their life, derived from their timestamps."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Protocol, TypeVar

import attrs

from .diff import Change

__all__ = ["AlertKind", "alert_changes"]


class AlertKind(enum.StrEnum):
    """Kind of change of a quote alert, in the order of its life."""

    CREATED = "created"
    TRIGGERED = "triggered"
    COMPLETED = "completed"
    EXPIRED = "expired"
    DISMISSED = "dismissed"


class Timestamped(Protocol):
    """Timestamps of a quote alert, None until the stage is reached."""

    @property
    def created_at(self) -> datetime | None: ...
    @property
    def triggered_at(self) -> datetime | None: ...
    @property
    def completed_at(self) -> datetime | None: ...
    @property
    def expired_at(self) -> datetime | None: ...
    @property
    def dismissed_at(self) -> datetime | None: ...


A = TypeVar("A", bound=Timestamped)


def alert_changes(change: Change[A]) -> tuple[Change[A], ...]:
    """Split ``change`` into one change per timestamp set since.

    They come in the order of `AlertKind`. A new alert counts as created. A change that sets no timestamp, or that
    removes the alert, is returned as it is.
    """
    before, after = change.before, change.after
    if after is None:
        return (change,)
    kinds = [
        kind
        for kind in AlertKind
        if (getattr(after, f"{kind}_at") is not None and (before is None or getattr(before, f"{kind}_at") is None))
        or (kind is AlertKind.CREATED and before is None)
    ]
    return tuple(attrs.evolve(change, kind=kind) for kind in kinds) or (change,)
