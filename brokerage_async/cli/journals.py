"""The journal of a command: named, from the environment, or in a file of this user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..journal import PostgresJournal, SqliteJournal

JournalAt = Annotated[
    str | None,
    typer.Option(
        "--journal", help="file, or postgresql:// address, that orders are journaled in [env var: BROKERAGE_JOURNAL]"
    ),
]


def open_journal(given: str | None) -> SqliteJournal | PostgresJournal:
    """Return the journal that was named, by default a file of this user."""
    from ..journal import PostgresJournal, SqliteJournal

    place = given or os.environ.get("BROKERAGE_JOURNAL")
    if place and place.startswith(("postgres://", "postgresql://")):
        return PostgresJournal(place)
    if place:
        return SqliteJournal(place)
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "brokerage-async"
    folder.mkdir(parents=True, exist_ok=True)
    return SqliteJournal(folder / "orders.journal")
