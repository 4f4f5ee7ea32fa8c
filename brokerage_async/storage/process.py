"""Guard against a file or connection that is used on both sides of a fork."""

from __future__ import annotations

import os

from .subject import Subject

__all__ = ["ProcessGuard"]


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
