"""Subject of the messages about a file or a database: its name, and the error to raise."""

from __future__ import annotations

import os

import attrs

from ..errors import BrokerageError

__all__ = ["Subject"]


@attrs.frozen(kw_only=True)
class Subject:
    """A stored thing as messages call it, such as "the journal orders.db".

    Attributes:
        kind: the sort of thing, such as "journal".
        name: its path, or the name of its table.
        error: class of the errors to raise about it.
        loss: consequence of going on without a part of it, for the message about a damaged log.
        in_use: advice when another owner holds it; empty if it may have several.
    """

    kind: str
    name: str | os.PathLike[str]
    error: type[BrokerageError]
    loss: str = ""
    in_use: str = ""

    def __str__(self) -> str:
        return f"the {self.kind} {self.name}"

    def unusable(self, reason: object) -> BrokerageError:
        """Return the error that it cannot be used, for this reason."""
        return self.error(f"{self} cannot be used: {reason}")
