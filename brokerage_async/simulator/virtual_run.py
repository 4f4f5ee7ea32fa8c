"""Whole programs on virtual time: client, brokerage and the program itself share one clock in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ConfigurationError
from .clock import DEFAULT_START, Clock
from .simulator import Simulator
from .virtual_loop import VirtualLoop, VirtualTimeError

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["run"]

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
    and simulator draw from the seed. The modules ``random`` and ``uuid`` belong to the program; give it a
    ``random.Random(seed)`` of its own where its values must repeat.

    Args:
        main: coroutine function of the program. The client is open, the simulator is reached in memory only.
        start: when the program starts, an aware datetime or its ISO 8601 form such as ``2026-06-10T09:25-04:00``.
        until: simulated time at which ``main`` is cancelled if it still runs, as Ctrl-C does; None: never.
        seed: seed of the random values of simulator, client and order entry.
        client_options: options of the `Client`.
        options: further options of the `Simulator`.

    Returns:
        The result of ``main``; None if it ended by the cancellation at ``until``.

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
    _require_no_loop()
    simulator = Simulator(seed=seed, start=begin, **options)
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(seed), debug=False) as runner:
        return runner.run(_run(main, simulator, end, dict(client_options or {})))


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


def _require_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigurationError(
        "an event loop runs here already: call run() from synchronous code, in pytest from a function without async"
    )


async def _run(
    main: Callable[[Client, Simulator], Coroutine[Any, Any, T]],
    simulator: Simulator,
    end: datetime | None,
    client_options: dict[str, Any],
) -> T | None:
    simulator.clock.now()  # time starts here, not with the first request
    async with simulator.client(**client_options) as client:
        started: object = main(client, simulator)
        if not asyncio.iscoroutine(started):
            raise ConfigurationError(f"main must be an async function of a client and a simulator, got {main!r}")
        program: asyncio.Future[T] = asyncio.ensure_future(started)
        try:
            if end is None:
                return await program
            return await _until(program, simulator, end.timestamp())
        finally:
            program.cancel()
            simulator.settle()


async def _until(program: asyncio.Future[T], simulator: Simulator, end: float) -> T | None:
    while not program.done() and (left := end - simulator.clock.now()) > 0:
        await asyncio.wait({program}, timeout=min(left, _CHECK_INTERVAL))
    if program.done():
        return await program
    program.cancel()
    await asyncio.wait({program}, timeout=_GRACE)
    if not program.done():
        raise VirtualTimeError(f"main still runs {_GRACE:g} virtual seconds after it was cancelled at the end of time")
    return None if program.cancelled() else program.result()
