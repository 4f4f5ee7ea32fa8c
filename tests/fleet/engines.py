"""Real Redis and Valkey servers for the tests: Debian's packages, on a free loopback port, in a temporary folder."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from tests.journal_servers import fresh_server

ENGINE = os.environ.get("FLEET_ENGINE", "redis-server")


def missing(engine: str = ENGINE) -> str | None:
    """Return the reason why tests with an engine cannot run here, or None."""
    if find_spec("redis") is None:
        return "redis-py is not installed (extra [redis])"
    if find_spec("cryptography") is None:
        return "cryptography is not installed (extra [redis])"
    if shutil.which(engine) is None:
        return f"{engine} is not installed (Debian package {engine})"
    return None


class EngineServer:
    """A server in ``folder`` that can be killed, paused and started again on the same port.

    ``append_only``: whether it keeps its data over a kill, in a file that every write is flushed to.
    """

    def __init__(
        self, folder: Path, *, engine: str = ENGINE, append_only: bool = False, password: str | None = None
    ) -> None:
        self._folder = folder
        self._password = password
        self.port = free_port()
        options = {
            "bind": "127.0.0.1",
            "port": self.port,
            "dir": folder,
            "save": "",
            "appendonly": "yes" if append_only else "no",
            "appendfsync": "always",
            "enable-debug-command": "yes",
        }
        if password is not None:
            options["requirepass"] = password
        self._command = [engine, *(str(word) for name, value in options.items() for word in (f"--{name}", value))]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        login = "" if self._password is None else f":{self._password}@"
        return f"redis://{login}127.0.0.1:{self.port}/0"

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 20
        while not answers(self.port):
            assert self._process.poll() is None, (self._folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, "the engine did not start in time"
            time.sleep(0.02)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._process.wait()

    def pause(self) -> None:
        """Stop it with SIGSTOP: connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def _signal(self, number: int) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, number)


@contextmanager
def engine_server(
    engine: str = ENGINE, *, append_only: bool = False, password: str | None = None
) -> Iterator[EngineServer]:
    def make(folder: Path) -> EngineServer:
        return EngineServer(folder, engine=engine, append_only=append_only, password=password)

    with fresh_server(make, prefix="engine-") as server:
        yield server


def answers(port: int) -> bool:
    """Return whether an engine listens on a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as link:
        link.sendall(b"PING\r\n")
        return link.recv(64).startswith((b"+PONG", b"-NOAUTH"))
    return False


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
