"""Order entry on a journal in a file: no secret is in it."""

from pathlib import Path

from brokerage_async.journal import SqliteJournal
from brokerage_async.order_entry import OrderEntry, Outcome
from brokerage_async.simulator import Simulator
from tests.trading import SMALL, order


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_no_secret_is_in_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "orders.journal"
    async with Simulator(**SMALL) as sim, sim.client() as client, SqliteJournal(path) as journal:  # type: ignore[arg-type]
        placement = await OrderEntry(client, journal).place(sim.account_numbers[0], order("mine"))
        assert placement.outcome is Outcome.PLACED
        token = await client.session.engine.tokens.get()
        written = everything_in(tmp_path)
        assert b"mine" in written
        assert placement.body in written
        for secret in (sim.client_secret, sim.refresh_token, token.reveal().removeprefix("Bearer ")):
            assert len(secret) > 8
            assert secret.encode() not in written
