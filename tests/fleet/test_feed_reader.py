"""Entries of a stream as the engine returns them."""

from __future__ import annotations

import pytest

from brokerage_async.fleet.feed import EntryCodec
from brokerage_async.fleet.feed_reader import Entry

ENTRY = [
    b"7-0",
    [b"key", b'["A1",["x",2]]', b"kind", b"added", b"at", b"2026-03-02T12:00:00+00:00", b"id", b"k", b"after", b"1"],
]


def test_entry_has_what_was_published() -> None:
    entry = Entry.read([ENTRY[0], [*ENTRY[1], b"published", b"1772452800000123"]])
    stored = entry.stored
    assert (stored.sequence, stored.key, stored.kind, stored.before, stored.after) == (
        7, '["A1",["x",2]]', "added", None, b"1",
    )  # fmt: skip
    assert (entry.key, entry.published) == ("k", 1772452800000123)


def test_entry_of_an_earlier_version_has_no_time() -> None:
    assert Entry.read(ENTRY).published is None


@pytest.mark.parametrize(("key", "expected"), [(None, ("A1", ("x", 2))), (lambda item: item + 1, 2)])
def test_restored_key_is_that_of_the_text_unless_there_is_a_function(key: object, expected: object) -> None:
    codec: EntryCodec[int] = EntryCodec(None, key)  # type: ignore[arg-type]
    change = codec.restore(Entry.read(ENTRY).stored)
    assert (change.key, change.after) == (expected, 1)
