"""Entries of a stream as the engine returns them."""

from __future__ import annotations

import pytest

from brokerage_async.fleet.feed import EntryCodec
from brokerage_async.fleet.feed_reader import stored_of

ENTRY = [
    b"7-0",
    [b"key", b'["A1",["x",2]]', b"kind", b"added", b"at", b"2026-03-02T12:00:00+00:00", b"id", b"k", b"after", b"1"],
]


def test_stored_of_an_entry_has_what_was_published() -> None:
    stored, key = stored_of(ENTRY)
    assert (stored.sequence, stored.key, stored.kind, stored.before, stored.after) == (
        7, '["A1",["x",2]]', "added", None, b"1",
    )  # fmt: skip
    assert key == "k"


@pytest.mark.parametrize(("key", "expected"), [(None, ("A1", ("x", 2))), (lambda item: item + 1, 2)])
def test_restored_key_is_that_of_the_text_unless_there_is_a_function(key: object, expected: object) -> None:
    codec: EntryCodec[int] = EntryCodec(None, key)  # type: ignore[arg-type]
    change = codec.restore(stored_of(ENTRY)[0])
    assert (change.key, change.after) == (expected, 1)
