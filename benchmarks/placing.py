"""Cost of placing one order: CPU time, journal calls and SQL statements of the ordinary case.

    python -m benchmarks.placing [--guarded] [--rounds 60] [--orders 25] [--postgres DSN]

The dry-run is accepted and the submit is answered with the order, by a transport that has both answers ready. With
``--guarded``, order entry with a guard and without one take turns, and ratios are taken within a round.
"""

import asyncio
import gc
import re
import sqlite3
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import attrs

from brokerage_async import tickets
from brokerage_async.journal import MemoryJournal, PostgresJournal, SqliteJournal
from brokerage_async.order_entry import OrderEntry, OrderGuard
from brokerage_async.simulator import Simulator

from .rounds import Result, command, ratios, result, turns

SIZES = {"equities": 60, "equity_options": 10, "chain_rows": 10, "warrants": 5}
IDENTIFIER = re.compile(rb'"external-identifier":"([^"]+)"')
TIMES = re.compile(rb'("(?:received|live|in-flight)-at":)"[^"]+"')


class ReplayingTransport:
    """Keeps its answers to one order, and gives them again at once as soon as submits are prepared."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._recorded: dict[str, Any] = {}
        self._prepared: dict[bytes, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def prepare(self, identifiers: list[str]) -> None:
        """Have the answers to the next submits ready, as if each order arrived a moment after sending."""
        moment = (datetime.now(UTC) + timedelta(seconds=1)).isoformat(timespec="milliseconds").encode()
        recorded = self._recorded["orders.submit"]
        body = TIMES.sub(rb'\1"%b"' % moment, recorded.body)
        for name in map(str.encode, identifiers):
            self._prepared[name] = attrs.evolve(recorded, body=body.replace(b'"recorded"', b'"%b"' % name))

    async def send(self, request: Any) -> Any:
        name = request.operation.name
        if not self._prepared or name not in ("orders.dry_run", "orders.submit"):
            self._recorded[name] = await self._inner.send(request)
        elif name == "orders.submit":
            return self._prepared.pop(IDENTIFIER.findall(request.body)[0])
        return self._recorded[name]


@contextmanager
def counted_statements(ran: list[str]) -> Iterator[None]:
    """Append every statement of the connections opened within to ``ran``."""
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(ran.append)
        return connection

    with ExitStack() as patches:
        patches.enter_context(mock.patch("sqlite3.connect", traced))
        with suppress(ImportError):
            from psycopg import AsyncCursor

            execute = AsyncCursor.execute

            def noted(cursor: Any, query: Any, *arguments: Any, **options: Any) -> Any:
                ran.append(query.decode() if isinstance(query, bytes) else str(query))
                return execute(cursor, query, *arguments, **options)

            patches.enter_context(mock.patch.object(AsyncCursor, "execute", noted))
        yield


GUARD = OrderGuard(
    max_order_value=10**6,
    max_order_quantity=10**6,
    symbols=["AAPL"],
    instrument_types=["Equity"],
    max_value_per_minute=10**9,
    max_value_per_day=10**9,
    max_orders_per_minute=10**6,
    max_orders_per_day=10**6,
)
"""Every cap that needs no request."""


class Floor:
    """Brokerage that answers at once, and order entry with or without a guard."""

    def __init__(self) -> None:
        self._sim = Simulator(**SIZES)
        self._transport = ReplayingTransport(self._sim.transport())
        self.client = self._sim.client(transport=self._transport)

    async def prepare(self) -> None:
        """Record the simulator's answers to one order."""
        await OrderEntry(self.client, MemoryJournal()).place(*self._order("recorded"))

    async def count(self, journal: Any, guard: OrderGuard | None) -> str:
        """Return the method calls and the statements of one placement, in words."""
        ran: list[str] = []
        with counted_statements(ran):
            counting = mock.Mock(wraps=journal)
            entry = OrderEntry(self.client, counting, guard=guard)
            await self.place(entry, 1)
            counting.reset_mock()
            ran.clear()
            await self.place(entry, 1)
            calls, statements = Counter(name for name, *_ in counting.method_calls), [each.split()[0] for each in ran]
            await journal.aclose()
        named = ", ".join(method if count == 1 else f"{count} {method}" for method, count in calls.items())
        listed = f"{len(statements)} statements ({'; '.join(statements) or 'none'})"
        return f"{sum(calls.values())} journal calls ({named}), {listed}"

    async def place(self, entry: OrderEntry, orders: int) -> float:
        """Return the CPU microseconds of this process for each of ``orders`` placements."""
        names = [str(uuid.uuid4()) for _ in range(orders)]
        self._transport.prepare(names)
        prepared = [self._order(name) for name in names]
        gc.collect()
        gc.disable()
        started = time.process_time()
        for account, order in prepared:
            await entry.place(account, order)
        taken = time.process_time() - started
        gc.enable()
        return taken / orders * 1e6

    def _order(self, identifier: str) -> tuple[str, Any]:
        ticket = tickets.limit(tickets.buy_to_open("AAPL", 1), price="10")
        return self._sim.account_numbers[0], attrs.evolve(ticket, external_identifier=identifier)


def journal_of(kind: str, folder: str, dsn: str) -> Any:
    """Return a new journal of a kind."""
    name = uuid.uuid4().hex
    if kind == "PostgresJournal":
        return PostgresJournal(dsn, table=f"placing_{name[:12]}")
    return MemoryJournal() if kind == "MemoryJournal" else SqliteJournal(Path(folder) / f"{name}.journal")


def drop_tables(dsn: str) -> None:
    """Drop the tables of this run, and of runs that were killed."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE tablename ~ '^placing_[0-9a-f]{12}$'")
        for (name,) in names.fetchall():
            connection.execute(f'DROP TABLE "{name}"')


def measure(
    rounds: int = 60, orders: int = 25, postgres: str = "", folder: str = "", *, guarded: bool = False
) -> list[Result]:
    """Print the counts, then measure the times, and the ratio of order entry with a guard to one without.

    ``postgres`` is the DSN of a database for PostgresJournal, ``folder`` is for the files of SqliteJournal.
    """
    journals = ["MemoryJournal", "SqliteJournal", *(["PostgresJournal"] if postgres else [])]
    guards = {"guarded": GUARD, "without a guard": None} if guarded else {"without a guard": None}

    async def main(files: str) -> list[Result]:
        floor, found = Floor(), []
        async with floor.client:
            await floor.prepare()
            for kind in journals:
                entries: dict[str, OrderEntry] = {}
                for name, guard in guards.items():
                    print(f"{kind}: {name}: {await floor.count(journal_of(kind, files, postgres), guard)}", flush=True)
                    entries[name] = OrderEntry(floor.client, journal_of(kind, files, postgres), guard=guard)
                    await floor.place(entries[name], 20)
                placing = {name: partial(floor.place, entry, orders) for name, entry in entries.items()}
                taken = await turns(placing, rounds, warm_up=0)
                found += [
                    result(f"through the client, {kind}: {name}", each, unit="µs") for name, each in taken.items()
                ]
                if guarded:
                    found.append(result(f"through the client, {kind}: ratio", ratios(*taken.values())))
                for entry in entries.values():
                    await entry.journal.aclose()
        return found

    with tempfile.TemporaryDirectory(dir=folder or None) as files:
        found = asyncio.run(main(files))
    if postgres:
        drop_tables(postgres)
    return found


if __name__ == "__main__":
    command(measure)
