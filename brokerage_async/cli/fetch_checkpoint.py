"""Checkpoint of a fetch on disk, from which an interrupted or killed run continues.

The file is lines of JSON: a header that names the fetch, then ``[key, rows]`` for each finished key; ``rows`` is null
for an unknown key. The file only grows. The next run truncates an unfinished line of a killed one. Only one run at a
time may have the file open.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from ..errors import ConfigurationError

__all__ = ["Checkpoint"]

encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode
decode: Callable[[bytes], Any] = msgspec.json.Decoder(float_hook=Decimal).decode


class Checkpoint:
    """Finished keys of one fetch, and the positions of their rows in the file.

    Args:
        path: the file; it is created if it is missing.
        purpose: description of the fetch and its source. A file with another purpose is rejected.

    Raises:
        ConfigurationError: the file belongs to another fetch, another run has it open, or the file cannot be opened.
    """

    def __init__(self, path: Path, purpose: Mapping[str, str]) -> None:
        self.path = path
        self._places: dict[str, int | None] = {}
        try:
            self._file: BinaryIO = path.open("a+b")
        except OSError as error:
            raise ConfigurationError(f"cannot write {path}: {error.strerror}") from None
        try:
            _lock(self._file)
            self._load(encode(purpose) + b"\n")
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, key: str, rows: list[Any] | None) -> None:
        """Record the rows of a key, or None for an unknown key. Lone surrogates become U+FFFD."""
        try:
            line = encode([key, rows])
        except UnicodeEncodeError:
            line = encode(_readable([key, rows]))
        place = self._file.seek(0, os.SEEK_END)
        self._file.write(line + b"\n")
        self._places[key] = None if rows is None else place

    def flush(self) -> None:
        """Pass added rows to the operating system, so that they survive the end of this process."""
        self._file.flush()

    def found(self, key: str) -> bool:
        """Return whether the service knows a finished key."""
        return self._places[key] is not None

    def rows(self, key: str) -> list[Any]:
        """Return the rows of a finished key from the file; no rows for an unknown key."""
        place = self._places[key]
        if place is None:
            return []
        self._file.seek(place)
        found: list[Any] = decode(self._file.readline())[1]
        return found

    def discard(self) -> None:
        """Close the file and remove it."""
        self._file.close()
        self.path.unlink()

    def _load(self, header: bytes) -> None:
        self._file.seek(0)
        found = self._file.readline()
        if not header.startswith(found):
            raise ConfigurationError(
                f"{self.path} must belong to this fetch, got {found[:300].decode(errors='replace').strip()}: "
                "finish that fetch, or discard it with --restart"
            )
        end = len(header) if found == header else 0
        if end:
            for key, place, after in self._entries():
                self._places[key] = place
                end = after
        self._file.seek(end)
        self._file.truncate()
        if not end:
            self._file.write(header)

    def _entries(self) -> Iterator[tuple[str, int | None, int]]:
        """Yield key, position of the rows and end of each line, up to the first incomplete one."""
        place = self._file.tell()
        while (line := self._file.readline()).endswith(b"\n"):
            try:
                key, rows = decode(line)
            except (msgspec.DecodeError, ValueError, TypeError):
                return
            yield key, None if rows is None else place, place + len(line)
            place += len(line)


def _lock(file: BinaryIO) -> None:
    """Lock the file until it is closed, if the system has file locks."""
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(f"{file.name} is in use by another run") from None


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_readable(item) for item in value]
    return {_readable(key): _readable(item) for key, item in value.items()} if isinstance(value, dict) else value
