"""Sets and maps of keys in little memory, which keep fetches of a million rows free of duplicates."""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from struct import Struct

_DIGEST = 10  # bytes: that any two of a million keys share a digest has a probability below 10**-12
_BUCKETS = 1 << 14
_HASH, _PAIR = Struct("<q"), Struct("<qq")


class CompactSet:
    """Set of strings that only grows, and reports whether a key is new.

    Up to some ``exact`` keys it is a plain set. Beyond, it keeps 10 bytes for each further key instead of the key: a
    million keys take some 16 MB, where a set of strings takes 130.
    """

    __slots__ = ("_buckets", "_exact", "_keys")

    def __init__(self, exact: int = 20_000) -> None:
        self._exact = exact
        self._keys: set[str] = set()
        self._buckets: defaultdict[int, bytearray] = defaultdict(bytearray)

    def add(self, key: str) -> bool:
        """Add ``key``. Return True if it is new."""
        if key in self._keys:
            return False
        if len(self._keys) < self._exact:
            self._keys.add(key)
            return True
        digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
        bucket = self._buckets[int.from_bytes(digest[:4], "big") % _BUCKETS]
        if _find(bucket, digest) >= 0:
            return False
        bucket += digest
        return True


class RowIndex:
    """Map from the identity of a row to its content, both as hashes of 64 bits.

    It keeps 16 bytes for each `put`: a million rows take some 20 MB, where a dict takes 130. Two rows that share both
    hashes are taken for the same row.
    """

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: defaultdict[int, bytearray] = defaultdict(bytearray)

    def __bool__(self) -> bool:
        return bool(self._buckets)

    def get(self, identity: int) -> int | None:
        """Return the content last stored for an identity, or None."""
        bucket = self._buckets.get(identity % _BUCKETS)
        at = -1 if bucket is None else _find(bucket, _HASH.pack(identity), _PAIR.size)
        return None if bucket is None or at < 0 else int(_PAIR.unpack_from(bucket, at)[1])

    def put(self, identity: int, content: int) -> None:
        """Store the content of an identity in place of any earlier one."""
        self._buckets[identity % _BUCKETS] += _PAIR.pack(identity, content)


def _find(bucket: bytearray, digest: bytes, width: int = _DIGEST) -> int:
    """Return the position of the last entry that starts with ``digest``, or -1. All entries have the same width."""
    at = bucket.rfind(digest)
    while at > 0 and at % width:  # a match that straddles two neighbours does not count
        at = bucket.rfind(digest, 0, at + len(digest) - 1)
    return at
