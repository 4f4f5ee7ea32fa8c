import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from brokerage_async.journal import SqliteJournal
from brokerage_async.simulator.virtual_run import MAX_TURNS, DeadlockError, VirtualLoop, VirtualTimeError
from tests.loops import run_in


async def fetch(address: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(address):
        pass


async def add_signal_handler() -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, print)


async def receive() -> None:
    with contextlib.closing(socket.socket()) as one:
        one.setblocking(False)
        await asyncio.get_running_loop().sock_connect(one, ("127.0.0.1", 1))


async def read_journal() -> None:
    await SqliteJournal(os.devnull).entries("sandbox")


REAL: dict[str, tuple[Callable[[], Awaitable[Any]], str]] = {
    "address": (lambda: fetch("http://127.0.0.1:1/"), "a socket"),
    "name": (lambda: fetch("http://localhost:1/"), "a (socket|thread)"),
    "streams": (lambda: asyncio.open_connection("127.0.0.1", 1), "a socket"),
    "server": (lambda: asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0), "a socket"),
    "raw socket": (receive, "a socket"),
    "thread": (lambda: asyncio.to_thread(print), "a thread"),
    "journal file": (read_journal, "a thread"),
    "process": (lambda: asyncio.create_subprocess_exec("true"), "a child process"),
    "shell": (lambda: asyncio.create_subprocess_shell("true", stdout=subprocess.PIPE), "a child process"),
    "signal": (add_signal_handler, "a signal handler"),
}


@pytest.mark.parametrize("thing", REAL)
def test_real_thing_is_refused_by_name(thing: str) -> None:
    use, name = REAL[thing]

    async def main() -> None:
        await use()

    with pytest.raises(VirtualTimeError, match=f"{name} cannot be used on virtual time.*in-memory journal"):
        run_in(VirtualLoop(), main())


def test_callback_from_another_thread_is_refused() -> None:
    caught: list[Exception] = []

    def call(loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.call_soon_threadsafe(print)
        except VirtualTimeError as error:
            caught.append(error)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon_threadsafe(lambda: None)
        thread = threading.Thread(target=call, args=(loop,))
        thread.start()
        thread.join()

    run_in(VirtualLoop(), main())
    assert [str(error).startswith("a thread cannot be used") for error in caught] == [True]


def test_sleeps_timeouts_and_jumps_take_virtual_time() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.sleep(86400)
        await asyncio.sleep(60)
        return asyncio.get_running_loop().time()

    assert run_in(VirtualLoop(), main()) == 3660

    async def main() -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.jump(50)
        await asyncio.sleep(1)
        return loop.time()

    assert run_in(VirtualLoop(), main()) == 51


def test_wait_without_timer_and_spinning_task_raise() -> None:
    async def spin() -> None:
        for _ in range(2 * MAX_TURNS):
            await asyncio.sleep(0)

    for main in (asyncio.Event().wait, spin):
        with pytest.raises(DeadlockError):
            run_in(VirtualLoop(), main())
