"""A proxy in front of a PostgreSQL server that drops acknowledgements, takes its time, or falls silent.

A statement whose acknowledgement is dropped has changed a row on the server. The client finds its connection closed
instead of the answer. Answers of statements without an effect always arrive.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable

from tests.raw_server import LoopbackServer, Streams

EFFECT = re.compile(rb"C\x00\x00\x00.(?:INSERT 0|UPDATE) [1-9]")
"""A message that says that rows were changed."""
READY = b"Z\x00\x00\x00\x05"
"""How the last message of every answer begins; one byte follows."""

Treatment = Callable[[bytes], Awaitable[bool]]
"""Called with every message of a client; may wait. True drops the acknowledgement of an effect."""


def at_random(seed: int, *, drop: float, delay: float) -> Treatment:
    """Return a treatment with these chances, and 200 ms for a message that is delayed."""
    chance = random.Random(seed)

    async def treat(message: bytes) -> bool:
        dropped, delayed = chance.random() < drop, chance.random() < delay
        if delayed:
            await asyncio.sleep(0.2)
        return dropped

    return treat


class LossyProxy(LoopbackServer):
    """Forwards to the socket of a server.

    Attributes:
        treatment: applied to every message. None passes them on.
        connecting, delay: seconds that a new connection takes, and that data is under way, without holding up others.
        silent: whether nothing gets through any more, and neither side sees the other hang up.
        dropped: how many acknowledgements were dropped.
    """

    def __init__(self, dsn: str, treatment: Treatment | None = None, *, delay: float = 0.0) -> None:
        super().__init__()
        self._socket = f"{dsn.partition('host=')[2].split()[0]}/.s.PGSQL.5432"
        self.treatment = treatment
        self.connecting: Callable[[], float] = lambda: 0.0
        self.delay = delay
        self.silent = False
        self.dropped = 0

    @property
    def dsn(self) -> str:
        """The connection string of the way through the proxy."""
        return f"host=127.0.0.1 port={self.port} user=journal dbname=postgres sslmode=disable gssencmode=disable"

    def drop_next(self) -> None:
        """Drop the acknowledgement of the next message alone."""

        async def once(message: bytes) -> bool:
            self.treatment = None
            return True

        self.treatment = once

    async def serve(self, client: Streams) -> None:
        """Forward in both directions until one side hangs up or an acknowledgement is dropped."""
        await asyncio.sleep(self.connecting())
        try:
            server_reader, server_writer = await asyncio.open_unix_connection(self._socket)
        except OSError:  # the server is down, or was killed
            return
        reader, writer = client
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
                await self._pass_on(writer, answer)
                answer = b""

        async def forward_messages() -> None:
            nonlocal dropping
            while message := await reader.read(65536):
                dropping = ready and self.treatment is not None and await self.treatment(message)
                await self._pass_on(server_writer, message)

        ways = [asyncio.create_task(forward_answers()), asyncio.create_task(forward_messages())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if self.silent:
                await asyncio.Event().wait()
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            server_writer.transport.abort()
            writer.transport.abort()

    async def _pass_on(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        if self.silent:
            return
        if self.delay:
            asyncio.get_running_loop().call_later(self.delay, writer.write, data)
        else:
            writer.write(data)
            await writer.drain()
