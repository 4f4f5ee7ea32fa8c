"""Loopback server: the brokerage behind real HTTP and WebSockets, guarded against web pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container
from ipaddress import ip_address
from urllib.parse import urlsplit

import attrs
from aiohttp import WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError

from ...protocol.request import Request
from ..api.brokerage import Brokerage, ServedRequest
from ..api.wire import RefusedError, dated
from ..clock import Clock
from ..faults import ConnectionAction
from ..streams.session import Session
from .memory import Pump, met


def _without_request(record: logging.LogRecord) -> bool:
    """Drop the description of a malformed request, which quotes the line that is wrong."""
    if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
        record.exc_info = None
    return True


server_log: logging.Logger = logging.getLogger("brokerage_async.simulator.http")
server_log.addFilter(_without_request)


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def page_behind(host: str | None, origin: str | None, bound: str, names: Container[str] = frozenset()) -> str | None:
    """Return what shows that a request comes from a web page, None for a request of a program.

    Args:
        host: header ``Host``. It must name the address that the server listens on, or the loopback interface. A server
            that listens on other interfaces has names that it cannot know: there any name will do.
        origin: header ``Origin``, which browsers send and programs do not. It must be the server itself.
        bound: address that the server listens on.
        names: further names of the server, in lower case.
    """
    if host is not None and _is_loopback(bound):
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            name = ""
        if name != bound.lower() and name not in names and not _is_loopback(name):
            return f"Host must name this simulator, got {host}"
    if origin is not None and origin.lower() not in {f"{scheme}://{host}".lower() for scheme in ("http", "https")}:
        return f"Origin must be this simulator, got {origin}"
    return None


async def serve_socket(
    http: web.BaseRequest, brokerage: Brokerage, clock: Clock, pump: Pump, session: Session
) -> web.StreamResponse:
    """Serve one WebSocket until either side closes it."""
    socket = web.WebSocketResponse(autoping=False, max_msg_size=1 << 20, timeout=0.5)
    await socket.prepare(http)
    loop = asyncio.get_running_loop()
    outgoing: asyncio.Queue[str | None] = asyncio.Queue()

    def send(message: str, delay: float) -> None:
        if delay > 0:
            loop.call_later(delay, outgoing.put_nowait, message)
        else:
            outgoing.put_nowait(message)

    session.connect(send, lambda: outgoing.put_nowait(None))
    pump.start()

    async def write() -> None:
        while (message := await outgoing.get()) is not None:  # None: the session is closed
            try:
                await socket.send_str(message)
            except ConnectionError:
                return
        await socket.close()

    writer = loop.create_task(write())
    try:
        async for message in socket:
            now = clock.now()
            if message.type == WSMsgType.PING:
                session.hear(now)
                await socket.pong(message.data)
            elif message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                brokerage.advance(now)
                session.receive(message.data, now)
    finally:
        brokerage.streams.forget(session)
        pump.check()
        writer.cancel()
        await asyncio.wait({writer})
    return socket


logger: logging.Logger = logging.getLogger("brokerage_async.simulator")


async def listen(
    answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], host: str, port: int
) -> web.ServerRunner:
    runner = web.ServerRunner(
        web.Server(answer, access_log=None, logger=server_log, keepalive_timeout=75.0),
        handle_signals=False,
        shutdown_timeout=0.1,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, reuse_address=True).start()
    except BaseException:
        await runner.cleanup()
        raise
    return runner


@attrs.define(eq=False, repr=False)
class LoopbackServer:
    """HTTP server for a brokerage on one port; ``has_listened`` once it was started, so that its address is known."""

    _brokerage: Brokerage
    _clock: Clock
    _latency: Callable[[Request], float]
    _host: str
    _port: int
    _names: Container[str]
    _pump: Pump
    _prepare: Callable[[Request], Awaitable[None]] | None = None
    _bound: str = attrs.field(init=False, default=attrs.Factory(lambda self: self._host, takes_self=True))
    _runner: web.ServerRunner | None = attrs.field(init=False, default=None)
    has_listened: bool = attrs.field(init=False, default=False)
    _answering: set[asyncio.Task[object]] = attrs.field(init=False, factory=set)

    @property
    def base_url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def start(self) -> None:
        """Listen. A port that the system chose at the first start is kept for later ones."""
        self._runner = await listen(self._answer, self._host, self._port)
        # 127.1 and other names of the loopback interface resolved
        self._bound, self._port = self._runner.addresses[0][:2]
        self.has_listened = True

    async def stop(self) -> None:
        self._brokerage.streams.drop()
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()
        left = [task for task in self._answering if task is not asyncio.current_task()]
        for task in left:  # aiohttp does not track those whose client has hung up
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._pump.stop()
        await asyncio.sleep(0)  # aiohttp's own tasks around them end in the next iteration

    async def _answer(self, http: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            foreign = page_behind(http.headers.get("Host"), http.headers.get("Origin"), self._bound, self._names)
            if foreign:  # a request of a web page: the brokerage never sees it
                logger.warning("refused %s %s: %s", http.method, http.path, foreign)
                refused = RefusedError.not_permitted(f"{foreign}: web pages are not served").response(http.path)
                dates = dated(refused, self._clock.now()).headers
                return web.Response(status=refused.status, body=refused.body, headers=dates)
            return await self._serve(http)
        finally:
            self._answering.discard(task)

    async def _serve(self, http: web.BaseRequest) -> web.StreamResponse:
        if http.headers.get("Upgrade", "").lower() == "websocket":
            session = self._brokerage.streams.open(http.path, self._clock.now())
            if session is not None:
                return await serve_socket(http, self._brokerage, self._clock, self._pump, session)
        request = Request(
            method=http.method,
            url=http.raw_path,
            headers=http.headers,
            body=await http.read() if http.body_exists else None,
        )
        time = asyncio.get_running_loop().time
        arrived = time()
        fault, before, after = met(self._brokerage, request, self._latency)
        if before > 0:
            await asyncio.sleep(before)
        if self._prepare is not None:
            await self._prepare(request)
        served = self._brokerage.serve(request, self._clock.now(), fault)
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
        now = self._clock.now()
        try:
            if served.connection_action is ConnectionAction.TRUNCATE:
                half = web.StreamResponse(status=response.status, headers=dated(response, now).headers)
                half.content_length = max(2, len(response.body))  # announced, but not sent
                await half.prepare(http)
                await half.write(response.body[: len(response.body) // 2])
                if http.transport is not None:
                    http.transport.close()
                return half
            answer = web.Response(
                status=response.status, body=response.body or None, headers=dated(response, now).headers
            )
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
