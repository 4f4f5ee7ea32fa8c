"""A real PostgreSQL server for the tests, links to it that fail, and programs on a durable journal.

The server is Debian's package in a temporary directory, with a socket and no port.
"""

import asyncio
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs

from brokerage_async.journal import PostgresJournal, SqliteJournal


@attrs.frozen
class Durable:
    """Place of a durable journal: a file, or a table of a server."""

    kind: str
    where: str
    table: str

    def open(self) -> SqliteJournal | PostgresJournal:
        return SqliteJournal(self.where) if self.kind == "sqlite" else PostgresJournal(self.where, table=self.table)


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path.cwd())}
PREAMBLE = """
import asyncio, os, sys
from brokerage_async.journal import EntryKey, JournalError
from tests.journal_servers import Durable

journal, name = Durable(*sys.argv[1:4]).open(), sys.argv[-1]

async def ready():
    await journal.now()
    print("ready", flush=True)
    sys.stdin.readline()
"""


def command_of(program: str, durable: Durable, *arguments: str) -> list[str]:
    """Return the command of a program in a separate process, which finds its ``journal`` open."""
    return [sys.executable, "-c", PREAMBLE + program, durable.kind, durable.where, durable.table, *arguments]


def start_together(program: str, durable: Durable, count: int) -> list[subprocess.Popen[str]]:
    """Start a program ``count`` times, and let all go on at the same moment once they are ready."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    commands = [command_of(program, durable, f"p{number}") for number in range(count)]
    processes = [subprocess.Popen(command, **pipes) for command in commands]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return processes


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
        self._user = unprivileged() if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        if self._user:
            shutil.chown(folder, self._user)
        self._binaries = programs()
        self._run("initdb", "-D", folder / "data", "-A", "trust", "-U", "journal", "--no-sync").check_returncode()

    @property
    def dsn(self) -> str:
        return f"host={self._folder} user=journal dbname=postgres"

    @property
    def socket(self) -> Path:
        return self._folder / ".s.PGSQL.5432"

    def start(self) -> None:
        """Start it and wait until it accepts connections."""
        options = ("-k", self._folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=40")
        with (self._folder / "log").open("ab") as log:
            # Our own child: once killed it is waited for, so that the next start finds no process of its number.
            self._process = subprocess.Popen(
                [self._binaries / "postgres", "-D", self._folder / "data", *options],
                user=self._user,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
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
        with (self._folder / "output").open("ab") as output:
            return subprocess.run(
                [self._binaries / program, *arguments],
                user=self._user,
                cwd=self._folder,
                stdout=output,
                stderr=output,
                check=False,
            )


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


class Link:
    """Link to the server that is slow, falls silent, or loses an answer together with its connection.

    Its ``str`` is the connection string to use in place of the server's.
    """

    def __init__(self, dsn: str, folder: Path, delay: float) -> None:
        where = re.search(r"host=(\S+)", dsn)
        self._server = f"{where[1]}/.s.PGSQL.5432"
        self._dsn = dsn.replace(where[0], f"host={folder}")
        self._delay = delay
        self._losing = False
        self._tasks = list[asyncio.Task[None]]()
        self._writers = list[asyncio.StreamWriter]()
        self.silent = False
        self.lost = 0

    def __str__(self) -> str:
        return self._dsn

    def lose_answer(self) -> None:
        """Pass on the next statement, and break its connection in place of the answer."""
        self._losing = True

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_unix_connection(self._server)
        self._writers += (writer, requests)
        for source, sink, other in ((reader, requests, writer), (answers, writer, requests)):
            self._tasks.append(asyncio.create_task(self._pump(source, sink, other, is_answer=source is answers)))

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, other: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                if self.silent:
                    continue
                if is_answer and self._losing:
                    self._losing, self.lost = False, self.lost + 1
                    other.close()
                    break
                if self._delay:  # data under way does not delay the data behind it
                    asyncio.get_running_loop().call_later(self._delay, sink.write, data)
                else:
                    sink.write(data)
        await asyncio.sleep(self._delay)
        if not self.silent:
            sink.close()

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)


@asynccontextmanager
async def link_to(dsn: str, *, delay: float = 0.0) -> AsyncIterator[Link]:
    """Open a link to the server at ``dsn`` with a ``delay`` each way."""
    with tempfile.TemporaryDirectory(prefix="link-") as folder:
        link = Link(dsn, Path(folder), delay)
        listening = await asyncio.start_unix_server(link.accept, f"{folder}/.s.PGSQL.5432")
        try:
            yield link
        finally:
            listening.close()
            await link.aclose()
