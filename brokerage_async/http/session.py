"""Makes calls: checks them, sends them, decodes what comes back.

`BrokerageSession` is what the generated endpoints call. Views of a client with other options are further sessions over
the same `Engine`, which holds everything that is shared: transport, lanes, tokens, retry budget, observers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from ..errors import ConfigurationError, ResponseDecodeError
from ..operation import Effect, Guard, Operation, Shape
from ..protocol.decoding import codec
from ..protocol.decoding.codec import Decoded
from ..protocol.pagination import next_offset
from ..protocol.request import build
from ..protocol.response import Response, read_error
from .call import Call
from .pager import OFFSET, OffsetPager
from .shared import Closeable, Engine, Options

__all__ = ["BrokerageSession"]

T = TypeVar("T")
E = TypeVar("E")

logger: logging.Logger = logging.getLogger("brokerage_async.session")

SLICED_DECODE = 64 * 1024
"""Bodies from this size on are decoded in steps, between which the event loop runs."""


class BrokerageSession:
    """The `Executor` behind the endpoints of one client or view."""

    __slots__ = ("engine", "options")

    def __init__(self, engine: Engine, options: Options) -> None:
        self.engine: Engine = engine
        self.options: Options = options

    async def execute(
        self,
        operation: Operation[T],
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        body: object | None = None,
        guard: Guard | None = None,
    ) -> T:
        """Make the call and return its decoded result, whole also where the service delivers it in pages.

        ``guard`` may withhold each send at the last moment.
        """
        found = await self.fetch(operation, path=path, query=query, body=body, guard=guard)
        if _is_only_a_part(operation, found):
            return await self._gather(operation, path, query)
        return found.value

    async def reread(
        self,
        operation: Operation[T],
        last: bytes | None,
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> tuple[T, bytes | None] | None:
        """The result and the body that it was decoded from, or None when the body is the one given as ``last``."""
        call = self._call(operation, path, query, None, known=last)
        response = await call.run()
        if response.body == last:
            return None
        found = await self._read(operation, response, call.attempt)
        if _is_only_a_part(operation, found):
            return await self._gather(operation, path, query), None
        return found.value, response.body

    async def fetch(
        self,
        operation: Operation[T],
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        body: object | None = None,
        guard: Guard | None = None,
    ) -> Decoded[T]:
        """Make the call and return its result together with the pagination block and the context that came with it.

        A success whose body holds an error beside its data is raised as that error.
        """
        call = self._call(operation, path, query, body, guard=guard)
        response = await call.run()
        return await self._read(operation, response, call.attempt)

    def _call(
        self,
        operation: Operation[Any],
        path: Mapping[str, object] | None,
        query: Mapping[str, object] | None,
        body: object | None,
        known: bytes | None = None,
        guard: Guard | None = None,
    ) -> Call:
        """The call, checked and ready to run; nothing is sent yet."""
        loop = self.engine.enter()
        self._check_permitted(operation)
        options = self.options
        request = build(
            operation,
            base_url=self.engine.environment.base_url,
            headers=options.headers,
            path=path,
            query=query,
            body=body,
            strict=options.strict,
            known=known,
            guard=guard,
        )
        return Call(self.engine, options, operation, request, loop)

    def paginate(
        self,
        operation: Operation[list[E]],
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> OffsetPager[E]:
        """The pages of a paginated read; nothing is sent yet."""
        return OffsetPager(self.fetch, operation, path, query)

    def close_with_client(self, resource: Closeable) -> None:
        """Close ``resource`` when the client is closed, unless it is garbage-collected before."""
        self.engine.resources.add(resource)

    async def _gather(
        self, operation: Operation[T], path: Mapping[str, object] | None, query: Mapping[str, object] | None
    ) -> T:
        """Every page of a list that is documented to come whole, the first asked for again, so that they agree."""
        pager: OffsetPager[Any] = OffsetPager(self.fetch, cast("Operation[list[Any]]", operation), path, query)
        return cast("T", await pager.collect())

    def service_now(self) -> datetime | None:
        """Return the time by the service's clock, or None until an answer has shown it."""
        return self.engine.service_clock.now(asyncio.get_running_loop().time())

    def _check_permitted(self, operation: Operation[Any]) -> None:
        if self.options.read_only and operation.effect is Effect.MUTATE:
            reason = "the client is read-only"
        elif operation.production_only and not self.engine.environment.is_production:
            reason = f"the {self.engine.environment.name} environment does not offer this operation"
        else:
            return
        raise ConfigurationError(reason, operation=operation.name, method=operation.method, path=operation.path)

    async def _read(self, operation: Operation[T], response: Response, attempts: int) -> Decoded[T]:
        """What a success says, or the error that it is all the same."""
        body = response.body
        try:
            if len(body) < SLICED_DECODE:
                found = codec.decode(operation, body, strict=self.options.strict)
            else:
                found = await self._decode(operation, body)
        except ResponseDecodeError as error:
            error.status, error.attempts = response.status, attempts
            raise
        if found.error:
            raise read_error(operation, response, attempts=attempts)
        return found

    async def _decode(self, operation: Operation[T], body: bytes) -> Decoded[T]:
        steps = codec.decode_chunks(operation, body, strict=self.options.strict)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: Decoded[T] = end.value
                return found
            await asyncio.sleep(0)


def _is_only_a_part(operation: Operation[Any], found: Decoded[Any]) -> bool:
    """Whether a list that is documented to come whole has come as its first page, as newer interface versions do."""
    if operation.shape is not Shape.MANY or found.pagination is None:
        return False
    if next_offset(found.pagination.page_offset or 0, None, len(found.value), found.pagination) is None:
        return False
    if any(parameter.wire == OFFSET for parameter in operation.parameters):
        return True
    logger.warning("%s: the service says that there is more, but not how to ask for it", operation.name)
    return False
