"""Rules for every test: sockets reach loopback only, virtual time by marker, one hypothesis profile."""

import asyncio
import contextlib
import gc
import inspect
import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Generator
from typing import Any

import hypothesis
import pytest

from tests.loops import VirtualLoop, leaving_no_task
from tests.served_versions import serve_versions

hypothesis.settings.register_profile("project", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("project")


def pytest_configure() -> None:
    serve_versions()


def pytest_sessionstart() -> None:
    """Set no event loop, before pytest-asyncio asks for the current one and thereby leaves one unclosed.

    A shell makes its background jobs ignore SIGINT, and the programs that tests interrupt would inherit that. A console
    that is made while COLUMNS is set keeps that width, and pytest-xdist sets it.
    """
    asyncio.set_event_loop(None)
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    pytest.MonkeyPatch().setattr(socket.socket, "connect", connect_to_loopback_only)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave modules and tests out of garbage collection: there are a million objects, and none becomes garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run tests with the marker ``virtual_time`` in a `VirtualLoop`, the others in an ordinary loop."""
    marker = item.get_closest_marker("virtual_time")
    if marker is not None and marker.args != (False,):
        return {"virtual": VirtualLoop}
    return {"ordinary": asyncio.new_event_loop}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Let a coroutine fail that leaves tasks behind, connections of a fixture's server apart."""
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        item.obj = leaving_no_task(item.obj, "RequestHandler")
    return (yield)


REAL_CONNECT = socket.socket.connect


def connect_to_loopback_only(self: socket.socket, address: Any) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6):
        host, inside = address[0], False
        with contextlib.suppress(ValueError):
            inside = host == "localhost" or ipaddress.ip_address(host).is_loopback
        if not inside:
            raise PermissionError(f"tests may connect to loopback only, got {host}")
    REAL_CONNECT(self, address)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Remove BROKERAGE_ variables and the size of the terminal from the environment.

    A hook, as a fixture for every one of 20,000 tests costs more than many of them do.
    """
    for name in [name for name in os.environ if name.startswith("BROKERAGE_") or name in ("COLUMNS", "LINES")]:
        del os.environ[name]
