"""Damage in the write-ahead log of SQLite that SQLite itself passes over in silence.

SQLite reads a log up to the first frame whose checksum does not hold and drops the rest: a crash in the middle of a
transaction leaves such a tail. Committed transactions behind damaged bytes are dropped the same way, without an error,
and ``PRAGMA integrity_check`` calls the remainder ok.

The two cases differ. Our files are written with ``synchronous = FULL``: a transaction is on disk before the next one
begins, so a crash tears the last transaction only. A commit frame, at or behind the first broken frame, that another
frame continues (its running checksum shows this) therefore belongs to a transaction that was on disk, and has been
damaged since. Damage in the last transaction looks like a crash, and a log that is missing or cut off like a clean end.

Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from .subject import Subject

HEADER = struct.Struct(">8I")
FRAME = struct.Struct(">6I")
ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
"""Byte order of checksums by the magic number in the header."""
PAGE_SIZES = tuple(2**power for power in range(9, 17))


def check_log(path: Path, subject: Subject) -> None:
    """Raise the subject's error when committed transactions in the log of database ``path`` are behind damaged bytes.

    Another process may write to the log while it is read. A frame that was read half-written is complete in the second
    reading, because the frames behind it were written later. And a log that was begun again has another header.
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
    """Return the number (0 is the header) of the first broken frame with committed transactions behind it, or None."""
    if len(content) < HEADER.size:
        return None
    magic, _, page_size, _, *salts, first, second = HEADER.unpack_from(content)
    order = ORDERS.get(magic, "")
    if order and page_size in PAGE_SIZES and _checksum(content[:24], order, (0, 0)) == (first, second):
        return _find(content, page_size, order, salts, (first, second))
    readings = [(size, each) for size in PAGE_SIZES for each in ORDERS.values()]
    return 0 if any(_find(content, *reading, None, (0, 0)) is not None for reading in readings) else None


def _find(
    content: bytes, page_size: int, order: str, salts: Sequence[int] | None, before: tuple[int, int]
) -> int | None:
    """Return that number, given the header's ``salts`` (None if it is broken) and its checksum, ``before``."""
    size = FRAME.size + page_size
    broken, commit, last_salts = (0 if salts is None else None), 0, salts
    for number, at in enumerate(range(HEADER.size, len(content) - size + 1, size), start=1):
        _, next_commit, *own_salts, first, second = FRAME.unpack_from(content, at)
        continues = False  # the frame before
        if own_salts == last_salts and (broken is None or (commit and salts in (None, own_salts))):
            summed = _checksum(content[at : at + 8], order, before)
            continues = _checksum(content[at + FRAME.size : at + size], order, summed) == (first, second)
        if broken is None and not continues:
            broken = number
        elif broken is not None and continues:
            return broken
        commit, last_salts, before = next_commit, own_salts, (first, second)
    return None


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    """Return the running checksum of SQLite's log after ``data``."""
    first, second = start
    for even, odd in struct.iter_unpack(f"{order}2I", data):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
