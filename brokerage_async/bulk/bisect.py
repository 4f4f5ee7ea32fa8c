"""A batch that cannot be answered is halved until the keys at fault stand alone, unless the fault is no key's."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from ..errors import (
    APIError,
    AuthenticationError,
    InvalidRequestError,
    PermissionDeniedError,
    RateLimitError,
    ResponseDecodeError,
    ResponseLostError,
    ServerError,
    VersionNotSupportedError,
)
from .batches import Batch

__all__ = ["Fetch", "Halving", "Verdict", "judge"]

T = TypeVar("T")
Fetch = Callable[[tuple[str, ...]], Awaitable[Mapping[str, T]]]
"""Asks for one batch: takes a tuple of keys, returns the values by key."""

PATIENCE = 64
"""At least so many doubtful failures in a row, with no answer between them, before they are taken for the service's
fault and end a fetch. Large batches have more: halving one down to its first key alone fails once at every step."""

LONGEST_WAIT = 60.0
"""Seconds that a service may ask to be left alone; a longer wish is cut to this."""


class Verdict(enum.Enum):
    """Whose fault a failed batch is, and so what becomes of it."""

    KEYS = "one of the keys is at fault: halve the batch"
    DOUBT = "one of the keys or the service is at fault: halve the batch while other requests are answered"
    AGAIN = "no key is at fault and waiting helps: ask the same batch again"
    END = "nothing that is asked can be answered: end the fetch"


def judge(error: Exception) -> Verdict:
    """The verdict on an error of this library; anything that is no such error ends the fetch."""
    match error:
        case RateLimitError():
            return Verdict.AGAIN
        case ServerError() | ResponseLostError():
            return Verdict.DOUBT
        case AuthenticationError() | PermissionDeniedError() | VersionNotSupportedError():
            return Verdict.END
        case APIError() | InvalidRequestError() | ResponseDecodeError():
            return Verdict.KEYS
        case _:
            return Verdict.END


class Halving(Generic[T]):
    """Asks for the batches of one fetch.

    Args:
        fetch: asks for one batch.
        verdict: whose fault an error of ``fetch`` is.
        concurrency, size: how many batches are in flight at most, and how many keys a batch holds at most.
    """

    def __init__(
        self, fetch: Fetch[T], verdict: Callable[[Exception], Verdict], *, concurrency: int, size: int
    ) -> None:
        self._fetch = fetch
        self._verdict = verdict
        self._doubts = 0
        self._patience = max(PATIENCE, 2 * concurrency * size.bit_length())

    async def answer(self, batch: Batch[T]) -> None:
        """Ask for a batch, then for ever smaller parts of it, until every key is found, missing or failed.

        Raises whatever is no key's fault, and whatever has been in doubt for too long.
        """
        parts = [batch.keys]
        while parts:
            keys = parts.pop()
            try:
                answer = await self._fetch(keys)
            except Exception as error:
                verdict = self._verdict(error)
                self._doubts = self._doubts + 1 if verdict in (Verdict.DOUBT, Verdict.AGAIN) else 0
                if verdict is Verdict.END or self._doubts >= self._patience:
                    raise
                if verdict is Verdict.AGAIN:
                    await asyncio.sleep(min(getattr(error, "retry_after", None) or 1.0, LONGEST_WAIT))
                    parts.append(keys)
                elif len(keys) == 1:
                    batch.failed[keys[0]] = error
                else:
                    middle = len(keys) // 2
                    parts += keys[middle:], keys[:middle]
            else:
                self._doubts = 0
                _sort(keys, answer, batch)


def _sort(keys: tuple[str, ...], answer: Mapping[str, Any], batch: Batch[Any]) -> None:
    """Put what was answered where it belongs; keys that the answer lacks are missing."""
    found = {key: answer[key] for key in keys if key in answer}
    batch.found |= found
    if len(found) < len(keys):
        batch.missing += [key for key in keys if key not in found]
