"""Figures of the simulator as a server: ``python -m benchmarks.simulator``.

One process serves, a second one asks over raw sockets, each on its own core where the machine has two. A rate is
requests per CPU second of the server, so that it does not depend on what else the machine does. The rate by the wall
clock stands beside it. A bare aiohttp.web handler sends the same bytes for comparison.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from multiprocessing.connection import Connection
from typing import Any

from aiohttp import web

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator import Simulator

from .rounds import Result, command, result
from .service import running

SOCKETS = 8
ROUNDS = 5
SMALL, PAGE = "/instruments/equities/AAPL", "/instruments/equities?per-page=1000&page-offset=2"
BOUNDS = {SMALL: 1e6 / 2500, PAGE: 1e6 / 250}
"""Microseconds of the server's CPU for a request: 2,500 and 250 requests per CPU second."""


def pin(core: int) -> None:
    """Stay on one core, where the system has a choice of them."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})


async def serve_simulator(orders: Connection) -> None:
    async with Simulator() as sim:
        orders.send((sim.base_url, sim.client_secret, sim.refresh_token))
        await answer(orders)


async def serve_bare(orders: Connection, body: bytes) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    application = web.Application()
    application.router.add_get("/{anything:.*}", handle)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    orders.send(f"http://127.0.0.1:{runner.addresses[0][1]}")
    await answer(orders)


async def answer(orders: Connection) -> None:
    """Report CPU seconds and peak memory in MB whenever they are asked for."""
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, orders.recv):
        orders.send((time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def process(orders: Connection, serve: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
    pin(0)
    asyncio.run(serve(orders, *arguments))


class Raw:
    """Client of raw sockets that asks on all of them in turns."""

    def __init__(self, base_url: str, authorization: str = "") -> None:
        host, port = base_url.removeprefix("http://").split(":")
        self._sockets = [socket.create_connection((host, int(port))) for _ in range(SOCKETS)]
        self._head = f"Host: {host}:{port}\r\nUser-Agent: raw/1\r\nAccept: application/json\r\n{authorization}\r\n"

    def ask(self, target: str, times: int) -> bytes:
        """Send ``times`` requests on every socket. Return the last body."""
        message = f"GET {target} HTTP/1.1\r\n{self._head}".encode()
        for _ in range(times):
            for each in self._sockets:
                each.sendall(message)
            for each in self._sockets:
                body = self._read(each)
        return body

    def _read(self, connection: socket.socket) -> bytes:
        received = bytearray(connection.recv(1 << 18))
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += connection.recv(1 << 18)
        head = bytes(received[:end]).lower()
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"unexpected answer: {head[:200]!r}")
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        missing = length - (len(received) - end - 4)
        while missing > 0:
            part = connection.recv(min(missing, 1 << 20))
            received += part
            missing -= len(part)
        return bytes(received[end + 4 :])


def used(orders: Connection) -> tuple[float, float]:
    """Return the CPU seconds and the peak memory of a server."""
    orders.send("used")
    found: tuple[float, float] = orders.recv()
    return found


def cost(raw: Raw, orders: Connection, target: str, times: int) -> tuple[float, float]:
    """Return the least microseconds of the server's CPU for a request, and by the wall clock in that round."""
    raw.ask(target, 3)
    found = []
    for _ in range(ROUNDS):
        before, started = used(orders)[0], time.perf_counter()
        raw.ask(target, times)
        taken = time.perf_counter() - started
        found.append(((used(orders)[0] - before) / times / SOCKETS * 1e6, taken / times / SOCKETS * 1e6))
    return min(found)


def authorization(base_url: str, client_secret: str, refresh_token: str) -> str:
    asked = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_secret": client_secret}
    headers = {"User-Agent": "raw/1", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{base_url}{OPERATIONS['oauth.token'].path}", json.dumps(asked).encode(), headers)
    with urllib.request.urlopen(request) as answered:
        return f"Authorization: Bearer {json.load(answered)['access_token']}\r\n"


def start_seconds() -> tuple[float, float]:
    """Return the least wall and CPU seconds of five starts, from the command until the simulator answers."""
    found = []
    for _ in range(5):
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [sys.executable, "-u", "-m", "brokerage_async", "simulator", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started_process:
            assert started_process.stdout is not None
            address = started_process.stdout.readline().partition("=")[2].strip()
            host, port = address.removeprefix("http://").split(":")
            socket.create_connection((host, int(port))).close()
            taken = time.perf_counter() - started
            started_process.terminate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return min(wall for wall, _ in found), min(cpu for _, cpu in found)


def measure() -> Iterator[Result]:
    """Measure two requests, memory and the start."""
    pin(1)
    with running(process, serve_simulator) as orders:
        base_url, *secrets = orders.recv()
        raw = Raw(base_url, authorization(base_url, *secrets))
        for target, times in ((SMALL, 500), (PAGE, 40)):
            cpu, wall = cost(raw, orders, target, times)
            with running(process, serve_bare, raw.ask(target, 1)) as bare_orders:
                bare, _ = cost(Raw(bare_orders.recv()), bare_orders, target, times)
            rates = [f"{1e6 / each:,.0f}" for each in (cpu, wall, bare)]
            note = "{} per CPU second, {} by the wall clock; bare aiohttp.web {} per CPU second".format(*rates)
            yield result(target, [cpu], bound=BOUNDS[target], unit="us", note=note)
        yield result("peak memory", [used(orders)[1]], bound=300, unit="MB")
    wall, cpu = start_seconds()
    yield result("start, CPU", [cpu], bound=1.5, unit="s", note=f"{wall:.2f} s by the wall clock")


if __name__ == "__main__":
    command(measure)
