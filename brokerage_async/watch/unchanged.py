"""Reading the same thing again and again, and decoding it only when it has changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from .._generated.endpoints import Endpoints
from ..operation import Executor, Operation, Pager
from .poll import UNCHANGED, Fetch

__all__ = ["Rereading", "SameBody", "unless_same"]

T = TypeVar("T")
E = TypeVar("E")


class SameBody(Exception):  # noqa: N818 - a signal on its way to `unless_same`
    """An answer is byte for byte the one before."""


class Rereading:
    """An executor for one read that is repeated: an answer is decoded only if its bytes are not those of the last."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._last: bytes | None = None

    async def reread(
        self,
        operation: Operation[T],
        last: bytes | None,
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> tuple[T, bytes | None] | None:
        """As the executor under it."""
        return await self._executor.reread(operation, last, path=path, query=query)

    async def execute(
        self,
        operation: Operation[T],
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        body: object | None = None,
    ) -> T:
        """The decoded result; raises `SameBody` when the body is that of the last one."""
        found = await self._executor.reread(operation, self._last, path=path, query=query)
        if found is None:
            raise SameBody
        value, self._last = found
        return value

    def paginate(
        self,
        operation: Operation[list[E]],
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> Pager[E]:
        """The pages as they are, changed or not."""
        return self._executor.paginate(operation, path=path, query=query)


def unless_same(executor: Executor, read: Callable[[Endpoints], Awaitable[Iterable[T]]]) -> Fetch[T]:
    """A fetch for `poll` out of one call of an endpoint, that is spared decoding and comparing what has not changed."""
    api = Endpoints(Rereading(executor))

    async def fetch() -> Any:
        try:
            return await read(api)
        except SameBody:
            return UNCHANGED

    return fetch
