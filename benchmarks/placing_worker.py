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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs

from brokerage_async import tickets
from brokerage_async.journal import MemoryJournal, PostgresJournal, SqliteJournal
from brokerage_async.order_entry import OrderEntry
from brokerage_async.simulator import Simulator

SIZES = {"equities": 60, "equity_options": 10, "chain_rows": 10, "warrants": 5}
IDENTIFIER = re.compile(rb'"external-identifier":"([^"]+)"')
TIMES = re.compile(rb'("(?:received|live|in-flight)-at":)"[^"]+"')


class Recorder:
    """Transport and executor that keep the last answer of every operation."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.answers: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def send(self, request: Any) -> Any:
        response = await self._inner.send(request)
        self.answers[request.operation.name] = response
        return response

    async def execute(self, call: Any, **arguments: Any) -> Any:
        answer = await self._inner.execute(call, **arguments)
        self.answers[name_of(call)] = answer
        return answer


def name_of(call: Any) -> str:
    """Return the name of a bound call, or of an operation, which older trees pass."""
    name: str = getattr(call, "operation", call).name
    return name


class ReplayingTransport(Recorder):
    """Answers dry-runs and submits with recorded bytes, under the identifier of the request."""

    replaying = False

    async def send(self, request: Any) -> Any:
        name = request.operation.name
        if not self.replaying or name not in ("orders.dry_run", "orders.submit"):
            return await super().send(request)
        found = IDENTIFIER.search(request.body)
        assert found is not None
        recorded = self.answers[name]
        body = recorded.body.replace(b'"recorded"', b'"%b"' % found[1])
        return type(recorded)(status=recorded.status, headers=recorded.headers, body=body)

    def replay(self) -> None:
        """Answer from the recording, as if each order arrived a moment after sending."""
        moment = datetime.now(UTC) + timedelta(seconds=1)
        for name in ("orders.dry_run", "orders.submit"):
            body = TIMES.sub(rb'\1"%b"' % moment.isoformat(timespec="milliseconds").encode(), self.answers[name].body)
            self.answers[name] = attrs.evolve(self.answers[name], body=body)
        self.replaying = True


class ReplayingExecutor(Recorder):
    """Answers dry-runs and submits with recorded models, so that only order entry is at work."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._submitted: dict[bytes, Any] = {}

    async def execute(self, call: Any, **arguments: Any) -> Any:
        name = name_of(call)
        if not self._submitted or name not in ("orders.dry_run", "orders.submit"):
            return await super().execute(call, **arguments)
        if name == "orders.dry_run":
            return self.answers[name]
        found = IDENTIFIER.search(arguments.get("body", getattr(call, "body", None)))
        assert found is not None
        return self._submitted[found[1]]

    def prepare(self, identifiers: list[str]) -> None:
        """Have the answers of the next submits ready."""
        recorded, moment = self.answers["orders.submit"], datetime.now(UTC) + timedelta(seconds=1)
        for name in identifiers:
            order = attrs.evolve(recorded.order, external_identifier=name, received_at=moment)
            self._submitted[name.encode()] = attrs.evolve(recorded, order=order)


class CountingJournal:
    """Journal whose method calls are counted."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.calls = Counter[str]()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if not callable(method) or name.startswith("_"):
            return method

        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls[name] += 1
            return method(*arguments, **options)

        return counted


@contextmanager
def counted_statements(ran: list[str]) -> Iterator[None]:
    """Append every statement of the connections opened within to ``ran``."""
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(ran.append)
        return connection

    sqlite3.connect = traced
    with suppress(ImportError):
        import psycopg

        execute = psycopg.AsyncCursor.execute

        def noted(cursor: Any, query: Any, *arguments: Any, **options: Any) -> Any:
            ran.append(query.decode() if isinstance(query, bytes) else str(query))
            return execute(cursor, query, *arguments, **options)

        psycopg.AsyncCursor.execute = noted
    try:
        yield
    finally:
        sqlite3.connect = connect
        if "psycopg" in sys.modules:
            psycopg.AsyncCursor.execute = execute


class Floor:
    """Brokerage that answers at once, and order entry over every journal that is to be measured."""

    def __init__(self, folder: str, dsn: str, options: dict[str, Any]) -> None:
        self._options = options
        self._sim = Simulator(**SIZES)
        self._transport = ReplayingTransport(self._sim.transport())
        self._client = self._sim.client(transport=self._transport)
        self._executor = ReplayingExecutor(self._client.session)
        self._folder, self._dsn = Path(folder), dsn
        self._entries: dict[tuple[str, str], OrderEntry] = {}

    async def prepare(self) -> None:
        """Record the simulator's answers to one order."""
        await OrderEntry(self._trader("order entry"), MemoryJournal()).place(*self._order("recorded"))
        self._transport.replay()

    async def measure(self, through: str, journal: str, orders: int) -> float:
        """Return the CPU microseconds of this process for each of ``orders`` placements."""
        entry = self._entries.get((through, journal))
        if entry is None:
            entry = OrderEntry(self._trader(through), self._journal(journal), **self._options)
            self._entries[through, journal] = entry
            await self._place(entry, 20)
        return await self._place(entry, orders)

    async def count(self, journal: str) -> tuple[dict[str, int], list[str]]:
        """Return the method calls and the statements of one placement."""
        ran: list[str] = []
        with counted_statements(ran):
            made = CountingJournal(self._journal(journal))
            entry = OrderEntry(self._trader("order entry"), made, **self._options)
            await self._place(entry, 1)
            made.calls.clear()
            ran.clear()
            await self._place(entry, 1)
            calls, statements = dict(made.calls), [statement.split()[0] for statement in ran]
            await made.aclose()
        return calls, statements

    async def aclose(self) -> None:
        """Close the journals and the client, and drop the table."""
        for entry in self._entries.values():
            await entry.journal.aclose()
        await self._client.aclose()

    async def _place(self, entry: OrderEntry, orders: int) -> float:
        names = [str(uuid.uuid4()) for _ in range(orders)]
        self._executor.prepare(names)
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

    def _trader(self, through: str) -> Any:
        if through == "client":
            return self._client
        return SimpleNamespace(session=self._executor, environment=self._client.environment)

    def _journal(self, kind: str) -> Any:
        made: dict[str, Callable[[], Any]] = {
            "MemoryJournal": MemoryJournal,
            "SqliteJournal": lambda: SqliteJournal(self._folder / f"{uuid.uuid4().hex}.journal"),
            "PostgresJournal": lambda: PostgresJournal(str(self._dsn), table=f"placing_{uuid.uuid4().hex[:12]}"),
        }
        return made[kind]()


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
