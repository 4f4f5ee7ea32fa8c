"""Loopback WebSocket: a session of the simulator behind a real connection."""

from __future__ import annotations

import asyncio

from aiohttp import WSMsgType, web

from ..api.brokerage import Brokerage
from ..clock import Clock
from ..streams.session import Session
from .pump import Pump

__all__ = ["serve_socket"]


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
    writer = loop.create_task(_write(socket, outgoing))
    try:
        await _read(socket, brokerage, clock, session)
    finally:
        brokerage.streams.forget(session)
        pump.check()
        writer.cancel()
        await asyncio.wait({writer})
    return socket


async def _read(socket: web.WebSocketResponse, brokerage: Brokerage, clock: Clock, session: Session) -> None:
    async for message in socket:
        now = clock.now()
        if message.type == WSMsgType.PING:
            session.hear(now)
            await socket.pong(message.data)
        elif message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
            brokerage.advance(now)
            session.receive(message.data, now)


async def _write(socket: web.WebSocketResponse, outgoing: asyncio.Queue[str | None]) -> None:
    """Send messages until the session is closed."""
    while (message := await outgoing.get()) is not None:
        try:
            await socket.send_str(message)
        except ConnectionError:
            return
    await socket.close()
