"""Whole programs on virtual time: client, brokerage and the program itself share one clock in memory.

When every task waits, the clock jumps to the next timer. Hours pass in milliseconds, and nothing depends on the
machine: the same program has the same history. Sockets, threads, child processes and signals live in real time, so the
loop refuses them.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import Context
from datetime import datetime
from functools import partialmethod
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, TypeVarTuple, Unpack

from ..errors import ConfigurationError
from .clock import DEFAULT_START, Clock
from .simulator import Simulator

if TYPE_CHECKING:
    from ..client import Client

Ts = TypeVarTuple("Ts")

MAX_TURNS: int = 200_000
"""Maximum iterations of a virtual loop without time passing."""


class VirtualTimeError(RuntimeError):
    """Program on virtual time that cannot go on: it uses something real, or does not end."""


class DeadlockError(VirtualTimeError):
    """Every task waits without a timer that could end it, or a task spins and time stands still."""


class _JumpingSelector(selectors.SelectSelector):
    """Selector that never watches anything. Instead of waiting, it advances the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self._turns = 0

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
        """Schedule a callback from the thread of the loop. Other threads are refused."""
        if threading.get_ident() != self._owner:
            _refuse(self, "a thread")
        return super().call_soon_threadsafe(callback, *args, context=context)


def _refuse(_: VirtualLoop, thing: str, *args: Any, **options: Any) -> NoReturn:
    raise VirtualTimeError(
        f"{thing} cannot be used on virtual time, which does not wait for the real world: use the client that the "
        "program is given, an in-memory journal, and asyncio.sleep; or run the program on real time against "
        "`async with Simulator()`"
    )


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
        setattr(VirtualLoop, _method, partialmethod(_refuse, _thing))

T = TypeVar("T")

_GRACE = 3600.0
"""Virtual seconds that a program may take to end after it is cancelled."""
_CHECK_INTERVAL = 60.0
"""Virtual seconds between two looks at the simulated clock, which the program may have moved."""


def run(
    main: Callable[[Client, Simulator], Coroutine[Any, Any, T]],
    *,
    start: datetime | str = DEFAULT_START,
    until: datetime | str | None = None,
    seed: int = 0,
    client_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> T | None:
    """Run ``await main(client, simulator)`` on virtual time and return its result.

    Waiting takes no real time: `asyncio.sleep`, timeouts, polling and fills happen at the virtual moment that they are
    due. The same program with the same seed has the same history, byte for byte (`Ledger.history`): client, order entry
    and simulator draw from the seed. The modules ``random`` and ``uuid`` belong to the program. Give it its own
    ``random.Random(seed)`` where its values must repeat.

    Args:
        main: coroutine function of the program. The client is open, the simulator is reached in memory only.
        start: when the program starts, an aware datetime or its ISO 8601 form such as ``2026-06-10T09:25-04:00``.
        until: simulated time when ``main`` is cancelled if it still runs, as Ctrl-C does. None: never.
        seed: seed of the random values of simulator, client and order entry.
        client_options: options of the `Client`.
        options: further options of the `Simulator`.

    Returns:
        The result of ``main``. None if it ended by the cancellation at ``until``.

    Raises:
        ConfigurationError: a time is not valid, ``main`` is not an async function, or an event loop runs here already.
        VirtualTimeError: the program uses a socket, thread, child process or signal handler, waits for something that
            never happens, or goes on for an hour after it was cancelled.
    """
    begin, end = _moment("start", start), None if until is None else _moment("until", until)
    try:
        Clock(begin)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    if end is not None and end <= begin:
        raise ConfigurationError(f"until must be after start, got {until!r}")
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise ConfigurationError(
            "an event loop runs here already: call run() from synchronous code, in pytest from a function without async"
        )
    simulator = Simulator(seed=seed, start=begin, **options)

    async def run_main() -> T | None:
        simulator.clock.now()  # time starts here, not with the first request
        async with simulator.client(**(client_options or {})) as client:
            started: object = main(client, simulator)
            if not asyncio.iscoroutine(started):
                raise ConfigurationError(f"main must be an async function of a client and a simulator, got {main!r}")
            program: asyncio.Future[T] = asyncio.ensure_future(started)
            try:
                if end is None:
                    return await program
                while not program.done() and (left := end.timestamp() - simulator.clock.now()) > 0:
                    await asyncio.wait({program}, timeout=min(left, _CHECK_INTERVAL))
                if program.done():
                    return await program
                program.cancel()
                await asyncio.wait({program}, timeout=_GRACE)
                if not program.done():
                    late = f"main still runs {_GRACE:g} virtual seconds after it was cancelled at the end of time"
                    raise VirtualTimeError(late)
                return None if program.cancelled() else program.result()
            finally:
                program.cancel()
                simulator.settle()

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(seed), debug=False) as runner:
        return runner.run(run_main())


def _moment(name: str, value: datetime | str) -> datetime:
    """Return an aware datetime or raise ConfigurationError."""
    moment: object = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ConfigurationError(
            f"{name} must be an aware datetime or an ISO 8601 time with a zone such as 2026-06-10T09:25-04:00, "
            f"got {value!r}"
        )
    return moment
