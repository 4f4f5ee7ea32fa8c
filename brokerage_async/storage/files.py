"""Files of one process at a time, and files that are put in place whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO

_LOCKED_BYTE = 1 << 30
"""Where Windows locks a file. It locks bytes, which need not be there."""


def open_locked(path: Path) -> BinaryIO:
    """Open a file, created if it is missing, to read and append. Lock it, or raise BlockingIOError if it is locked."""
    while True:
        file = path.open("a+b")
        try:
            if sys.platform == "win32":
                import msvcrt

                file.seek(_LOCKED_BYTE)  # far behind the content: others cannot read locked bytes
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                except OSError:
                    raise BlockingIOError(f"{path} is locked") from None
                return file
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_nlink:
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # it was removed before it was locked


def replace_durably(path: Path, aside: Path) -> None:
    """Rename ``aside`` to ``path``, through to the disk."""
    if aside.is_file():
        _sync(aside)
    aside.replace(path)
    if sys.platform != "win32":
        _sync(path.parent)  # before its source is removed


def _sync(path: Path) -> None:
    """Write a file or a folder through to the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
