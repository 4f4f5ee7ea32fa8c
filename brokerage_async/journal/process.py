"""Guard against a journal that is used on both sides of a fork."""

from __future__ import annotations

import os

from .base import JournalError

__all__ = ["ProcessGuard"]


class ProcessGuard:
    """Remembers the process that first used a journal.

    A forked child shares the connections of its parent and has none of its threads: two processes that talk through
    one connection mix up their statements and answers.
    """

    __slots__ = ("_pid", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._pid: int | None = None

    @property
    def is_forked(self) -> bool:
        """Whether this process is not the one that first used the journal."""
        return self._pid is not None and self._pid != os.getpid()

    def check(self) -> None:
        """Raise JournalError in a forked process. The first call makes this process the journal's own."""
        if self.is_forked:
            raise JournalError(
                f"{self._what} was opened by process {self._pid}, from which process {os.getpid()} was forked: "
                "open a journal of its own in each process"
            )
        self._pid = os.getpid()
