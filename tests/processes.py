"""Programs that tests run, and processes that they fork from a warm parent, each with a pipe for its messages."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

import attrs

from brokerage_async.client import Client
from brokerage_async.config import settings_from_env
from brokerage_async.simulator import Simulator
from tests.documents import ROOT

PROCESSES: Any = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
DRIVER = ("brokerage_async.journal.postgres", "psycopg")
"""Modules of a journal on PostgreSQL, which take longer to load than a worker needs for all else."""


@asynccontextmanager
async def program(
    *arguments: str | Path, cwd: Path = ROOT, env: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run Python with these arguments until the end of the block. All its output comes through one pipe."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def run_program(*arguments: str | Path, seconds: float | None = 60, **options: Any) -> tuple[int | None, str]:
    """Run Python to its end, or for some seconds. Return its exit code, -9 if it was killed, and its output."""
    output = b""
    async with program(*arguments, **options) as process:
        with contextlib.suppress(TimeoutError):
            output, _ = await asyncio.wait_for(process.communicate(), seconds)
    return process.returncode, output.decode()


def preload(*modules: str) -> None:
    PROCESSES.set_forkserver_preload([*modules, "aiohttp", "brokerage_async.http.transport"])


def _run(work: Callable[..., Any], *arguments: Any) -> None:
    result = work(*arguments)
    if asyncio.iscoroutine(result):
        asyncio.run(result)


@attrs.frozen
class Service:
    """How workers reach the brokerage, and the engine if they need one."""

    environ: dict[str, str]
    engine: str

    @classmethod
    def of(cls, sim: Simulator, engine: str = "") -> Self:
        return cls(sim.environ, engine)

    @property
    def account(self) -> str:
        return self.environ["BROKERAGE_ACCOUNT"]

    def client(self, **options: Any) -> Client:
        return Client(**settings_from_env(self.environ), **options)


class Crowd:
    """Worker processes. Each is called with its pipe, and sends messages of a kind and a content."""

    def __init__(self) -> None:
        self.messages: list[tuple[int, Any]] = []
        self.ended: set[int] = set()
        self._workers: list[tuple[Any, Connection]] = []
        self._stirred = asyncio.Event()

    def start(self, work: Callable[..., Any], *arguments: Any) -> int:
        """Start a worker, a function or a coroutine function. Return its number."""
        here, there = PROCESSES.Pipe()
        process = PROCESSES.Process(target=_run, args=(work, there, *arguments), daemon=True)
        process.start()
        there.close()
        number = len(self._workers)
        self._workers.append((process, here))
        asyncio.get_running_loop().add_reader(here.fileno(), self._receive, number, here)
        return number

    def go(self) -> None:
        """Let all workers begin, or go on."""
        for _, channel in self._workers:
            with contextlib.suppress(OSError):
                channel.send("go")

    async def end(self, number: int) -> int | None:
        """Kill a worker that has not ended. Return its exit code, -9 if it was killed."""
        process, _ = self._workers[number]
        if number in self.ended:  # it has closed its pipe
            await asyncio.to_thread(process.join, 10)
        process.kill()
        await asyncio.to_thread(process.join)
        return process.exitcode  # type: ignore[no-any-return]

    def kill(self, number: int, sign: int = signal.SIGKILL) -> None:
        os.kill(self._workers[number][0].pid, sign)

    async def wait_for(self, enough: Callable[[Self], bool], seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while not enough(self):
                self._stirred.clear()
                await self._stirred.wait()

    async def wait_for_all(self, seconds: float) -> None:
        await self.wait_for(lambda crowd: len(crowd.ended) == len(crowd._workers), seconds)

    def of(self, kind: str) -> list[tuple[int, Any]]:
        """Return the worker and content of every message of a kind."""
        return [(number, content) for number, (name, content) in self.messages if name == kind]

    def close(self) -> None:
        for process, channel in self._workers:
            with contextlib.suppress(ValueError, OSError):
                asyncio.get_running_loop().remove_reader(channel.fileno())
            process.kill()
            process.join()
            channel.close()

    def note(self, number: int, kind: str, content: Any) -> None:
        self.messages.append((number, (kind, content)))

    def _receive(self, number: int, channel: Connection) -> None:
        try:
            while channel.poll():
                self.note(number, *channel.recv())
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(channel.fileno())
            self.ended.add(number)
        self._stirred.set()


C = TypeVar("C", bound=Crowd)


@asynccontextmanager
async def crowd(kind: type[C] = Crowd) -> AsyncIterator[C]:  # type: ignore[assignment]
    opened = kind()
    try:
        yield opened
    finally:
        opened.close()
