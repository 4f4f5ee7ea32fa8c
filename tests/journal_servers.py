"""A real PostgreSQL server for the tests, places of durable journals, and keys of entries.

The server is Debian's package in a temporary directory, with a socket and no port.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs

from brokerage_async.journal import EntryKey, PostgresJournal, SqliteJournal


@attrs.frozen
class Durable:
    """Place of a durable journal: a file, or a table of a server."""

    kind: str
    where: str
    table: str

    def open(self) -> SqliteJournal | PostgresJournal:
        return SqliteJournal(self.where) if self.kind == "sqlite" else PostgresJournal(self.where, table=self.table)


def key(name: object, account: str = "A1") -> EntryKey:
    return EntryKey("https://api.example.com", "sandbox", account, f"order-{name}")


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path.cwd())}


def missing() -> str | None:
    """Return the reason why the PostgreSQL tests cannot run here, or None."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed (extra [postgres])"
    if programs() is None:
        return "no PostgreSQL server is installed (Debian package postgresql)"
    if os.geteuid() == 0 and unprivileged() is None:
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


def programs() -> Path | None:
    """Return the folder that holds initdb and pg_ctl. Debian keeps them off the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    elsewhere = shutil.which("initdb")
    return Path(elsewhere).parent if elsewhere else None


def unprivileged() -> str | None:
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return None


class PostgresServer:
    """A fresh server in ``folder``, which listens on a socket there and can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        user = unprivileged() if os.geteuid() == 0 else None
        self._as: dict[str, Any] = {"user": user, "cwd": folder}
        self._process: subprocess.Popen[bytes] | None = None
        if user:
            shutil.chown(folder, user)
        self._binaries = programs()
        self._run("initdb", "-D", folder / "data", "-A", "trust", "-U", "journal", "--no-sync").check_returncode()

    @property
    def dsn(self) -> str:
        return f"host={self._folder} user=journal dbname=postgres"

    def start(self) -> None:
        """Start it and wait until it accepts connections."""
        options = ("-k", self._folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=40")
        command = [self._binaries / "postgres", "-D", self._folder / "data", *options]
        with (self._folder / "log").open("ab") as log:
            # Our own child: once killed it is waited for, so that the next start finds no process of its number.
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **self._as)
        deadline = time.monotonic() + 30
        while self._run("pg_isready", "-q", "-h", self._folder).returncode != 0:
            assert self._process.poll() is None, (self._folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, "PostgreSQL did not start in time"
            time.sleep(0.05)

    def kill(self) -> None:
        number = self._process.pid
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        for process in (number, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)

    def _run(self, program: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
        command = [self._binaries / program, *arguments]
        with (self._folder / "output").open("ab") as output:
            return subprocess.run(command, stdout=output, stderr=output, check=False, **self._as)


@contextmanager
def fresh_server(make: Callable[[Path], Any], *, prefix: str) -> Iterator[Any]:
    """Start the server that ``make`` returns for a new folder and yield it. Stop it and remove both afterwards."""
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        server = make(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def mortal_server() -> Iterator[PostgresServer]:
    with fresh_server(PostgresServer, prefix="journal-") as server:
        yield server


@contextmanager
def postgres_server() -> Iterator[str]:
    with mortal_server() as server:
        yield server.dsn
