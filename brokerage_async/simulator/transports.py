"""Ways to reach the brokerage: an in-memory transport, and a loopback server for real HTTP and WebSockets.

The transport passes requests and the messages of streams on without a socket. It uses the running event loop's time, so
that client and brokerage can share a virtual clock. The server is guarded against web pages.
"""

from __future__ import annotations

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Container
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

import attrs
from aiohttp import WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError

from .._secrets import Secret
from ..errors import RequestNotSentError, ResponseLostError
from ..protocol.request import Request
from ..protocol.response import Response
from .api.brokerage import Brokerage, ServedRequest
from .api.request_parser import request_target
from .api.wire import RefusedError, dated
from .clock import Clock
from .faults import ConnectionAction, Fault
from .streams.session import Session

MAX_NAP = 60.0
"""Longest wait in seconds between two looks at the clock."""


class Pump:
    """Task that advances the brokerage while there are connections."""

    def __init__(self, brokerage: Brokerage, clock: Clock) -> None:
        self._brokerage = brokerage
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Run until the last connection is closed."""
        if self._task is None or self._task.done():
            self._wake = asyncio.Event()
            self._clock.on_advance = self._wake.set
            self._task = asyncio.get_running_loop().create_task(self._run(), name="simulator streams")
        self._brokerage.state.event_queue.on_schedule = lambda _: self._wake.set()  # another queue after a restore
        self._wake.set()

    async def stop(self) -> None:
        if (task := self._end()) is not None:
            await asyncio.wait({task})

    def check(self) -> None:
        """End the task after the last connection."""
        if not self._brokerage.streams.sessions:
            self._end()

    def _end(self) -> asyncio.Task[None] | None:
        task, self._task = self._task, None
        self._brokerage.state.event_queue.on_schedule = self._clock.on_advance = None
        if task is not None:
            task.cancel()
        return task

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            now = self._clock.now()
            self._brokerage.advance(now)
            due, speed = self._brokerage.state.event_queue.next_due, self._clock.speed
            nap = MAX_NAP if due is None or not speed else min(MAX_NAP, max(0.0, due - now) / speed)
            with suppress(TimeoutError):
                async with asyncio.timeout(nap):
                    await self._wake.wait()


class MemorySocket:
    """Connection to a session. Messages of the client arrive in the loop's next turn, the session's after their delay.

    `LoopbackServer` puts one behind each WebSocket.
    """

    def __init__(self, brokerage: Brokerage, clock: Clock, session: Session, pump: Pump) -> None:
        self._brokerage = brokerage
        self._clock = clock
        self._session = session
        self._pump = pump
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Queue[str | None] = asyncio.Queue()
        self._is_closed = False
        session.connect(self._deliver, self._end)
        pump.start()

    async def send(self, message: str | Secret) -> None:
        """Send a message. Raise ResponseLostError if the connection is closed."""
        if self._is_closed:
            raise ResponseLostError("simulated: the connection is closed")
        self._loop.call_soon(self.take, message)  # where a debug log of the loop shows no secret

    def take(self, message: str | bytes | Secret) -> None:
        """Let a message of the client arrive now, unless the connection is closed."""
        if not self._is_closed:
            now = self._clock.now()
            self._brokerage.advance(now)
            self._session.receive(message.reveal() if isinstance(message, Secret) else message, now)

    async def receive(self) -> str:
        """Return the next message. Raise ResponseLostError once the connection is closed."""
        message = await self._arrived.get()
        if message is None:
            self._arrived.put_nowait(None)  # for other receivers, and later calls
            raise ResponseLostError("simulated: the service closed the connection")
        return message

    async def close(self) -> None:
        self._end()
        self._brokerage.streams.forget(self._session)
        self._pump.check()

    def _deliver(self, message: str, delay: float) -> None:
        if delay > 0:
            self._loop.call_later(delay, self._arrive, message)
        else:
            self._arrive(message)

    def _arrive(self, message: str) -> None:
        if not self._is_closed:
            self._arrived.put_nowait(message)

    def _end(self) -> None:
        self._is_closed = True
        self._arrived.put_nowait(None)


Latency = float | Callable[[Request], float]
"""Seconds per request, the same for all or by request."""


def met(brokerage: Brokerage, request: Request, wait: Callable[[Request], float]) -> tuple[Fault | None, float, float]:
    """Return the fault that a request meets, if any, and the seconds until it arrives and then until its answer."""
    fault, half = brokerage.faults.take(request.method, request_target(request.url)), wait(request) / 2
    return (fault, half, half) if fault is None else (fault, half + fault.delay, half + fault.delay_after)


@attrs.define(eq=False, repr=False, slots=False)
class InMemoryTransport:
    """Transport to a simulated brokerage in the same process.

    Half of the latency passes before a request is processed, the other half after. A request on its way is processed
    even if its sender stops waiting, as on a real network.
    """

    _brokerage: Brokerage
    _clock: Clock
    _latency: Callable[[Request], float]
    _pump: Pump
    _closed: bool = attrs.field(init=False, default=False)

    async def send(self, request: Request) -> Response:
        """Send ``request`` once and return the response.

        Raises:
            RequestNotSentError: the connection was refused.
            ResponseLostError: the connection dropped, or no complete response came within ``request.timeout``.
        """
        if self._closed:
            raise RequestNotSentError("transport is closed")
        request = request.revealed()
        self._clock.now()  # Time starts with the first request, not with its arrival.
        fault, before, after = met(self._brokerage, request, self._latency)
        if fault is not None and fault.connection_action is ConnectionAction.REFUSE:
            self._brokerage.serve(request, self._clock.now(), fault).record.delivered = False
            raise RequestNotSentError("simulated: connection refused")
        time = asyncio.get_running_loop().time
        sent = time()
        served = await self._arrive(request, fault, before)
        served.record.delivered = False
        left = None if request.timeout is None else request.timeout - before
        try:
            if served.connection_action is ConnectionAction.HANG or (left is not None and left <= after):
                if left is None:
                    await asyncio.get_running_loop().create_future()
                await asyncio.sleep(max(0.0, left or 0.0))
                raise ResponseLostError("simulated: no response in time")
            if after > 0:
                await asyncio.sleep(after)
        finally:
            served.record.elapsed = time() - sent
        response = served.response
        if served.connection_action is ConnectionAction.DROP or response is None:
            raise ResponseLostError("simulated: connection dropped")
        if served.connection_action is ConnectionAction.TRUNCATE:
            raise ResponseLostError("simulated: connection dropped within the response body")
        served.record.delivered = True
        return dated(response, self._clock.now())

    async def open_socket(self, url: str, *, user_agent: str, timeout: float) -> MemorySocket:
        """Open a stream. Raise RequestNotSentError if nothing is served at that address."""
        if self._closed:
            raise RequestNotSentError("transport is closed")
        session = self._brokerage.streams.open(urlsplit(url).path, self._clock.now())
        if session is None:
            raise RequestNotSentError(f"simulated: no stream at {url}")
        return MemorySocket(self._brokerage, self._clock, session, self._pump)

    async def close(self) -> None:
        """Reject further requests. Those on their way are still processed."""
        self._closed = True

    async def _arrive(self, request: Request, fault: Fault | None, before: float) -> ServedRequest:
        """Process the request once it arrives, even if its sender has stopped waiting."""
        if before <= 0:
            return self._brokerage.serve(request, self._clock.now(), fault)
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[ServedRequest] = loop.create_future()

        def process() -> None:
            served = self._brokerage.serve(request, self._clock.now(), fault)
            if not arrived.done():
                arrived.set_result(served)
            else:
                served.record.delivered = False

        loop.call_later(before, process)
        if request.timeout is not None and request.timeout <= before:
            try:
                await asyncio.sleep(request.timeout)
            finally:
                arrived.cancel()
            raise ResponseLostError("simulated: no response in time")
        return await arrived


def _without_request(record: logging.LogRecord) -> bool:
    """Drop the description of a malformed request, which quotes the line that is wrong."""
    if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
        record.exc_info = None
    return True


logger: logging.Logger = logging.getLogger("brokerage_async.simulator")
server_log: logging.Logger = logging.getLogger("brokerage_async.simulator.http")
server_log.addFilter(_without_request)


def _is_loopback(name: str) -> bool:
    with suppress(ValueError):
        return ip_address(name).is_loopback
    return name == "localhost" or name.endswith(".localhost")


def page_behind(host: str | None, origin: str | None, bound: str, names: Container[str] = frozenset()) -> str | None:
    """Return what shows that a request comes from a web page, None for a request of a program.

    The header ``Host`` must name the address that the server is ``bound`` to, the loopback interface, or one of the
    ``names``. On other interfaces any name will do, since the server cannot know them. The header ``Origin``, which
    browsers send and programs do not, must be the server itself.
    """
    if host is not None and _is_loopback(bound):
        name = ""
        with suppress(ValueError):
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        if name != bound.lower() and name not in names and not _is_loopback(name):
            return f"Host must name this simulator, got {host}"
    if origin is not None and origin.lower() not in {f"{scheme}://{host}".lower() for scheme in ("http", "https")}:
        return f"Origin must be this simulator, got {origin}"
    return None


@attrs.define(kw_only=True, eq=False, repr=False)
class WebServer(ABC):
    """HTTP server on one port, guarded against web pages.

    ``has_listened`` once it was started, so that its address is known.
    """

    host: str = "127.0.0.1"
    port: int
    names: Container[str] = frozenset()
    has_listened: bool = attrs.field(init=False, default=False)
    _bound: str = attrs.field(init=False, default="")
    _runner: web.ServerRunner | None = attrs.field(init=False, default=None)
    _answering: set[asyncio.Task[object]] = attrs.field(init=False, factory=set)

    @property
    def base_url(self) -> str:
        """Address of the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    async def start(self) -> None:
        """Listen. A port that the system chose at the first start is kept for later ones."""
        self._runner = runner = web.ServerRunner(
            web.Server(self._answer, access_log=None, logger=server_log, keepalive_timeout=75.0),
            handle_signals=False,
            shutdown_timeout=0.1,
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, self.host, self.port, reuse_address=True).start()
        except BaseException:
            await runner.cleanup()
            raise
        # 127.1 and other names of the loopback interface resolved
        self._bound, self.port = runner.addresses[0][:2]
        self.has_listened = True

    async def stop(self) -> None:
        """Stop listening, and cancel the answers under way."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()
        left = [task for task in self._answering if task is not asyncio.current_task()]
        for task in left:  # aiohttp does not track those whose client has hung up
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(0)  # aiohttp's own tasks around them end in the next iteration

    async def _answer(self, http: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            if re.search("[\ud800-\udfff]", "".join(http.headers.values())):  # from bytes that are not UTF-8
                return web.Response(status=400, text="headers must be UTF-8")
            foreign = page_behind(http.headers.get("Host"), http.headers.get("Origin"), self._bound, self.names)
            if foreign:  # a request of a web page: the brokerage never sees it
                logger.warning("refused %s %s: %s", http.method, http.path, foreign)
                return self._refuse(f"{foreign}: web pages are not served", http)
            return await self._serve(http)
        finally:
            self._answering.discard(task)

    @abstractmethod
    async def _serve(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer a request of a program."""

    @abstractmethod
    def _refuse(self, reason: str, http: web.BaseRequest) -> web.Response:
        """Return the answer to a request of a web page."""


@attrs.define(kw_only=True, eq=False, repr=False)
class LoopbackServer(WebServer):
    """HTTP server for a brokerage."""

    brokerage: Brokerage
    clock: Clock
    latency: Callable[[Request], float]
    pump: Pump
    prepare: Callable[[Request], Awaitable[None]] | None = None

    async def stop(self) -> None:
        """Stop listening, and drop every connection."""
        self.brokerage.streams.drop()
        await WebServer.stop(self)
        await self.pump.stop()

    def _refuse(self, reason: str, http: web.BaseRequest) -> web.Response:
        refused = dated(RefusedError.not_permitted(reason).response(http.path), self.clock.now())
        return web.Response(status=refused.status, body=refused.body, headers=refused.headers)

    async def _serve_socket(self, http: web.BaseRequest, session: Session) -> web.StreamResponse:
        """Serve one WebSocket until either side closes it."""
        socket = web.WebSocketResponse(autoping=False, max_msg_size=1 << 20, timeout=0.5)
        await socket.prepare(http)
        inner = MemorySocket(self.brokerage, self.clock, session, self.pump)

        async def write() -> None:
            with suppress(ConnectionError):
                with suppress(ResponseLostError):  # the session is closed
                    while True:
                        await socket.send_str(await inner.receive())
                await socket.close()

        writer = asyncio.create_task(write())
        try:
            async for message in socket:
                if message.type == WSMsgType.PING:
                    session.hear(self.clock.now())
                    await socket.pong(message.data)
                elif message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    inner.take(message.data)
        finally:
            await inner.close()
            writer.cancel()
            await asyncio.wait({writer})
        return socket

    async def _serve(self, http: web.BaseRequest) -> web.StreamResponse:
        if http.headers.get("Upgrade", "").lower() == "websocket":
            session = self.brokerage.streams.open(http.path, self.clock.now())
            if session is not None:
                return await self._serve_socket(http, session)
        body = await http.read() if http.body_exists else None
        request = Request(method=http.method, url=http.raw_path, headers=http.headers, body=body)
        time = asyncio.get_running_loop().time
        arrived = time()
        fault, before, after = met(self.brokerage, request, self.latency)
        if before > 0:
            await asyncio.sleep(before)
        if self.prepare is not None:
            await self.prepare(request)
        served = self.brokerage.serve(request, self.clock.now(), fault)
        if after > 0:
            await asyncio.sleep(after)
        try:
            return await self._deliver(http, served)
        finally:
            served.record.elapsed = time() - arrived

    async def _deliver(self, http: web.BaseRequest, served: ServedRequest) -> web.StreamResponse:
        response, record = served.response, served.record
        record.delivered = False
        if served.connection_action is ConnectionAction.HANG:
            await asyncio.get_running_loop().create_future()
        if served.connection_action in (ConnectionAction.DROP, ConnectionAction.REFUSE) or response is None:
            _drop(http)
            return web.Response()
        now = self.clock.now()
        try:
            if served.connection_action is ConnectionAction.TRUNCATE:
                half = web.StreamResponse(status=response.status, headers=dated(response, now).headers)
                half.content_length = max(2, len(response.body))  # announced, but not sent
                await half.prepare(http)
                await half.write(response.body[: len(response.body) // 2])
                if http.transport is not None:
                    http.transport.close()
                return half
            headers = dated(response, now).headers
            answer = web.Response(status=response.status, body=response.body or None, headers=headers)
            await answer.prepare(http)
            await answer.write_eof()
        except ConnectionError:  # the client has hung up: not an error of the server
            _drop(http)
            return web.Response()
        record.delivered = True
        return answer


def _drop(http: web.BaseRequest) -> None:
    if http.transport is not None:
        http.transport.abort()
