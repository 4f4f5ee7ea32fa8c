"""State of a watcher in an SQLite file of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .state import Standing, StoredChange, WatchStateError

if TYPE_CHECKING:
    from ..storage.sqlite_file import FileThread

__all__ = ["SqliteState"]


class SqliteState:
    """State of one watcher in the file ``path``, created (readable by its owner only) if it is missing.

    Pass it to a watcher, which opens it with the first change and releases it when it is closed::

        async with client.watch.orders("me", [account], state=SqliteState("watch.db")) as changes:
            async for change in changes:
                async with change:  # acknowledged at its end, unless it raises
                    ...

    Every acknowledgement is on disk when it returns. The file holds the items of the list (orders, positions), never a
    token. It belongs to one watcher at a time, of one list, and not on a network file system. A missing or empty file
    is a fresh start.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)
        self._absolute = self.path.absolute()  # wherever the process goes before it is opened
        self._thread: FileThread | None = None

    def __repr__(self) -> str:
        return f"SqliteState({str(self.path)!r})"

    async def open(self, feed: str) -> Standing:
        """Open the file for the watcher of ``feed``, and return its content."""
        from . import state_file  # SQLite is loaded when it is needed

        thread, subject = state_file.open_file(self.path, self._absolute)
        if self._thread is not None:
            raise subject.unusable(subject.in_use)
        self._thread = thread
        try:
            return await thread.run(state_file.reading(feed, subject))
        except BaseException:
            await self.aclose()
            raise

    async def report(self, changes: Sequence[StoredChange], begun: Mapping[str, Mapping[str, bytes]]) -> None:
        """Store changes before they are reported, and the first items of parts of the collection."""
        from . import state_file

        await self._opened().run(state_file.reporting(changes, begun))

    async def acknowledge(self, sequences: Iterable[int]) -> None:
        """Move changes to the acknowledged items; those that are acknowledged already are left out."""
        from . import state_file

        await self._opened().run(state_file.acknowledging(sequences))

    async def aclose(self) -> None:
        """Release the file, after the writes that are under way. Repeating it is harmless."""
        if (thread := self._thread) is not None:
            await thread.aclose()
            if self._thread is thread:
                self._thread = None

    def _opened(self) -> FileThread:
        if self._thread is None:
            raise WatchStateError(f"the watch state {self.path} is closed")
        return self._thread
