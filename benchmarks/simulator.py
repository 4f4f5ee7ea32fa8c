"""Figures of the simulator as a server: ``python -m benchmarks.simulator``.

One process serves, this one asks over several connections, each process on its own core where the machine has two. A
rate is requests per CPU second of the server, so that it does not depend on what else the machine does. The rate by the
wall clock stands beside it. A bare aiohttp.web handler sends the same bytes for comparison.
"""

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from multiprocessing.connection import Connection

import psutil
from aiohttp import web

from .rounds import Result, command, result
from .service import authorization, running, simulated

CONNECTIONS = 8
ROUNDS = 5
SMALL, PAGE = "/instruments/equities/AAPL", "/instruments/equities?per-page=1000&page-offset=2"
BOUNDS = {SMALL: 1e6 / 2500, PAGE: 1e6 / 250}
"""Microseconds of the server's CPU for a request: 2,500 and 250 requests per CPU second."""


CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def pin(pid: int, core: int) -> None:
    """Keep a process on one core, where the system has a choice of them."""
    if CORES:
        os.sched_setaffinity(pid, {CORES[core % len(CORES)]})


def serve_bare(port: Connection, body: bytes) -> None:
    """Answer every request with the body. Send the identifier of the process and the base address first."""

    async def handle(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    async def main() -> None:
        application = web.Application()
        application.router.add_get("/{anything:.*}", handle)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port.send((os.getpid(), f"http://127.0.0.1:{runner.addresses[0][1]}"))
        await asyncio.Event().wait()

    asyncio.run(main())


def asking(base_url: str, target: str, headers: dict[str, str]) -> Callable[[], bytes]:
    """Return a function that asks once on every connection, and returns the last body."""
    connections = [HTTPConnection(base_url.removeprefix("http://")) for _ in range(CONNECTIONS)]

    def ask() -> bytes:
        for each in connections:
            each.request("GET", target, headers={"User-Agent": "raw/1", "Accept": "application/json", **headers})
        for each in connections:
            response = each.getresponse()
            body = response.read()
            assert response.status == 200, body
        return body

    return ask


def cost(pid: int, ask: Callable[[], bytes], times: int) -> tuple[float, float]:
    """Return the least microseconds of the server's CPU for a request, and by the wall clock in that round."""
    pin(pid, 0)
    server, requests, found = psutil.Process(pid), times * CONNECTIONS, []
    for _ in range(3):
        ask()
    for _ in range(ROUNDS):
        before, started = sum(server.cpu_times()[:2]), time.perf_counter()
        for _ in range(times):
            ask()
        taken = time.perf_counter() - started
        found.append(((sum(server.cpu_times()[:2]) - before) / requests * 1e6, taken / requests * 1e6))
    return min(found)


def start_seconds() -> tuple[float, float]:
    """Return the least wall and CPU seconds of five starts, from the command until the simulator answers."""
    found = []
    for _ in range(5):
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [sys.executable, "-u", "-m", "brokerage_async", "simulator", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            address = process.stdout.readline().partition("=")[2].strip()
            HTTPConnection(address.removeprefix("http://")).connect()
            taken = time.perf_counter() - started
            process.terminate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return min(wall for wall, _ in found), min(cpu for _, cpu in found)


def measure() -> Iterator[Result]:
    """Measure two requests, memory and the start."""
    pin(os.getpid(), 1)
    with simulated() as service:
        for target, times in ((SMALL, 500), (PAGE, 40)):
            ask = asking(service.environ["BROKERAGE_BASE_URL"], target, authorization())
            cpu, wall = cost(service.pid, ask, times)
            with running(serve_bare, ask()) as port:
                pid, base_url = port.recv()
                bare, _ = cost(pid, asking(base_url, target, {}), times)
            rates = [f"{1e6 / each:,.0f}" for each in (cpu, wall, bare)]
            note = "{} per CPU second, {} by the wall clock; bare aiohttp.web {} per CPU second".format(*rates)
            yield result(target, [cpu], bound=BOUNDS[target], unit="us", note=note)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    yield result("peak memory", [peak], bound=300, unit="MB")
    wall, cpu = start_seconds()
    yield result("start, CPU", [cpu], bound=1.5, unit="s", note=f"{wall:.2f} s by the wall clock")


if __name__ == "__main__":
    command(measure)
