"""Files of a fetch: a checkpoint that lets a killed one continue, and results that are put in place at once.

A checkpoint is lines of JSON: a header that names the fetch, then ``[key, rows]`` for each finished key; ``rows`` is
null for an unknown key. It only grows. The next run truncates an unfinished or damaged line and what follows it. Only
one run at a time may have the file open.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from .._values import readable
from ..errors import ConfigurationError
from ..storage.files import open_locked, replace_durably

encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode
decode: Callable[[bytes], tuple[str, list[dict[str, Any]] | None]] = msgspec.json.Decoder(
    tuple[str, list[dict[str, Any]] | None], float_hook=Decimal
).decode


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise an error of the system as ConfigurationError: ``path`` cannot be written, as on a full disk."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from None


class Checkpoint:
    """Finished keys of one fetch, and the positions of their rows in the file, which is locked until `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, int | None] = {}
        with writing(path):
            try:
                self._file = open_locked(path)
            except BlockingIOError:
                raise ConfigurationError(f"{path} is in use by another run") from None

    def close(self) -> None:
        """Close the file, which keeps the keys that were flushed."""
        with contextlib.suppress(OSError):  # of rows that a full disk did not take: they are fetched again
            self._file.close()

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, key: str, rows: list[Any] | None) -> None:
        """Record the rows of a key, or None for an unknown key. Lone surrogates become U+FFFD."""
        try:
            line = encode([key, rows])
        except UnicodeEncodeError:
            line = encode(readable([key, rows]))
        with writing(self.path):
            place = self._file.seek(0, os.SEEK_END)
            self._file.write(line + b"\n")
        self._places[key] = None if rows is None else place

    def flush(self) -> None:
        """Pass added rows to the operating system, so that they survive the end of this process."""
        with writing(self.path):
            self._file.flush()

    def found(self, key: str) -> bool:
        """Return whether the service knows a finished key."""
        return self._places[key] is not None

    def rows(self, key: str) -> list[Any]:
        """Return the rows of a finished key from the file. No rows for an unknown key."""
        place = self._places[key]
        if place is None:
            return []
        self._file.seek(place)
        return decode(self._file.readline())[1] or []

    def discard(self) -> None:
        """Remove the file and close it."""
        if sys.platform == "win32":  # which removes no open file
            self.close()
        with writing(self.path):
            self.path.unlink(missing_ok=True)
        self.close()

    def load(
        self,
        purpose: Mapping[str, object],
        *,
        restart: bool = False,
        remedy: str = "discard it with restart=True (on the console --restart)",
    ) -> None:
        """Read the keys that an earlier run finished, or write a header. Raise if it had another ``purpose``."""
        header = encode(purpose) + b"\n"
        if restart:
            with writing(self.path):
                self._file.truncate(0)
        self._file.seek(0)
        found = self._file.readline()
        if not header.startswith(found):
            try:
                other = msgspec.json.decode(found)
                differing = [f"{name} {other.get(name)!r} instead of {value!r}" for name, value in purpose.items()
                             if other.get(name) != value]  # fmt: skip
            except (msgspec.DecodeError, ValueError, AttributeError):
                differing = []
            got = "; ".join(differing) or repr(found[:300].decode(errors="replace").strip())
            raise ConfigurationError(
                f"{self.path} must belong to this fetch, got {got}: finish the earlier fetch, or {remedy}"
            )
        end = len(header) if found == header else 0
        if end:
            while (line := self._file.readline()).endswith(b"\n"):
                try:
                    key, rows = decode(line)
                except (msgspec.DecodeError, ValueError, RecursionError):
                    break  # it was not written whole
                self._places[key] = None if rows is None else end
                end += len(line)
        with writing(self.path):
            self._file.seek(end)
            self._file.truncate()
            if not end:
                self._file.write(header)
                self._file.flush()


def put_in_place(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make a file, and put it in place. A reader sees the old file or the whole new one."""
    aside = path.with_name(f".{path.name}.tmp")
    try:
        with writing(path):
            write(aside)
            replace_durably(path, aside)
    finally:
        aside.unlink(missing_ok=True)
