"""Bisection of a failing batch until the offending keys are isolated."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from ..protocol.retry import Fault, Processed, verdict_of
from .batches import Batch

T = TypeVar("T")
FetchBatch = Callable[[tuple[str, ...]], Awaitable[Mapping[str, T]]]
"""Requests one batch: takes a tuple of keys, returns the values by key."""

MAX_CONSECUTIVE_AMBIGUOUS = 64
"""Minimum number of ambiguous failures in a row, with no success between them, that ends a fetch. Large batches allow
more: bisecting one down to its first key alone fails once at every step."""

MAX_THROTTLE_PAUSE = 60.0
"""Maximum seconds of a pause after a 429, whatever its ``Retry-After`` says."""


class FailureScope(enum.Enum):
    """What a failed batch says about its keys, and therefore how the fetch continues."""

    KEYS = "at least one key is at fault: bisect the batch"
    AMBIGUOUS = "a key or the service is at fault: bisect the batch as long as other requests succeed"
    DENIED = "a key or the whole fetch is denied: bisect the batch, and end the fetch if no request succeeds"
    THROTTLED = "no key is at fault and waiting helps: request the same batch again"
    FETCH = "no request can succeed: end the fetch"


def failure_scope(error: Exception) -> FailureScope:
    """Classify an error of this library. Any other exception ends the fetch."""
    verdict = verdict_of(error)
    match verdict.fault:
        case Fault.REQUEST:
            return FailureScope.KEYS
        case Fault.ACCESS:
            return FailureScope.DENIED
        case Fault.RATE:
            return FailureScope.THROTTLED
        case Fault.SERVICE | Fault.NETWORK if verdict.processed is not Processed.NO:
            return FailureScope.KEYS if verdict.processed is Processed.YES else FailureScope.AMBIGUOUS
    return FailureScope.FETCH


class Bisection(Generic[T]):
    """Resolves the batches of one fetch, splitting those that fail.

    Args:
        fetch: requests one batch.
        scope: classifies an error of ``fetch``.
        concurrency: maximum number of batches in flight.
        max_size: maximum number of keys in a batch.
    """

    def __init__(
        self,
        fetch: FetchBatch[T],
        scope: Callable[[Exception], FailureScope],
        *,
        concurrency: int,
        max_size: int,
    ) -> None:
        self._fetch = fetch
        self._scope = scope
        self._ambiguous = 0
        self._denied: Exception | None = None
        self._succeeded = False
        self._max_ambiguous = max(MAX_CONSECUTIVE_AMBIGUOUS, 2 * concurrency * max_size.bit_length())

    async def resolve(self, batch: Batch[T]) -> Batch[T]:
        """Request a batch, and bisect it until every key is resolved.

        Each key ends as found, missing or failed.

        Raises the errors that end the fetch, and the last of too many ambiguous failures in a row.
        """
        parts = [batch.keys]
        while parts:
            keys = parts.pop()
            try:
                answer = await self._fetch(keys)
            except Exception as error:
                parts += await self._parts_after(error, keys, batch)
            else:
                self._ambiguous, self._succeeded = 0, True
                found = {key: answer[key] for key in keys if key in answer}
                batch.found |= found
                batch.missing += [key for key in keys if key not in found]
        return batch

    def raise_if_denied(self) -> None:
        """Raise the last denial if no request has succeeded: then it was the fetch that was denied, not the keys."""
        if self._denied is not None and not self._succeeded:
            raise self._denied

    async def _parts_after(self, error: Exception, keys: tuple[str, ...], batch: Batch[T]) -> list[tuple[str, ...]]:
        """Return the parts to request next, or raise ``error``."""
        scope = self._scope(error)
        if scope is FailureScope.KEYS:
            self._ambiguous = 0
        elif scope is not FailureScope.DENIED or not self._succeeded:
            self._ambiguous += 1
        if scope is FailureScope.DENIED:
            self._denied = error
        if scope is FailureScope.FETCH or self._ambiguous >= self._max_ambiguous:
            raise error
        if scope is FailureScope.THROTTLED:
            await asyncio.sleep(min(getattr(error, "retry_after", None) or 1.0, MAX_THROTTLE_PAUSE))
            return [keys]
        if len(keys) == 1:
            batch.failed[keys[0]] = error
            return []
        middle = len(keys) // 2
        return [keys[middle:], keys[:middle]]
