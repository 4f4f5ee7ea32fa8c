"""Life of one connection, however many consumers it has: connect, keep alive, reconnect, and close.

`Link` decides nothing about the protocol. Its two kinds do. `EventStream` is the iterator of one consumer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Self, TypeVar
from urllib.parse import urlsplit

import attrs

from .. import errors
from .._arguments import OTHER_LOOP, running_loop
from .._generated.endpoints import Endpoints
from .._secrets import Secret
from ..config import chance
from ..http.concurrency import end
from ..http.network import is_loopback
from ..http.session import BrokerageSession
from ..http.websocket import SocketTransport, WebSocket, check_socket_url
from ..protocol.request import DEFAULT_USER_AGENT
from ..protocol.retry import Backoff, Fault, verdict_of
from ..protocol.streams.account import AccountConnection
from ..protocol.streams.dxlink import DxLinkConnection
from ..protocol.streams.events import Gap
from .consumer import Sink, Tape

logger: logging.Logger = logging.getLogger("brokerage_async.stream")


class StreamAccess:
    """Parts of a client that streams use."""

    def __init__(self, session: BrokerageSession) -> None:
        self.session: BrokerageSession = session
        self.endpoints: Endpoints = Endpoints(session)

    @property
    def user_agent(self) -> str:
        return self.session.options.headers.get("User-Agent", DEFAULT_USER_AGENT)

    @property
    def strict(self) -> bool:
        return self.session.options.strict

    def now(self) -> datetime:
        """Return the time by the service's clock. By this machine's until an answer has shown it."""
        return self.session.service_now() or datetime.now(UTC)

    def account_url(self) -> str:
        """Return the address of the account stream, or raise ConfigurationError."""
        url = self.session.engine.environment.streamer_url
        if url is None:
            raise errors.ConfigurationError(
                "Environment.streamer_url must be the address of the account stream, got None: pass streamer_url=, "
                "or set BROKERAGE_STREAMER_URL"
            )
        return self.checked(url)

    def checked(self, url: str) -> str:
        """Return the address of a stream if a token may be sent there. See `check_socket_url`.

        A plain one beyond loopback follows ``base_url``: a client takes a plain one only with ``allow_http``.
        """
        base = urlsplit(self.session.engine.environment.base_url)
        return check_socket_url(url, allow_http=base.scheme == "http" and not is_loopback(base.hostname))

    async def token(self) -> Secret:
        tokens = self.session.engine.tokens
        return tokens.peek(asyncio.get_running_loop().time()) or await tokens.get()

    async def open_socket(self, url: str, timeout: float) -> WebSocket:
        """Return an open connection, or raise ConfigurationError if the transport of the client cannot open any."""
        transport = self.session.engine.transport
        if not isinstance(transport, SocketTransport):
            raise errors.ConfigurationError(
                f"transport must have a method open_socket for streams, got {type(transport).__name__}: "
                "see brokerage_async.http.websocket.SocketTransport"
            )
        return await transport.open_socket(url, user_agent=self.user_agent, timeout=timeout)


CONNECT_TIMEOUT = 15.0  # seconds to open a connection
SEND_TIMEOUT = 10.0  # seconds to hand a message to the network
STALE = "stale"  # reason of the gap after a connection that was open but mute
BACKOFF = Backoff(jitter=0.5)  # between two connections
MAX_QUIET_FAILURES = 5  # connections in a row that fail before the log warns of each
MAX_REFUSALS = 3  # refusals in a row, each with a fresh token, after which the streams end


def is_refusal(error: Exception) -> bool:
    """Return True if the service refused a token or a subscription: another connection may be taken."""
    return isinstance(error, errors.StreamRefusedError) or verdict_of(error).fault is Fault.CREDENTIALS


def is_fatal(error: Exception) -> bool:
    """Return True if reconnecting cannot help."""
    return verdict_of(error).lasts and not isinstance(error, errors.StreamRefusedError | errors.MessageTooLargeError)


C = TypeVar("C", AccountConnection, DxLinkConnection)
S = TypeVar("S", bound=Sink)
E = TypeVar("E")


@attrs.define(slots=False)
class RenewalDue(Exception):  # noqa: N818 - not an error: a planned end
    """The connection must be reopened at once.

    ``since`` is the time of the loop since when events may be missing, None for the last message.
    """

    reason: str = "the token was renewed"
    since: float | None = None


class Link(ABC, Generic[C, S]):
    """One connection of a client for all consumers of its kind.

    It is open while there are consumers. After a loss it is reopened, with a pause that doubles, and every consumer
    gets a `Gap`. ``is_ready`` says whether everything that the consumers asked for is subscribed.
    """

    def __init__(self, name: str, access: StreamAccess) -> None:
        access.session.close_with_client(self)
        self._name = name
        self.access: StreamAccess = access
        self._sinks: dict[S, None] = {}
        self._connection: C | None = None
        self._task: asyncio.Task[None] | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self.is_ready: bool = False
        self._is_careful = False  # after a message that was too large: the next one ends the streams
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._last_received: float | None = None
        self._ready_at: float | None = None
        self._has_served = False
        self._is_holding = False  # messages that are delivered at the end of this turn of the loop
        self._failure: Exception | None = None  # of one of these

    # Consumers

    def attach(self, sink: S) -> None:
        """Fill ``sink`` from now on. Connect if it is the first."""
        self._loop = loop = self.access.session.engine.enter()
        if self._closed:
            raise errors.ConfigurationError("the client is closed")
        self._sinks[sink] = None
        sink.now = self.access.now
        sink.leave = lambda: loop.call_soon(self.detach, sink)
        self.is_ready = False
        self._subscribe(sink)
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run(set(self._endings)), name=f"brokerage_async {self._name}")
            # Whoever else cancels the task must not leave its streams waiting.
            cancelled = errors.StreamError(f"the task of the {self._name} was cancelled")
            self._task.add_done_callback(lambda task: self._fail_all(cancelled) if task is self._task else None)

    def detach(self, sink: S) -> None:
        """Stop filling ``sink``. Disconnect if it was the last."""
        if sink not in self._sinks:
            return
        del self._sinks[sink]
        sink.leave = None  # no cycle keeps the buffer
        self._unsubscribe(sink)
        self._announce()
        self._wake.set()
        if not self._sinks and self._task is not None:
            ending, self._task = self._task, None
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
            ending.cancel()

    def check_loop(self) -> None:
        """Raise ConfigurationError in another event loop than the client's, where a wait would never end."""
        if self._loop is not None and self._loop is not running_loop():
            raise errors.ConfigurationError(OTHER_LOOP)

    def abandon(self, sink: S) -> None:
        """Detach ``sink`` in the next turn of the loop: the collector calls this anywhere, within a dispatch too."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self.detach, sink)

    async def wait_ready(self, sink: S) -> None:
        while True:
            sink.check()  # a refusal makes the others ready, and ends this one
            if sink.is_closed:
                raise errors.ConfigurationError("the stream is closed")
            if self.is_ready:
                return
            await self._changed.wait()

    async def join(self) -> None:
        """Wait until a connection without consumers is closed."""
        if endings := self._endings - {asyncio.current_task()}:
            self.check_loop()
            await asyncio.wait(endings)

    async def aclose(self) -> None:
        """End every stream, because the client is closed."""
        self._closed = True
        self._fail_all(errors.ConfigurationError("the client is closed"))
        await self.join()

    # Kinds of links

    @abstractmethod
    async def _open(self) -> tuple[WebSocket, C]:
        """Return a new connection and its protocol, with the subscriptions of all consumers."""

    @abstractmethod
    async def _messages(self, connection: C) -> Sequence[Secret]:
        """Return the messages that are due. Raise `RenewalDue` when the connection must be renewed."""

    @abstractmethod
    def _dispatch(self, source: Any, events: list[Any]) -> None:
        """Hand the events of one source to the sinks that want them."""

    @abstractmethod
    def _subscribe(self, sink: S) -> None:
        """Subscribe to what a new consumer wants."""

    def _unsubscribe(self, sink: S) -> None:
        """End the subscriptions that no other consumer wants."""

    def _refused(self, error: errors.StreamRefusedError) -> None:
        """Drop a token that the service has refused."""

    def _next_due(self, connection: C) -> float:
        return connection.due

    # Life

    async def _run(self, before: set[asyncio.Task[None]]) -> None:
        if before:
            await asyncio.wait(before)
        clock = running_loop().time
        failures = refusals = 0
        while self._sinks:
            reason, since = "the connection was lost", None
            try:
                await self._serve()
            except RenewalDue as due:
                failures, reason, since = -1, due.reason, due.since
            except Exception as error:
                if self._ready_at is not None and clock() - self._ready_at >= BACKOFF.maximum:
                    failures = 0  # the connection was ready long enough to count this loss as a new one
                refusals = 0 if self._ready_at is not None else refusals
                refusals += is_refusal(error)
                if isinstance(error, errors.MessageTooLargeError):
                    is_repeated, self._is_careful = self._is_careful, True
                    if is_repeated:
                        self._fail_all(error)
                        return
                is_misfit = self.access.strict and isinstance(error, errors.ResponseDecodeError)
                if is_fatal(error) or is_misfit or refusals >= MAX_REFUSALS:
                    self._fail_all(error)
                    return
                if isinstance(error, errors.StreamRefusedError):
                    self._refused(error)
                reason = str(error) if isinstance(error, errors.BrokerageError) else type(error).__name__
            failures += 1
            if self._has_served:
                self._lose(reason, since)
            if failures:
                pause = BACKOFF.pause(failures, chance())
                level = logging.INFO if failures < MAX_QUIET_FAILURES else logging.WARNING
                logger.log(level, "%s: %s; connecting in %.1f s", self._name, reason, pause)
                await asyncio.sleep(pause)

    async def _serve(self) -> None:
        """Keep one connection until it is lost."""
        self.is_ready, self._ready_at, self._has_served, self._failure = False, None, False, None
        socket, connection = await self._open()
        self._connection = connection
        reader = asyncio.ensure_future(self._read(socket, connection))
        reader.add_done_callback(lambda done: done.cancelled() or done.exception())  # else asyncio logs it
        reader.add_done_callback(lambda _: self._wake.set())
        try:
            while not reader.done() and self._failure is None:
                self._wake.clear()
                for message in await self._messages(connection):
                    try:
                        async with asyncio.timeout(SEND_TIMEOUT):
                            await socket.send(message)
                    except TimeoutError:
                        raise errors.TransportError(f"the network took no message for {SEND_TIMEOUT:g} s") from None
                self._check_ready(connection)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(self._next_due(connection)):
                        await self._wake.wait()
            if self._failure is not None:
                raise self._failure
            await reader
        finally:
            self._connection, self.is_ready = None, False
            try:
                await end(reader)
            finally:
                await socket.close()

    async def _read(self, socket: WebSocket, connection: C) -> None:
        loop = running_loop()
        clock = loop.time
        while True:
            try:
                data = await socket.receive()
            except errors.ResponseLostError as error:
                if connection.complaint is None:
                    raise
                text = f"{error}, after it had reported {connection.complaint}"
                kind = errors.StreamRefusedError if self._ready_at is None else errors.ResponseLostError
                raise kind(text) from error
            self._last_received = now = clock()
            for step, (source, events) in enumerate(connection.steps(data, now)):
                if step:
                    await asyncio.sleep(0)
                self._deliver(source, events)
            if connection.is_holding and not self._is_holding:
                self._is_holding = True
                loop.call_soon(self._end_turn, connection)
            if connection.must_send or not self.is_ready:
                self._wake.set()

    def _end_turn(self, connection: C) -> None:
        """Deliver what the connection has held, now that no further message is there."""
        self._is_holding = False
        try:
            for source, events in connection.held_steps():
                self._deliver(source, events)
        except Exception as error:
            self._failure = error
            self._wake.set()

    def _deliver(self, source: Any, events: list[Any]) -> None:
        self._has_served = True
        self._resume()
        self._dispatch(source, events)

    def _check_ready(self, connection: C) -> None:
        if connection.is_ready and not self.is_ready:
            self.is_ready = self._has_served = True
            if self._ready_at is None:
                self._ready_at = running_loop().time()
            self._resume()
            for sink in self._sinks:
                sink.release()
            self._announce()

    def _lose(self, reason: str, since: float | None) -> None:
        """Note the loss of a connection for every consumer."""
        self._interrupt(self._sinks, reason, since)

    def _interrupt(self, sinks: Iterable[S], reason: str, since: float | None = None) -> None:
        """Note for some consumers that events since a time, by default the last message, may be missing."""
        since = self._last_received if since is None else since
        moment = None if since is None else self.access.now() - timedelta(seconds=running_loop().time() - since)
        for sink in sinks:
            sink.lose(moment, reason)

    def _resume(self) -> None:
        for sink in self._sinks:
            if sink.gap is not None:
                sink.resume(held=not self.is_ready)

    def _announce(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _fail_all(self, error: Exception) -> None:
        for sink in list(self._sinks):
            sink.fail(error)
            self.detach(sink)


class EventStream(Generic[E]):
    """Async iterator over the events of a stream, with a `Gap` wherever some may be missing.

    It connects at the first use, and receives events from then on: enter it with ``async with`` to receive them before
    iterating. Close it with ``async with`` or `aclose`. One that is dropped unclosed ends when it is collected, with a
    ResourceWarning. A cancelled ``anext`` loses no event. All streams of one kind share one connection.
    """

    def __init__(self, link: Link[Any, Any], sink: Sink) -> None:
        self._link = link
        self._sink = sink
        self._is_attached = False

    @property
    def dropped(self) -> int:
        """Events that were dropped because the consumer was too slow. Conflated ones do not count."""
        return self._sink.buffer.dropped

    @property
    def interruption(self) -> Gap | None:
        """The gap that is under way, because the connection is lost. None while it is up, or was never made."""
        return self._sink.gap

    @property
    def waiting(self) -> int:
        """Events that wait for the consumer."""
        return len(self._sink.buffer)

    async def ready(self) -> Self:
        """Wait until the service has taken every subscription: events from then on are received.

        Raises:
            StreamError, TokenError, ConfigurationError: the stream ended.
        """
        await self._begin()
        await self._link.wait_ready(self._sink)
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        sink = self._sink
        buffer = sink.buffer
        if isinstance(buffer, Tape):
            raise errors.ConfigurationError("the stream gives batches: iterate over its batches()")
        if not self._is_attached:
            await self._begin()
        while True:
            if buffer and not sink.is_held:
                event: E = buffer.get()
                return event
            if sink.is_closed:
                raise StopAsyncIteration
            sink.check()
            self._link.check_loop()
            await sink.wait()

    async def aclose(self) -> None:
        """End the iteration now, even while it waits. The last stream of a connection closes it."""
        if self._sink.leave is not None:  # one that has left may be closed again in any event loop
            self._link.check_loop()
        self.leave()
        if self._is_attached:
            await self._link.join()

    def leave(self) -> None:
        """End the iteration now, without waiting for the end of the connection."""
        self._sink.close()
        if self._is_attached:
            self._link.detach(self._sink)

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _begin(self) -> None:
        if self._is_attached:
            self._link.check_loop()
        elif not self._sink.is_closed:
            self._link.attach(self._sink)
            self._is_attached = True

    def __del__(self, _warn: Any = warnings.warn) -> None:
        if getattr(self, "_is_attached", False) and not self._sink.is_closed and self._sink.error is None:
            self._link.abandon(self._sink)
            name = type(self).__name__
            _warn(f"unclosed {name}: use `async with`, or `await stream.aclose()`", ResourceWarning, source=self)
