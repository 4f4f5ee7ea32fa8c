"""Processes that work one account together: forked from a warm parent, started at once, each with a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from typing import Any

import attrs

from brokerage_async import Client, tickets
from brokerage_async.config import Environment, RefreshToken
from brokerage_async.journal import MemoryJournal
from brokerage_async.simulator import Simulator

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "tests.fleet.crowd",
        "tests.fleet.workers",
        "tests.fleet.warm",
        "aiohttp",
        "redis.asyncio",
        "brokerage_async.http.transport",
    ]
)


@attrs.frozen(kw_only=True)
class Service:
    """How workers reach the brokerage and the engine."""

    base_url: str
    client_secret: str
    refresh_token: str
    account: str
    engine: str

    @classmethod
    def of(cls, sim: Simulator, engine: str) -> Service:
        return cls(
            base_url=sim.base_url,
            client_secret=sim.client_secret,
            refresh_token=sim.refresh_token,
            account=sim.account_numbers[0],
            engine=engine,
        )

    def client(self, **options: Any) -> Client:
        credentials = RefreshToken(client_secret=self.client_secret, refresh_token=self.refresh_token)
        return Client(Environment.sandbox(self.base_url), credentials, **options)


def small_simulator(**options: Any) -> Simulator:
    """Return a simulator with short lists, which starts at once."""
    return Simulator(equities=20, equity_options=20, chain_rows=20, warrants=5, **options)


def prefer_the_service() -> None:
    """Let this process, which is the service, go before the workers if the system allows it.

    It stands for another machine: on a busy one it would count requests when it gets to them, not when they arrive.
    """
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)


async def warm_up(sim: Simulator) -> None:
    """Let the simulator build what it builds with its first order."""
    async with sim.client() as client:
        order = tickets.limit(tickets.buy_to_open("AAPL", 1), price="10")
        await client.order_entry(MemoryJournal()).place(sim.account_numbers[0], order)


class Crowd:
    """Worker processes; each sends messages, and a last one when it is done."""

    def __init__(self) -> None:
        self.messages: list[tuple[int, Any]] = []
        self.ended: set[int] = set()
        self._workers: list[tuple[Any, Connection]] = []
        self._stirred = asyncio.Event()

    def start(self, work: Callable[..., None], *arguments: Any) -> int:
        """Start a worker; return its number."""
        here, there = PROCESSES.Pipe()
        process = PROCESSES.Process(target=work, args=(there, *arguments), daemon=True)
        process.start()
        there.close()
        number = len(self._workers)
        self._workers.append((process, here))
        asyncio.get_running_loop().add_reader(here.fileno(), self._receive, number, here)
        return number

    def go(self) -> None:
        """Let all workers begin."""
        for _, channel in self._workers:
            with contextlib.suppress(OSError):
                channel.send("go")

    def kill(self, number: int, sign: int = signal.SIGKILL) -> None:
        """Send a signal to a worker."""
        os.kill(self._workers[number][0].pid, sign)

    async def wait_for(self, enough: Callable[[Crowd], bool], seconds: float) -> None:
        """Wait until ``enough`` holds."""
        async with asyncio.timeout(seconds):
            while not enough(self):
                self._stirred.clear()
                await self._stirred.wait()

    async def wait_for_all(self, seconds: float) -> None:
        """Wait until every worker has ended."""
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

    def _receive(self, number: int, channel: Connection) -> None:
        try:
            while channel.poll():
                self.messages.append((number, channel.recv()))
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(channel.fileno())
            self.ended.add(number)
        self._stirred.set()


@asynccontextmanager
async def crowd() -> AsyncIterator[Crowd]:
    """Yield a crowd whose workers are killed at the end."""
    opened = Crowd()
    try:
        yield opened
    finally:
        opened.close()


def as_table(rows: Mapping[str, object]) -> str:
    """Return figures, one a line."""
    return "\n".join(f"  {name:44s} {value}" for name, value in rows.items())
