"""A real PostgreSQL server for the tests: Debian's package, a temporary directory, a socket and no port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


def missing() -> str | None:
    """What keeps the PostgreSQL tests from running here, or None."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed (extra [postgres])"
    if programs() is None:
        return "no PostgreSQL server is installed (Debian package postgresql)"
    if os.geteuid() == 0 and unprivileged() is None:
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


def programs() -> Path | None:
    """The folder that holds initdb and pg_ctl; Debian keeps them off the PATH."""
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


@contextmanager
def postgres_server() -> Iterator[str]:
    """A fresh server; yields its connection string."""
    folder = Path(tempfile.mkdtemp(prefix="journal-"))
    user = unprivileged() if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    binaries, data = programs(), folder / "data"
    assert binaries is not None
    options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=20"

    def run(*command: str | Path) -> None:
        # The server outlives pg_ctl: its output goes to a file, a pipe would be waited for.
        with (folder / "output").open("ab") as output:
            subprocess.run(command, check=True, user=user, cwd=folder, stdout=output, stderr=output)

    try:
        run(binaries / "initdb", "-D", data, "-A", "trust", "-U", "journal", "--no-sync")
        run(binaries / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start")
        try:
            yield f"host={folder} user=journal dbname=postgres"
        finally:
            run(binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
