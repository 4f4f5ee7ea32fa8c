"""Something stored, as messages call it, and the guard against using it on both sides of a fork."""

from __future__ import annotations

import os

import attrs

from ..errors import BrokerageError


@attrs.frozen(kw_only=True)
class Subject:
    """A stored thing as messages call it, such as "the journal orders.db".

    Attributes:
        kind: the sort of thing, such as "journal".
        name: its path, or the name of its table.
        error: class of the errors to raise about it.
        loss: consequence of going on without a part of it, for the message about a damaged log.
        in_use: advice when another owner holds it. Empty if it may have several.
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


class ProcessGuard:
    """Remembers the process that first used something stored.

    A forked child shares the connections of its parent and has none of its threads: two processes that talk through
    one connection mix up their statements and answers.
    """

    __slots__ = ("_pid", "_subject")

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._pid: int | None = None

    @property
    def is_forked(self) -> bool:
        """Whether this process is not the one that first used it."""
        return self._pid is not None and self._pid != os.getpid()

    def check(self) -> None:
        """Raise the subject's error in a forked process. The first call makes this process its owner."""
        if self.is_forked:
            raise self._subject.error(
                f"{self._subject} was opened by process {self._pid}, from which process {os.getpid()} was forked: "
                f"open a {self._subject.kind} of its own in each process"
            )
        self._pid = os.getpid()
