"""Damage in the write-ahead log of SQLite that SQLite itself passes over in silence.

SQLite reads a log up to the first frame whose checksum does not hold and drops the rest: a crash in the middle of a
transaction leaves such a tail. Committed transactions behind damaged bytes are dropped the same way, without an error.

The two cases differ. Our files are written with ``synchronous = FULL``: a transaction is on disk before the next one
begins, so a crash tears the last transaction only. Each frame carries the running checksum of all frames before it. A
commit frame, at or behind the first broken frame, that another frame continues therefore belongs to a transaction that
was on disk, and has been damaged since. Damage in the last transaction looks like a crash and cannot be distinguished
from one; nor can a log that is missing or was cut off.

Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from pathlib import Path

import attrs

from .subject import Subject

__all__ = ["check_log", "damaged_frame"]

HEADER = struct.Struct(">8I")
FRAME = struct.Struct(">6I")
ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
"""Byte order of checksums by the magic number in the header."""
PAGE_SIZES = tuple(2**power for power in range(9, 17))


def check_log(path: Path, subject: Subject) -> None:
    """Raise the subject's error when committed transactions in the log of database ``path`` are behind damaged bytes.

    Another process may write to the log while it is read. A frame that was read half-written is complete in the second
    reading, because the frames behind it were written later; and a log that was begun again has another header.
    """
    log = path.with_name(f"{path.name}-wal")
    found = []
    for _ in range(2):
        try:
            content = log.read_bytes()
        except FileNotFoundError:
            return
        frame = damaged_frame(content)
        if frame is None:
            return
        found.append((frame, content[: HEADER.size]))
    if found[0] == found[1]:
        raise subject.error(
            f"{subject} is damaged: its write-ahead log {log.name} is broken at frame {found[0][0]}, and the entries "
            "behind that would be lost. Nothing was changed: restore both files from a backup, or move the log away to "
            f"go on without its entries{subject.loss}"
        )


def damaged_frame(content: bytes) -> int | None:
    """Return the number (from 1) of the first broken frame with committed transactions behind it, or None.

    0 stands for the header.
    """
    if len(content) < HEADER.size:
        return None
    magic, _, page_size, _, *salts, first, second = HEADER.unpack_from(content)
    order = ORDERS.get(magic)
    if order is None or page_size not in PAGE_SIZES or _checksum(content[:24], order, (0, 0)) != (first, second):
        logs = (_Frames(content, size, order) for size in PAGE_SIZES for order in ORDERS.values())
        return 0 if any(log.has_history(0) for log in logs) else None
    frames = _Frames(content, page_size, order)
    checksum, broken = (first, second), 0
    while broken < frames.count and frames.salts(broken) == salts and frames.continues(broken, checksum):
        checksum = frames.checksum(broken)
        broken += 1
    return broken + 1 if frames.has_history(broken, salts) else None


@attrs.frozen
class _Frames:
    """Frames of a log, numbered from 0."""

    content: bytes
    page_size: int
    order: str

    @property
    def count(self) -> int:
        return (len(self.content) - HEADER.size) // (FRAME.size + self.page_size)

    def salts(self, number: int) -> list[int]:
        return list(self._header(number)[2:4])

    def checksum(self, number: int) -> tuple[int, int]:
        header = self._header(number)
        return header[4], header[5]

    def continues(self, number: int, checksum: tuple[int, int]) -> bool:
        """Whether a frame is intact and follows one with this ``checksum``."""
        start = self._start(number)
        page = self.content[start + FRAME.size : start + FRAME.size + self.page_size]
        checksum = _checksum(self.content[start : start + 8], self.order, checksum)
        return _checksum(page, self.order, checksum) == self.checksum(number)

    def has_history(self, start: int, salts: list[int] | None = None) -> bool:
        """Whether a commit frame, from ``start`` on, is continued by an intact frame with the same ``salts``."""
        return any(
            self._header(number)[1] != 0
            and self.salts(number) == self.salts(number + 1)
            and salts in (None, self.salts(number))
            and self.continues(number + 1, self.checksum(number))
            for number in range(start, self.count - 1)
        )

    def _start(self, number: int) -> int:
        return HEADER.size + number * (FRAME.size + self.page_size)

    def _header(self, number: int) -> tuple[int, ...]:
        return FRAME.unpack_from(self.content, self._start(number))


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    """Return the running checksum of SQLite's log after ``data``."""
    first, second = start
    for even, odd in struct.iter_unpack(f"{order}2I", data):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
