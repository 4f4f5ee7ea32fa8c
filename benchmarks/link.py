"""A slow link on loopback: a proxy with the rate and the round trip of a network, without privileges."""

from __future__ import annotations

import asyncio
import contextlib

CHUNK = 16 * 1024
IN_FLIGHT = 64
"""Chunks of one direction that may be on their way; beyond them the sender has to wait."""


class Link:
    """Proxy in front of a port: every byte takes its time on a link that all connections share.

    A connection costs one round trip before its first request leaves, as the handshake of TCP does. Its slow start and
    the handshake of TLS, which would add more, are left out.

    Args:
        port: port on loopback that the link leads to.
        rate: bytes per second, in each direction.
        round_trip: seconds from a request to its answer, if both are empty.
    """

    def __init__(self, port: int, *, rate: float, round_trip: float) -> None:
        self._port = port
        self._rate = rate
        self._round_trip = round_trip
        self._free = {"up": 0.0, "down": 0.0}
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen, and return the port."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, forth = await asyncio.open_connection("127.0.0.1", self._port)
        not_before = asyncio.get_running_loop().time() + self._round_trip
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(self._carry(near, forth, "up", not_before), self._carry(far, back, "down", 0.0))

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: str, not_before: float
    ) -> None:
        """Carry one direction of a connection to its end."""
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(IN_FLIGHT)
        delivering = asyncio.create_task(self._deliver(under_way, writer))
        try:
            while chunk := await reader.read(CHUNK):
                await under_way.put((self._arrival(len(chunk), way, not_before), chunk))
            await under_way.put((0.0, b""))
            await delivering
        finally:
            delivering.cancel()
            writer.close()

    def _arrival(self, size: int, way: str, not_before: float) -> float:
        """Return when the last of ``size`` bytes arrives that are sent now, or when the link is free."""
        starts = max(asyncio.get_running_loop().time(), self._free[way], not_before)
        self._free[way] = starts + size / self._rate
        return self._free[way] + self._round_trip / 2

    async def _deliver(self, under_way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            due, chunk = await under_way.get()
            if not chunk:
                return
            await asyncio.sleep(max(0.0, due - clock()))
            writer.write(chunk)
            await writer.drain()
