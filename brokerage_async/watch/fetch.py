"""Conditional fetches: an answer is decoded only if its bytes have changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from operator import attrgetter
from typing import Any, Literal, TypeVar, cast

from .._generated.endpoints import Endpoints
from ..operation import BoundCall, Executor, Guard, Pager
from .diff import UNCHANGED, Unchanged
from .feed import FetchItems

T = TypeVar("T")
E = TypeVar("E")


class BodyUnchanged(Exception):  # noqa: N818 - a signal to `conditional_fetch`
    """The body is byte for byte the previous one."""


class ConditionalExecutor:
    """Executor for one repeated read: a body equal to the previous one is not decoded."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._previous_body: bytes | None = None
        self._rows: dict[Any, Any] = {}
        self._missed: frozenset[Any] = frozenset()

    async def fetch_if_changed(self, call: BoundCall[T], previous_body: bytes | None) -> tuple[T, bytes | None] | None:
        """Delegate to the wrapped executor."""
        return await self._executor.fetch_if_changed(call, previous_body)

    async def execute(self, call: BoundCall[T], *, guard: Guard | None = None) -> T:
        """Return the decoded result, or raise `BodyUnchanged`."""
        found = await self._executor.fetch_if_changed(call, self._previous_body)
        if found is None:
            raise BodyUnchanged
        value, self._previous_body = found
        if self._previous_body is not None or not call.operation.identity:
            self._rows, self._missed = {}, frozenset()
            return value
        # A row may slip by between two pages though their totals agree: it is gone once two readings in a row lack it.
        rows, identity = cast("list[Any]", value), attrgetter(*call.operation.identity)
        latest = {identity(row): row for row in rows}
        missed = {name: row for name, row in self._rows.items() if name not in latest and name not in self._missed}
        self._rows, self._missed = latest | missed, frozenset(missed)
        return cast("T", [*rows, *missed.values()])

    def paginate(self, call: BoundCall[list[E]]) -> Pager[E]:
        """Return the pages, changed or not."""
        return self._executor.paginate(call)


def conditional_fetch(
    executor: Executor, read: Callable[[Endpoints], Awaitable[Iterable[T] | Literal[Unchanged.UNCHANGED]]]
) -> FetchItems[T]:
    """Build a fetch for `poll` from one endpoint call.

    It returns `UNCHANGED`, without decoding, if the body equals the previous one.
    """
    api = Endpoints(ConditionalExecutor(executor))

    async def fetch() -> Any:
        try:
            return await read(api)
        except BodyUnchanged:
            return UNCHANGED

    return fetch
