"""Order entry on a real journal: the bytes on disk, and the outcome when the disk is full."""

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

from brokerage_async.journal import EntryKey, EntryState, JournalError, SqliteJournal
from brokerage_async.order_entry import OrderEntry, Outcome
from brokerage_async.simulator import Simulator
from tests.trading import SMALL, order


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_no_secret_is_in_the_journal(tmp_path: Path) -> None:
    path, options = tmp_path / "orders.journal", dict[str, Any](SMALL)
    async with Simulator(**options) as sim, sim.client() as client, SqliteJournal(path) as journal:
        placement = await OrderEntry(client, journal).place(sim.account_numbers[0], order("mine"))
        assert placement.outcome is Outcome.PLACED
        token = await client.session.engine.tokens.get()
        written = everything_in(tmp_path)
        assert b"mine" in written
        for secret in (sim.client_secret, sim.refresh_token, token.reveal().removeprefix("Bearer ")):
            assert len(secret) > 8
            assert secret.encode() not in written


async def test_the_order_is_on_disk_when_the_submit_arrives(tmp_path: Path) -> None:
    """Read the file while the request is on its way, as another process could."""
    path, options = tmp_path / "orders.journal", dict[str, Any](SMALL)
    async with Simulator(latency=0.2, **options) as sim, sim.client() as client, SqliteJournal(path) as journal:
        sim.faults.add("POST", r"/orders$", "hang_after")
        entry = OrderEntry(client.with_options(timeout=0.5), journal)
        placement = await entry.place(sim.account_numbers[0], order("mine"))
        assert placement.outcome is Outcome.PLACED
        async with SqliteJournal(path) as reader:
            (found,) = await reader.entries("sandbox")
        assert (found.state, found.body) == (EntryState.PLACED, placement.body)


async def test_a_full_disk_stops_the_order_and_says_so(tmp_path: Path) -> None:
    options = dict[str, Any](SMALL)
    async with Simulator(**options) as sim, sim.client() as client, SqliteJournal(tmp_path / "j") as journal:
        await journal.now()
        connection = journal._file._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        await fill(journal)
        with pytest.raises(JournalError, match="database or disk is full"):
            await OrderEntry(client, journal).place(sim.account_numbers[0], order("mine"))
        assert sim.ledger.count("orders.submit") == 0


async def fill(journal: SqliteJournal) -> None:
    """Use up the room that is left in the existing pages."""
    for number in range(1000):
        try:
            await journal.open(
                EntryKey("https://api.example.com", "sandbox", "filler", str(number)), b"x" * 200, owner="o", lease=1
            )
        except JournalError:
            return


LIMITED = """
    import asyncio, os, resource, sys
    from brokerage_async.journal import JournalError, SqliteJournal
    from brokerage_async.order_entry import OrderEntry
    from brokerage_async.simulator import Simulator
    from tests.trading import SMALL, order

    async def main(path, how):
        async with Simulator(**SMALL) as sim, sim.client() as client, SqliteJournal(path) as journal:
            await journal.now()
            if how == "full":
                resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
            else:
                await journal.aclose()
                os.chmod(path, 0o444), os.chmod(os.path.dirname(path), 0o555)
                if os.geteuid() == 0:
                    os.setgroups([]), os.setgid(65534), os.setuid(65534)
                journal = SqliteJournal(path)
            try:
                await OrderEntry(client, journal).place(sim.account_numbers[0], order("mine"))
            except JournalError as error:
                print(sim.ledger.count("orders.submit"), error)
            if how != "full":
                await journal.aclose()

    asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize(("how", "said"), [("full", "disk"), ("read-only", "readonly|unable to open")])
def test_a_disk_that_takes_nothing_stops_the_order(how: str, said: str) -> None:
    """Runs in a separate process that the system keeps from writing."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(LIMITED), str(folder / "orders.journal"), how],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    submits, _, reason = done.stdout.partition(" ")
    assert (submits, "orders.journal cannot be used: " in reason) == ("0", True)
    assert any(word in reason for word in said.split("|")), reason
