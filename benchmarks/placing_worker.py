"""Worker of `placing`: places orders with the `brokerage_async` on PYTHONPATH and reports the cost.

Run by its path, so that nothing else of this tree is imported. It reads one JSON request a line and answers with one
JSON line. Only public names are used: the tree to measure may be an older or a newer one.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import sqlite3
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import attrs

from brokerage_async import tickets
from brokerage_async.journal import MemoryJournal, PostgresJournal, SqliteJournal
from brokerage_async.order_entry import OrderEntry
from brokerage_async.simulator import Simulator

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


class CountingJournal:
    """Journal whose method calls are counted."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.calls = Counter[str]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found) or name.startswith("_"):
            return found

        def counted(*arguments: Any, **options: Any) -> Any:  # a method that is only looked up is none of the cost
            self.calls[name] += 1
            return found(*arguments, **options)

        return counted


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


class Floor:
    """Brokerage that answers at once, and order entry over every journal that is to be measured."""

    def __init__(self, folder: str, dsn: str, options: dict[str, Any]) -> None:
        self._folder, self._dsn, self._options = Path(folder), dsn, options
        self._sim = Simulator(**SIZES)
        self._transport = ReplayingTransport(self._sim.transport())
        self._client = self._sim.client(transport=self._transport)
        self._entries: dict[str, OrderEntry] = {}

    async def prepare(self) -> None:
        """Record the simulator's answers to one order."""
        await OrderEntry(self._client, MemoryJournal()).place(*self._order("recorded"))

    async def measure(self, journal: str, orders: int) -> float:
        """Return the CPU microseconds of this process for each of ``orders`` placements."""
        if journal not in self._entries:
            self._entries[journal] = OrderEntry(self._client, self._journal(journal), **self._options)
            await self._place(self._entries[journal], 20)
        return await self._place(self._entries[journal], orders)

    async def count(self, journal: str) -> tuple[dict[str, int], list[str]]:
        """Return the method calls and the statements of one placement."""
        ran: list[str] = []
        with counted_statements(ran):
            made = CountingJournal(self._journal(journal))
            entry = OrderEntry(self._client, made, **self._options)
            await self._place(entry, 1)
            made.calls.clear()
            ran.clear()
            await self._place(entry, 1)
            calls, statements = dict(made.calls), [statement.split()[0] for statement in ran]
            await made.aclose()
        return calls, statements

    async def aclose(self) -> None:
        """Close the journals and the client."""
        for entry in self._entries.values():
            await entry.journal.aclose()
        await self._client.aclose()

    async def _place(self, entry: OrderEntry, orders: int) -> float:
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

    def _journal(self, kind: str) -> Any:
        name = uuid.uuid4().hex
        if kind == "PostgresJournal":
            return PostgresJournal(self._dsn, table=f"placing_{name[:12]}")
        return MemoryJournal() if kind == "MemoryJournal" else SqliteJournal(self._folder / f"{name}.journal")


def drop_tables(dsn: str) -> None:
    """Drop the tables of this worker, and of workers that were killed."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE tablename ~ '^placing_[0-9a-f]{12}$'")
        for (name,) in names.fetchall():
            connection.execute(f'DROP TABLE "{name}"')


def guard() -> dict[str, Any]:
    """Return the option of a guard with every cap that needs no request. Older trees have none."""
    from brokerage_async.order_entry import OrderGuard

    caps = {"max_order_value": 10**6, "max_order_quantity": 10**6, "symbols": ["AAPL"], "instrument_types": ["Equity"]}
    sums = dict.fromkeys(("max_value_per_minute", "max_value_per_day"), 10**9)
    return {"guard": OrderGuard(**caps, **sums, max_orders_per_minute=10**6, max_orders_per_day=10**6)}


def main(folder: str, dsn: str = "", guarded: str = "") -> None:
    """Answer requests until the input ends."""
    with asyncio.Runner() as runner:
        floor = Floor(folder, dsn, guard() if guarded else {})
        runner.run(floor.prepare())
        for line in sys.stdin:
            name, *arguments = json.loads(line)
            print(json.dumps(runner.run(getattr(floor, name)(*arguments))), flush=True)
        runner.run(floor.aclose())
    if dsn:
        drop_tables(dsn)


if __name__ == "__main__":
    main(*sys.argv[1:])
