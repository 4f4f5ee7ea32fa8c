"""Something stored: as messages call it, and used by one process."""

from __future__ import annotations

import os

import attrs

from ..errors import BrokerageError


@attrs.define(kw_only=True)
class Subject:
    """A stored thing as messages call it, such as "the journal orders.db".

    Attributes:
        kind, name: the sort of thing, and its path or table.
        error: class of the errors to raise about it.
        loss: consequence of going on without a part of it, for the message about a damaged log.
        in_use: advice when another owner holds it. Empty if it may have several.

    It belongs to the process that first uses it. A forked child shares the connections of its parent and has none of
    its threads: two processes that talk through one connection mix up their statements and answers.
    """

    kind: str
    name: str | os.PathLike[str]
    error: type[BrokerageError]
    loss: str = ""
    in_use: str = ""
    _pid: int | None = attrs.field(default=None, init=False)

    def __str__(self) -> str:
        return f"the {self.kind} {self.name}"

    def unusable(self, reason: object) -> BrokerageError:
        """Return the error that it cannot be used, for this reason."""
        return self.error(f"{self} cannot be used: {reason}")

    @property
    def is_forked(self) -> bool:
        """Whether this process is not the one that first used it."""
        return self._pid is not None and self._pid != os.getpid()

    def check_process(self) -> None:
        """Raise its error in a forked process. The first call makes this process its owner."""
        if self.is_forked:
            raise self.error(
                f"{self} was opened by process {self._pid}, from which process {os.getpid()} was forked: open a "
                f"{self.kind} of its own in each process"
            )
        self._pid = os.getpid()
