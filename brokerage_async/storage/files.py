"""Files of an SQLite database: created for their owner only, and still the same ones at each statement."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import attrs

from .subject import Subject

__all__ = ["SIDE_FILES", "FileIdentity", "prepare"]

logger: logging.Logger = logging.getLogger("brokerage_async.storage")

SIDE_FILES = ("-wal", "-shm")
"""Files that SQLite keeps beside the database: its write-ahead log, and the index that processes share."""


def prepare(path: Path, subject: Subject) -> Path:
    """Create the file for its owner only if it is missing, and return its real path, without symbolic links.

    A link is followed. A file that others can access is used as it is, with
    a warning: its owner may have shared it with a group. SQLite gives the side files the mode of the database.

    Raises:
        BrokerageError: the file is not a regular file, or a side file is not one, which SQLite never makes.
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
            raise subject.unusable(f"{file} must be a regular file")
        if os.name == "posix" and status.st_mode & 0o077:
            mode = stat.S_IMODE(status.st_mode)
            logger.warning("%s can be accessed by other users (mode %04o): chmod 600 keeps it private", file, mode)
    return real


def _beside(path: Path, suffixes: Iterable[str] = SIDE_FILES) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in suffixes]


@attrs.frozen
class FileIdentity:
    """The files that a connection has opened, by device and inode.

    A connection whose file is moved, replaced or deleted goes on writing to the old file, and no later process finds
    those rows. The same holds for its write-ahead log.
    """

    subject: Subject
    files: dict[str, tuple[int, int] | None]

    @classmethod
    def of(cls, path: Path, real: Path, subject: Subject, *, beside: Iterable[str] = SIDE_FILES) -> FileIdentity:
        """Return the identity of the files at ``path`` now. ``real`` is the same path without symbolic links."""
        return cls(subject, {str(file): _inode(str(file)) for file in (path, *_beside(real, beside))})

    def check(self) -> None:
        """Raise the subject's error when a file is not the one that was opened."""
        for file, opened in self.files.items():
            found = _inode(file)
            if found is None or found != opened:
                fate = "moved or deleted" if found is None else "replaced"
                raise self.subject.unusable(
                    f"{file} was {fate} after it was opened: close the {self.subject.kind}, put the files back in "
                    "place, and open it again"
                )


def _inode(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
