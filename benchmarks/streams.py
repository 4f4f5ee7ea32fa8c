"""What quotes cost: ``client.stream.quotes`` beside its batches, a loop written by hand, and the SDK from PyPI.

    python -m benchmarks.streams [--frames 2000] [--rows 50] [--rounds 9] [--check]

A server in a separate process pushes frames of quotes of 500 symbols, as fast as the client reads. In this process,
rounds of them alternate. What counts is the CPU time of this process per quote. All read with aiohttp, but for the
SDK, which has its own client. The loop by hand decodes with msgspec into attrs models with decimals. ``--check`` fails
when the library costs more than 1.5 times the loop by hand, or 10 microseconds per quote, or more than a third of the
SDK, or batches cost more than a quarter of objects.
"""

import asyncio
import json
import random
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from functools import cache, partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any, ClassVar

import aiohttp
import attrs
import msgspec
from aiohttp import web

from brokerage_async import Client, Environment, StaticToken, models
from brokerage_async.stream import Gap

from .rounds import Result, command, ratios, result, times
from .service import running

SYMBOLS = [f"SYM{number}" for number in range(500)]
COLUMNS = [
    "eventSymbol", "sequence", "timeNanoPart", "bidTime", "bidExchangeCode", "bidPrice", "bidSize", "askTime",
    "askExchangeCode", "askPrice", "askSize",
]  # fmt: skip
END = "END"


# -- the server, in a separate process


def row(symbol: str) -> dict[str, Any]:
    """Return a quote near a price of its symbol, so that prices repeat as they do in markets."""
    price = 50 + hash(symbol) % 400 + random.randrange(200) / 100
    return {
        "eventType": "Quote", "eventSymbol": symbol, "eventTime": 0, "sequence": 0, "timeNanoPart": 0, "bidTime": 0,
        "bidExchangeCode": "Q", "bidPrice": price, "bidSize": float(random.randrange(1, 20) * 100), "askTime": 0,
        "askExchangeCode": "Z", "askPrice": round(price + 0.02, 2), "askSize": float(random.randrange(1, 20) * 100),
    }  # fmt: skip


@cache
def frames(count: int, rows: int, columns: tuple[str, ...], channel: int) -> list[str]:
    """Return ``count`` frames of rows without blanks, as the service sends them, and one that ends the round."""
    rounds = [random.sample(SYMBOLS, rows) for _ in range(count)] + [[END]]
    data = (["Quote", [row(symbol)[name] for symbol in symbols for name in columns]] for symbols in rounds)
    return [json.dumps({"type": "FEED_DATA", "channel": channel, "data": each}, separators=(",", ":")) for each in data]


ANSWERS: dict[str, list[dict[str, Any]]] = {
    "SETUP": [{"type": "SETUP", "version": "1.0"}, {"type": "AUTH_STATE", "state": "UNAUTHORIZED"}],
    "AUTH": [{"type": "AUTH_STATE", "state": "AUTHORIZED", "userId": "u"}],
    "CHANNEL_REQUEST": [{"type": "CHANNEL_OPENED", "service": "FEED"}],
    "FEED_SETUP": [{"type": "FEED_CONFIG", "dataFormat": "COMPACT", "aggregationPeriod": 0.1}],
}


def serve(port: Connection, count: int, rows: int) -> None:
    """Speak just enough of both protocols. Whatever comes through the pipe starts a round on every open connection."""
    sockets: dict[web.WebSocketResponse, list[str]] = {}
    subscribed = asyncio.Event()

    async def token(request: web.Request) -> web.Response:
        url = f"ws://{request.host}/feed"
        return web.json_response({"data": {"token": "t", "dxlink-url": url, "level": "api"}, "context": "/x"})

    async def feed(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        fields: dict[str, list[str]] = {"Quote": COLUMNS}
        async for message in socket:
            frame = json.loads(message.data)
            fields = frame.get("acceptEventFields", fields)
            for each in ANSWERS.get(frame["type"], ()):
                config = {"eventFields": fields} if each["type"] == "FEED_CONFIG" else {}
                await socket.send_json({"channel": frame["channel"], **each, **config})
            if frame["type"] == "FEED_SUBSCRIPTION":
                sockets[socket] = frames(count, rows, tuple(fields["Quote"]), frame["channel"])
                subscribed.set()
        sockets.pop(socket, None)
        subscribed.clear()
        return socket

    async def main() -> None:
        app = web.Application()
        app.router.add_get("/api-quote-tokens", token)
        app.router.add_get("/feed", feed)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port.send(runner.addresses[0][1])
        while True:
            await asyncio.to_thread(port.recv)
            await subscribed.wait()  # until then the subscription is on its way
            for socket, messages in [*sockets.items()]:
                for message in messages:
                    await socket.send_str(message)

    asyncio.run(main())


# -- the contenders: each yields a function that consumes one burst

Consume = Callable[[], Awaitable[None]]

HandQuote = attrs.make_class("HandQuote", COLUMNS, frozen=True, slots=True)
"""The model that one would write by hand for the loop by hand."""


class Frame(msgspec.Struct):
    """A frame, as the loop by hand decodes it."""

    type: str
    channel: int
    data: Any = None


@asynccontextmanager
async def quotes(base: str) -> AsyncIterator[Any]:
    async with (
        Client(Environment.sandbox(base), StaticToken("t")) as client,
        client.stream.quotes([*SYMBOLS, END], [models.Quote]) as stream,
    ):
        yield stream


@asynccontextmanager
async def ours(base: str) -> AsyncIterator[Consume]:
    async with quotes(base) as stream:

        async def consume() -> None:
            async for event in stream:
                if not isinstance(event, Gap) and event.event_symbol == END:
                    return

        await stream.ready()
        yield consume


@asynccontextmanager
async def batches(base: str) -> AsyncIterator[Consume]:
    async with quotes(base) as stream:
        found = stream.batches(seconds=0.05)

        async def consume() -> None:
            async for batch in found:
                if batch.num_rows and batch.column("event_symbol")[-1].as_py() == END:
                    return

        await stream.ready()
        yield consume


@asynccontextmanager
async def by_hand(base: str) -> AsyncIterator[Consume]:
    decoder = msgspec.json.Decoder(Frame, float_hook=Decimal)
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{base}/feed") as socket:
        names = {"Quote": COLUMNS}
        for message in (
            {"type": "SETUP", "channel": 0, "version": "0.1"},
            {"type": "AUTH", "channel": 0, "token": "t"},
            {"type": "CHANNEL_REQUEST", "channel": 1, "service": "FEED", "parameters": {"contract": "AUTO"}},
            {"type": "FEED_SETUP", "channel": 1, "acceptDataFormat": "COMPACT", "acceptEventFields": names},
            {"type": "FEED_SUBSCRIPTION", "channel": 1, "add": [{"type": "Quote", "symbol": "SYM0"}]},
        ):
            await socket.send_json(message)

        async def consume() -> None:
            latest: dict[str, Any] = {}
            async for message in socket:
                frame = decoder.decode(message.data)
                if frame.type == "FEED_DATA":
                    for each in zip(*[iter(frame.data[1])] * len(COLUMNS), strict=False):
                        quote = HandQuote(*each)
                        latest[quote.eventSymbol] = quote
                    if quote.eventSymbol == END:
                        return

        yield consume


@asynccontextmanager
async def peer(base: str) -> AsyncIterator[Consume]:
    from tastytrade import dxfeed, streamer

    class FakeSession:
        client_kwargs: ClassVar[dict[str, Any]] = {}

        async def _get(self, _: str) -> dict[str, str]:
            return {"dxlink-url": f"ws{base.removeprefix('http')}/feed", "token": "t"}

    async with streamer.DXLinkStreamer(FakeSession()) as stream:
        await stream.subscribe(dxfeed.Quote, [*SYMBOLS, END])

        async def consume() -> None:
            async for quote in stream.listen(dxfeed.Quote):
                if quote.event_symbol == END:
                    return

        yield consume


async def second_burst(contender: Callable[[str], Any], base: str, pipe: Connection) -> float:
    """Return the CPU seconds of consuming one burst, after another that warms caches and sockets up."""
    async with contender(base) as consume:
        for _ in range(2):
            started = time.process_time()
            pipe.send(None)
            await consume()
            taken = time.process_time() - started
    return taken


CONTENDERS = {"brokerage_async": ours, "batches": batches, "by hand": by_hand, "tastytrade": peer}


def measure(frames: int = 2000, rows: int = 50, rounds: int = 9) -> list[Result]:
    """Measure all in turns, the SDK if it is installed."""
    with running(serve, frames, rows) as pipe:
        base = f"http://127.0.0.1:{pipe.recv()}"
        contenders = {name: partial(second_burst, each, base, pipe) for name, each in CONTENDERS.items()}
        if not find_spec("tastytrade"):
            del contenders["tastytrade"]
        taken = times(contenders, rounds)
    costs = {name: [each / frames / rows * 1e6 for each in found] for name, found in taken.items()}
    ours, batched = costs["brokerage_async"], costs["batches"]
    rate, batch_rate = (f"{1e6 / statistics.median(each):,.0f} quotes per second of CPU" for each in (ours, batched))
    results = [
        result("a quote, client CPU", ours, bound=10, unit="us", note=rate),
        *[result(f"    {name}", costs[name], unit="us") for name in ("by hand", "tastytrade") if name in costs],
        result("    in batches", batched, unit="us", note=batch_rate),
        result("a quote, client CPU, x loop by hand", ratios(ours, costs["by hand"]), bound=1.5),
        result("a quote in batches, client CPU, x quote", ratios(batched, ours), bound=0.25),
    ]
    if theirs := costs.get("tastytrade"):
        results.append(result("a quote, client CPU, x peer", ratios(ours, theirs), bound=1 / 3))
    return results


if __name__ == "__main__":
    command(measure)
