"""A proxy in front of a PostgreSQL server that drops acknowledgements and takes its time.

A statement whose acknowledgement is dropped has changed a row on the server. The client finds its connection closed
instead of the answer. Answers of statements without an effect always arrive.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

EFFECT = re.compile(rb"C\x00\x00\x00.(?:INSERT 0|UPDATE) [1-9]")
"""A message that says that rows were changed."""
READY = b"Z\x00\x00\x00\x05"
"""How the last message of every answer begins; one byte follows."""

Treatment = Callable[[bytes], Awaitable[bool]]
"""Called with every message of a client; may wait. True drops the acknowledgement of an effect."""


def at_random(seed: int, *, drop: float, delay: float, seconds: float = 0.2) -> Treatment:
    """Return a treatment with these chances, and ``seconds`` for a message that is delayed."""
    chance = random.Random(seed)

    async def treat(message: bytes) -> bool:
        dropped, delayed = chance.random() < drop, chance.random() < delay
        if delayed:
            await asyncio.sleep(seconds)
        return dropped

    return treat


class LossyProxy:
    """Listens on a loopback port and forwards to the socket of a server.

    Attributes:
        treatment: applied to every message. None passes them on.
        connecting: seconds that a new connection takes, each time.
        admitting: clear it to make new connections wait.
        dropped: how many acknowledgements were dropped.
    """

    def __init__(self, server: Path, treatment: Treatment | None = None) -> None:
        self._server = server
        self._links: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None
        self.treatment = treatment
        self.connecting: Callable[[], float] = lambda: 0.0
        self.admitting = asyncio.Event()
        self.admitting.set()
        self.dropped = 0

    async def __aenter__(self) -> LossyProxy:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)
        await self._listener.wait_closed()

    @property
    def dsn(self) -> str:
        """The connection string of the way through the proxy."""
        port = self._listener.sockets[0].getsockname()[1]
        return f"host=127.0.0.1 port={port} user=journal dbname=postgres sslmode=disable gssencmode=disable"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._links.add(task)
        try:
            await self.admitting.wait()
            await asyncio.sleep(self.connecting())
            with suppress(OSError):  # the server is down, or was killed
                server_reader, server_writer = await asyncio.open_unix_connection(self._server)
                try:
                    await self._link(reader, writer, server_reader, server_writer)
                finally:
                    server_writer.transport.abort()
        except asyncio.CancelledError:
            if task.cancelling() > 1:  # otherwise the proxy is closing, which is not an error of the link
                raise
        finally:
            writer.transport.abort()
            self._links.discard(task)

    async def _link(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server_writer: asyncio.StreamWriter,
    ) -> None:
        """Forward in both directions until one side hangs up or an acknowledgement is dropped."""
        ready = dropping = False

        async def forward_answers() -> None:
            nonlocal ready
            answer = b""
            while part := await server_reader.read(65536):
                answer += part
                complete = answer[-6:-1] == READY
                if dropping and not complete:
                    continue
                if dropping and EFFECT.search(answer):
                    self.dropped += 1
                    return
                ready = ready or complete
                writer.write(answer)
                await writer.drain()
                answer = b""

        async def forward_messages() -> None:
            nonlocal dropping
            while message := await reader.read(65536):
                if ready and self.treatment is not None:
                    dropping = await self.treatment(message)
                server_writer.write(message)
                await server_writer.drain()

        ways = [asyncio.create_task(forward_answers()), asyncio.create_task(forward_messages())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
