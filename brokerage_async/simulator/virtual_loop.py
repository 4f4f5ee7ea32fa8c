"""Event loop on virtual time: when every task waits, the clock jumps to the next timer.

Hours pass in milliseconds, and nothing depends on the machine: the same program has the same history. Sockets, threads,
child processes and signals live in real time, so the loop refuses them.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import threading
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any, NoReturn, TypeVarTuple, Unpack

__all__ = ["MAX_TURNS", "DeadlockError", "VirtualLoop", "VirtualTimeError"]

Ts = TypeVarTuple("Ts")

MAX_TURNS: int = 200_000
"""Maximum iterations of a virtual loop without time passing."""


class VirtualTimeError(RuntimeError):
    """Program on virtual time that cannot go on: it uses something real, or does not end."""


class DeadlockError(VirtualTimeError):
    """Every task waits without a timer that could end it, or a task spins and time stands still."""


class _JumpingSelector(selectors.BaseSelector):
    """Selector that never watches anything. Instead of waiting, it advances the clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self._turns = 0
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._keys[fileobj] = key = selectors.SelectorKey(fileobj, fileobj, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError("every task waits without a timer")
        self._turns = 0 if timeout > 0 else self._turns + 1
        if self._turns > MAX_TURNS:
            self._turns = 0
            raise DeadlockError("time stands still: a task spins")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Event loop on virtual time, which starts at second 0.

    Attributes:
        seeded_random: source of the random values of client and order entry in this loop, None for the system's.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seeded_random: random.Random | None = None if seed is None else random.Random(seed)  # noqa: S311
        self._jumping = _JumpingSelector()
        self._owner = threading.get_ident()
        super().__init__(self._jumping)
        self._clock_resolution = 1e-9
        self.set_debug(False)  # under -X dev each of millions of steps would record its stack

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._jumping.now

    def jump(self, seconds: float) -> None:
        """Advance the clock without running anything, as a suspended machine does."""
        self._jumping.now += seconds

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Schedule a callback from the thread of the loop; other threads are refused."""
        if threading.get_ident() != self._owner:
            raise _refusal("a thread")
        return super().call_soon_threadsafe(callback, *args, context=context)


def _refusal(thing: str) -> VirtualTimeError:
    return VirtualTimeError(
        f"{thing} cannot be used on virtual time, which does not wait for the real world: use the client that the "
        "program is given, an in-memory journal, and asyncio.sleep; or run the program on real time against "
        "`async with Simulator()`"
    )


def _refused(thing: str) -> Callable[..., NoReturn]:
    def refuse(self: VirtualLoop, *args: Any, **options: Any) -> NoReturn:
        raise _refusal(thing)

    return refuse


_REAL = {
    "a socket": (
        "create_connection", "create_server", "create_datagram_endpoint", "create_unix_connection",
        "create_unix_server", "connect_accepted_socket", "getaddrinfo", "getnameinfo", "sock_accept", "sock_connect",
        "sock_recv", "sock_recv_into", "sock_recvfrom", "sock_sendall", "sock_sendfile", "sock_sendto", "start_tls",
        "add_reader", "add_writer",
    ),
    "a thread": ("run_in_executor",),
    "a child process": ("subprocess_exec", "subprocess_shell", "connect_read_pipe", "connect_write_pipe"),
    "a signal handler": ("add_signal_handler",),
}  # fmt: skip

for _thing, _methods in _REAL.items():
    for _method in _methods:
        setattr(VirtualLoop, _method, _refused(_thing))
