"""Session: checks calls, sends them and decodes the responses.

The generated endpoints call a `BrokerageSession`. Views of a client with other options are further sessions over
the same `Engine`, which holds everything that is shared: transport, lanes, tokens, retry budget, observers.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, Protocol, TypeVar, cast

from .._arguments import running_loop
from ..config import Environment
from ..errors import ConfigurationError, ResponseDecodeError
from ..observers import Event
from ..operation import BoundCall, Effect, Guard, Operation, Page, Shape
from ..protocol.decoding import codec
from ..protocol.decoding.codec import Decoded
from ..protocol.pagination import next_offset
from ..protocol.request import ACCEPT_VERSION, address_and_body
from ..protocol.response import RawResponse, Response, holds_error, note_arguments, read_error
from .call import Call
from .pager import OFFSET, OffsetPager
from .shared import MARKET_DATA, Closeable, Engine, Options

T = TypeVar("T")
E = TypeVar("E")


class BrokerageSession:
    """The `Executor` behind the endpoints of one client or view.

    Reads of market data and metrics go to ``market_data`` where there is one, a read-only session of another client.
    """

    __slots__ = ("engine", "market_data", "options")

    def __init__(self, engine: Engine, options: Options, market_data: BrokerageSession | None = None) -> None:
        self.engine: Engine = engine
        self.options: Options = options
        self.market_data: BrokerageSession | None = market_data

    async def execute(self, call: BoundCall[T], *, guard: Guard | None = None) -> T:
        """Make the call and return its decoded result, whole also where the service delivers it in pages.

        ``guard`` may withhold each send at the last moment.
        """
        running = self.start(call, guard=guard)
        found = await self._read(call, await running.run(), running)
        return found.value if found.pagination is None else await self._whole(call, found)

    async def fetch_if_changed(self, call: BoundCall[T], previous_body: bytes | None) -> tuple[T, bytes | None] | None:
        """Return the result and the body it was decoded from, or None if the body equals ``previous_body``."""
        running = self.start(call, previous_body)
        response = await running.run()
        if response.body == previous_body:
            return None
        found = await self._read(call, response, running)
        value = found.value if found.pagination is None else await self._whole(call, found)
        return value, response.body if value is found.value else None

    async def fetch(self, call: BoundCall[T], *, guard: Guard | None = None) -> Decoded[T]:
        """Make the call and return its result together with the pagination block and the context that came with it.

        A success whose body holds an error beside its data is raised as that error.
        """
        running = self.start(call, guard=guard)
        response = await running.run()
        return await self._read(call, response, running)

    async def raw(self, call: BoundCall[T], *, guard: Guard | None = None) -> RawResponse[T]:
        """Make the call and return its answer before it is decoded. Of a list that comes in pages, the one asked for.

        A success whose body is an error envelope of the service is raised as that error.
        """
        running = self.start(call, guard=guard)
        response = await running.run()
        if holds_error(response):
            response = running.without_token(response)
            raise note_arguments(read_error(call.operation, response, attempts=running.attempt), call)
        return RawResponse.of(call.operation, response, strict=self.options.strict)

    def paginate(self, call: BoundCall[list[E]]) -> OffsetPager[E]:
        """Return a pager over a paginated read. Nothing is sent yet."""
        return OffsetPager(self.fetch, call)

    def close_with_client(self, resource: Closeable) -> None:
        """Close ``resource`` when the client is closed, unless it is garbage-collected before."""
        self.engine.resources.add(resource)

    def on_event(self, event: Event) -> None:
        """Pass an event on to the observers of the client."""
        self.engine.observers.on_event(event)

    def start(self, call: BoundCall[Any], previous_body: bytes | None = None, guard: Guard | None = None) -> Call:
        """Check ``call`` and return it ready to run. Nothing is sent yet."""
        operation = call.operation
        options, environment, host, refusal = self.options, self.engine.environment, operation.host, None
        if self.market_data is not None and operation.effect is Effect.READ and _is_market_data(operation):
            return self.market_data.start(call, previous_body, guard)
        if options.read_only and operation.effect is Effect.MUTATE:
            refusal = "the client is read-only"
        elif operation.production_only and not environment.is_production:
            refusal = f"the {environment.name} environment does not offer this operation"
            if _is_market_data(operation):
                refusal += ": pass Client(market_data=), a client of production"
        elif host is not None and host not in environment.hosts:
            refusal = f"the address of the {host} is unknown: pass hosts={{{host!r}: 'https://...'}} to the Environment"
        if refusal is not None:
            raise ConfigurationError(refusal, operation=operation.name, method=operation.method, path=operation.path)
        loop = self.engine.enter()
        url, body = address_and_body(call, base_url=environment.address_of(host), strict=options.strict)
        headers = options.headers
        if operation.version is not None and options.own_versions and environment.is_production:
            headers = {**headers, ACCEPT_VERSION: operation.version}
        if body is not None:
            headers = {**headers, "Content-Type": "application/json"}
        deadline_at = None if options.deadline is None else loop.time() + options.deadline
        return Call(self.engine, options, call, operation, loop, deadline_at, url, headers, body, previous_body, guard)

    async def _whole(self, call: BoundCall[T], found: Decoded[T]) -> T:
        """Return the value, or all rows of a list that came as its first page only.

        Raises:
            ResponseDecodeError: the operation has no parameter to fetch the further pages.
        """
        block, operation = found.pagination, call.operation
        if block is None or operation.shape is not Shape.MANY:
            return found.value
        start = call.query.get(OFFSET)
        offset = block.page_offset or 0 if not isinstance(start, int) else start
        rows = cast("list[Any]", found.value)
        if next_offset(offset, None, len(rows), block) is None:
            return found.value
        if not any(parameter.wire == OFFSET for parameter in operation.parameters):
            reason = "$.pagination: the list has more pages than were read, and no parameter to fetch them"
            raise ResponseDecodeError(reason, json_path="$.pagination", operation=operation.name)
        pager: OffsetPager[Any] = OffsetPager(self.fetch, cast("BoundCall[list[Any]]", call))
        return cast("T", await pager.whole(Page(tuple(rows), block, offset)))

    @property
    def environment(self) -> Environment:
        """The service that is called."""
        return self.engine.environment

    def service_now(self) -> datetime | None:
        """Return the time by the service's clock, or None until an answer has shown it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a watcher may be made before its loop runs
            return None
        return self.engine.service_clock.now(loop.time())

    def service_time_is_stale(self) -> bool:
        """Return True if this machine seems to have slept since the last answer."""
        return self.engine.service_clock.is_stale(running_loop().time())

    async def _read(self, call: BoundCall[T], response: Response, running: Call) -> Decoded[T]:
        """Return the decoded success. Raise the error that its body holds beside the data."""
        operation, body = call.operation, response.body
        found: Decoded[T]
        try:
            if len(body) < codec.CHUNKED_FROM:
                found = codec.decode(operation, body, strict=self.options.strict)
            else:  # a huge list takes several steps, between which the event loop runs
                steps = codec.decode_chunks(operation, body, strict=self.options.strict)
                while True:
                    try:
                        next(steps)
                    except StopIteration as end:
                        found = end.value
                        break
                    await asyncio.sleep(0)
        except ResponseDecodeError as error:
            error.status, error.attempts = response.status, running.attempt
            raise
        if found.error:
            response = running.without_token(response)
            raise note_arguments(read_error(operation, response, attempts=running.attempt, decoded=found), call)
        return found


def _is_market_data(operation: Operation[Any]) -> bool:
    return operation.name.partition(".")[0] in MARKET_DATA


class Connected(Protocol):
    """The part of a client that watching and streaming need."""

    @property
    def session(self) -> BrokerageSession:
        """The session that makes its calls."""
        ...
