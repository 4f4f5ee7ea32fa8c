"""Files of an SQLite journal: created for their owner only, and still the same ones at each statement."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

import attrs

from .base import JournalError

__all__ = ["FileIdentity", "prepare"]

logger: logging.Logger = logging.getLogger("brokerage_async.journal")

SIDE_FILES = ("-wal", "-shm")
"""Files that SQLite keeps beside the database: its write-ahead log, and the index that processes share."""


def prepare(path: Path) -> Path:
    """Create the file for its owner only if it is missing, and return its real path, without symbolic links.

    A link is followed: the journal is the file that it points to. A file that others can access is used as it is, with
    a warning: its owner may have shared it with a group. SQLite gives the side files the mode of the database.

    Raises:
        JournalError: the file is not a regular file, or a side file is not one, which SQLite never makes.
        OSError: the file cannot be created.
    """
    real = Path(os.path.realpath(path))
    with suppress(FileExistsError):
        os.close(os.open(real, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    for file in (real, *_beside(real)):
        try:
            status = file.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode):
            raise JournalError(f"the journal {path} cannot be used: {file} must be a regular file")
        if os.name == "posix" and status.st_mode & 0o077:
            mode = stat.S_IMODE(status.st_mode)
            logger.warning("%s can be accessed by other users (mode %04o): chmod 600 keeps orders private", file, mode)
    return real


def _beside(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in SIDE_FILES]


@attrs.frozen
class FileIdentity:
    """The files that a connection has opened, by device and inode.

    A journal whose file is moved, replaced or deleted goes on writing to the old file, and no later process finds
    those entries. The same holds for its write-ahead log.
    """

    path: Path
    files: dict[str, tuple[int, int]]

    @classmethod
    def of(cls, path: Path, real: Path) -> FileIdentity:
        """Return the identity of the files at ``path`` now. ``real`` is the same path without symbolic links."""
        return cls(path, {str(file): _inode(path, str(file)) for file in (path, *_beside(real))})

    def check(self) -> None:
        """Raise JournalError when a file is not the one that was opened."""
        for file, inode in self.files.items():
            if _inode(self.path, file) != inode:
                raise JournalError(f"{_gone(self.path, file)} replaced {AFTERWARDS}")


AFTERWARDS = "after it was opened: close the journal, put the files back in place, and open it again"


def _inode(path: Path, file: str) -> tuple[int, int]:
    try:
        status = os.stat(file)
    except FileNotFoundError:
        raise JournalError(f"{_gone(path, file)} moved or deleted {AFTERWARDS}") from None
    return status.st_dev, status.st_ino


def _gone(path: Path, file: str) -> str:
    return f"the journal {path} cannot be used: {file} was"
