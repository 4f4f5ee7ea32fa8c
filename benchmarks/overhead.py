"""What a small GET costs in client CPU: this library beside bare aiohttp with a msgspec decode, in one run.

    python -m benchmarks.overhead [--rounds 40] [--calls 500]

A server process answers with a fixed body as fast as it can. In this process rounds of both clients alternate, so that
a noisy machine troubles both alike; what counts is the CPU time of this process per call. Everything that makes the
library resilient is switched on. The library also does more with the answer: it builds models.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import date
from decimal import Decimal
from multiprocessing.connection import Connection
from typing import Any

import aiohttp
import msgspec

from brokerage_async import Client, Environment, StaticToken
from brokerage_async._generated.converters import DividendWire, TokenResponseWire
from brokerage_async.config import RefreshToken

DIVIDEND = DividendWire(occurred_date=date(2025, 2, 10), amount=Decimal("0.25"))
DIVIDENDS = {"data": {"items": [DIVIDEND] * 4}, "context": "/dividends/AAPL"}
TOKEN = TokenResponseWire(access_token="a" * 400, token_type="Bearer", expires_in=900)
Call = Callable[[], Awaitable[Any]]


class Item(msgspec.Struct, rename="kebab"):
    occurred_date: str
    amount: str


class Items(msgspec.Struct):
    items: list[Item]


class Envelope(msgspec.Struct):
    data: Items
    context: str | None = None


class FixedServer(asyncio.Protocol):
    """Answers every request on the spot, tokens for POST and dividends for GET."""

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            length = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line[15:])
            if len(rest) < length:
                return
            self._buffer = rest[length:]
            self._transport.write(ANSWERS[head[:4]])


def answer(value: object) -> bytes:
    body = msgspec.json.encode(value)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    head += "Date: Sat, 21 Nov 2026 11:00:00 GMT\r\nServer: nginx\r\nX-Request-Id: 0f8fad5b-d9cb\r\n"
    return head.encode() + b"\r\n" + body


ANSWERS = {b"GET ": answer(DIVIDENDS), b"POST": answer(TOKEN)}


def serve(port: Connection) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(FixedServer, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def cpu_per_call(call: Call, calls: int, at_once: int) -> float:
    """Microseconds of CPU time per call."""

    async def worker() -> None:
        for _ in range(calls // at_once):
            await call()

    gc.collect()
    gc.disable()
    started = time.process_time()
    if at_once == 1:
        await worker()
    else:
        await asyncio.gather(*(worker() for _ in range(at_once)))
    taken = time.process_time() - started
    gc.enable()
    return taken / (calls // at_once * at_once) * 1e6


async def measure(base_url: str, rounds: int, calls: int) -> None:
    decoder = msgspec.json.Decoder(Envelope)
    url = f"{base_url}/market-metrics/historic-corporate-events/dividends/AAPL"
    headers = {"User-Agent": "bare/1", "Accept": "application/json", "Authorization": "Bearer " + "a" * 400}
    timeout = aiohttp.ClientTimeout(total=30)
    credentials = RefreshToken(client_secret="secret", refresh_token="token")
    async with (
        aiohttp.ClientSession() as session,
        Client(Environment.sandbox(base_url), credentials, deadline=60) as client,
        Client(Environment.sandbox(base_url), StaticToken("a" * 400)) as static,
    ):

        async def bare() -> None:
            async with session.get(url, headers=headers, timeout=timeout) as response:
                decoder.decode(await response.read())

        async def ours() -> None:
            await client.market_metrics.dividends("AAPL")

        async def ours_static() -> None:
            await static.market_metrics.dividends("AAPL")

        contenders: dict[str, Call] = {"bare aiohttp": bare, "brokerage_async": ours, "with StaticToken": ours_static}
        for at_once in (1, 50):
            times: dict[str, list[float]] = {name: [] for name in contenders}
            for number in range(rounds + 2):
                for name, call in contenders.items():
                    taken = await cpu_per_call(call, calls, at_once)
                    if number >= 2:
                        times[name].append(taken)
            base = statistics.median(times["bare aiohttp"])
            for name, found in times.items():
                median = statistics.median(found)
                ratio = statistics.median(a / b for a, b in zip(found, times["bare aiohttp"], strict=True))
                print(
                    f"{at_once:3d} at once  {name:17s} {median:7.1f} µs {median / base:5.2f} x (paired {ratio:.2f} x)"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=500)
    arguments = parser.parse_args()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    try:
        asyncio.run(measure(f"http://127.0.0.1:{ours.recv()}", arguments.rounds, arguments.calls))
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    main()
