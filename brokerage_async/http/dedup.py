"""Set of keys in little memory, which keeps a walk over a million rows free of duplicates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b

__all__ = ["CompactSet"]

_DIGEST = 10  # bytes: that any two of a million keys share a digest has a probability below 10**-12
_BUCKETS = 1 << 14


class CompactSet:
    """Set of strings that only grows, and reports which keys are new.

    Up to some ``exact`` keys it is a plain set. Beyond, it keeps 10 bytes for each further key instead of the key: a
    million keys take some 16 MB, where a set of strings takes 130.
    """

    __slots__ = ("_buckets", "_exact", "_keys")

    def __init__(self, exact: int = 20_000) -> None:
        self._exact = exact
        self._keys: set[str] = set()
        self._buckets: defaultdict[int, bytearray] = defaultdict(bytearray)

    def __contains__(self, key: str) -> bool:
        if key in self._keys:
            return True
        return bool(self._buckets) and _holds(*self._place(key))

    def add(self, key: str) -> bool:
        """Add ``key``; return True if it is new."""
        if key in self._keys:
            return False
        if len(self._keys) < self._exact:
            self._keys.add(key)
            return True
        bucket, digest = self._place(key)
        if _holds(bucket, digest):
            return False
        bucket += digest
        return True

    def new(self, keys: Iterable[str]) -> list[str]:
        """Add ``keys``; return the new ones, each once and in order."""
        if len(self._keys) < self._exact:
            fresh = [key for key in dict.fromkeys(keys) if key not in self._keys]
            self._keys.update(fresh)
            return fresh
        return [key for key in keys if self.add(key)]

    def _place(self, key: str) -> tuple[bytearray, bytes]:
        digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
        return self._buckets[int.from_bytes(digest[:4], "big") % _BUCKETS], digest


def _holds(bucket: bytearray, digest: bytes) -> bool:
    at = bucket.find(digest)
    while at > 0 and at % _DIGEST:  # a match that straddles two neighbours does not count
        at = bucket.find(digest, at + 1)
    return at >= 0
