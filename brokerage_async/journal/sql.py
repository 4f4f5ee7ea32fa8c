"""Journal over SQL: one set of statements that SQLite and PostgreSQL both understand.

Times are epoch seconds by one clock, ``{now}``: the machine's for SQLite, the server's for PostgreSQL, so that workers
on machines with different clocks agree on when a lease ends.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Self, TypeAlias, TypeVar

import attrs

from ..errors import BrokerageError, InvalidRequestError, OrderRefusedError
from .base import EntryKey, EntryState, Halt, Journal, JournalEntry, JournalError
from .caps import DAY, MAX_SUM, MINUTE, SCALE, Excess, Usage, excesses, objections, stored

R = TypeVar("R")
Rows: TypeAlias = Sequence[Sequence[Any]]
Steps: TypeAlias = Generator[tuple[str, Mapping[str, object]], Rows, R]
"""Statements and their values, each yielded for its rows."""

VERSION = 4
KEY = ", ".join(field.name for field in attrs.fields(EntryKey))
FIELDS = tuple(field.name for field in attrs.fields(JournalEntry))[1:]
TIMES = ("opened_at", "closed_at", "looked_at", "claimed_until")
SUMS = ("minute_orders", "minute_value", "day_orders", "day_value")
UNGUARDED: Mapping[str, object] = dict.fromkeys(("value", "underlying", "bought", "sold", "number", *SUMS))
"""Shares of the caps of a guard, in millionths, and their sums. NULL for an entry that counts towards none."""
ENTRY = f"{KEY}, {', '.join(FIELDS)}"
COLUMNS = f"{ENTRY}, {', '.join(UNGUARDED)}"

SCHEMA = """
CREATE TABLE {table} (
    origin              TEXT NOT NULL,
    environment         TEXT NOT NULL,
    account_number      TEXT NOT NULL,
    external_identifier TEXT NOT NULL,
    body                {binary} NOT NULL,
    state               TEXT NOT NULL,
    attempts            INTEGER NOT NULL,
    order_id            TEXT,
    note                TEXT NOT NULL,
    opened_at           {seconds} NOT NULL,
    closed_at           {seconds},
    looked_at           {seconds},
    owner               TEXT,
    claimed_until       {seconds},
    closed_by           TEXT,
    label               TEXT NOT NULL,
    replaces            TEXT NOT NULL,
    value               BIGINT,
    underlying          TEXT,
    bought              BIGINT,
    sold                BIGINT,
    number              BIGINT,
    minute_orders       BIGINT,
    minute_value        BIGINT,
    day_orders          BIGINT,
    day_value           BIGINT,
    PRIMARY KEY (origin, environment, account_number, external_identifier)
);
CREATE TABLE {table}_halt (
    account_number TEXT NOT NULL,
    label          TEXT NOT NULL,
    reason         TEXT NOT NULL,
    halted_at      {seconds} NOT NULL,
    PRIMARY KEY (account_number, label)
);
CREATE TABLE {table}_trip (
    kind TEXT NOT NULL,
    at   {seconds} NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (kind, at, name)
);
CREATE INDEX {table}_open ON {table} (environment, opened_at) WHERE state = 'open';
CREATE INDEX {table}_last ON {table} (environment, number) WHERE value IS NOT NULL;
CREATE INDEX {table}_used ON {table} (environment, opened_at, state, value) WHERE value IS NOT NULL;
CREATE INDEX {table}_net ON {table} (environment, account_number, underlying, closed_at) WHERE underlying IS NOT NULL
"""
"""Entries, halts (an empty account or label stands for all), and the outcomes that an automatic halt counts."""

SAME_KEY = (
    "origin = :origin AND environment = :environment AND account_number = :account_number "
    "AND external_identifier = :external_identifier"
)

IS_OPEN = f"{SAME_KEY} AND state = 'open'"
IS_HELD = f"{IS_OPEN} AND owner = :owner"

NOW = "SELECT {now}"

OPEN = f"""
INSERT INTO {{table}} AS known ({COLUMNS})
SELECT :origin, :environment, :account_number, :external_identifier, :body, 'open', 1, NULL, '',
       {{now}}, NULL, NULL, :owner, {{now}} + :lease, NULL, :label, :replaces,
       CAST(:value AS BIGINT), CAST(:underlying AS TEXT), CAST(:bought AS BIGINT), CAST(:sold AS BIGINT),
       CAST(:number AS BIGINT), {", ".join(f"CAST(:{name} AS BIGINT)" for name in SUMS)}
 WHERE :exempt = 1 OR NOT EXISTS (SELECT 1 FROM {{table}}_halt) OR NOT EXISTS (
    SELECT 1 FROM {{table}}_halt WHERE account_number IN ('', :account_number) AND label IN ('', :label))
ON CONFLICT ({KEY}) DO UPDATE
   SET state = 'open', attempts = known.attempts + 1, note = '', opened_at = excluded.opened_at,
       closed_at = NULL, looked_at = NULL, owner = excluded.owner, claimed_until = excluded.claimed_until,
       closed_by = NULL, label = excluded.label,
       {", ".join(f"{name} = excluded.{name}" for name in UNGUARDED)}
 WHERE known.state = 'not_sent' AND known.body = excluded.body
   AND (known.closed_by IS NULL OR known.closed_by <> excluded.owner)
RETURNING {{columns}}
"""  # noqa: S608 - constants alone

LAST_SUMS = f"""
SELECT number, opened_at <= {{now}}, {", ".join(SUMS)} FROM {{table}}
 WHERE environment = :environment AND value IS NOT NULL ORDER BY number DESC LIMIT 1
"""  # noqa: S608 - constants alone
"""Upper bounds of the sums: those of the last entry, from which nothing was taken since they were last exact.

They cost the same however many entries there are. An order is judged by exact sums only if these would refuse it, or if
the clock was set back since.
"""

COUNTS = "environment = :environment AND value IS NOT NULL AND state <> 'refused' AND state <> 'not_sent'"
"""A refused or provably unsent order gives its share back, an unknown one keeps it."""
WITHIN = "SELECT COUNT(*) AS orders, COALESCE(SUM(value), 0) AS value FROM {table} WHERE {counts} AND opened_at > {now}"
EXACT_SUMS = f"SELECT * FROM ({WITHIN} - :minute) AS minute, ({WITHIN} - :day) AS day"  # noqa: S608 - constants alone
USED = "SELECT opened_at, value FROM {table} WHERE {counts} AND opened_at > {now} - :day ORDER BY opened_at"

IN_NET = (
    "SELECT external_identifier, bought, sold FROM {table} WHERE environment = :environment "
    "AND account_number = :account_number AND underlying = :underlying AND state NOT IN ('refused', 'not_sent')"
)
NET = f"{IN_NET} AND closed_at IS NULL UNION ALL {IN_NET} AND closed_at > :since"
"""Quantities that entries may buy and sell, which positions and working orders may not show yet."""

FIND = "SELECT {columns} FROM {table} WHERE {same_key}"

FIND_ANY_ORIGIN = """
SELECT {columns} FROM {table} WHERE {same_key}
UNION ALL
SELECT {columns} FROM {table}
 WHERE state = 'open' AND environment = :environment AND account_number = :account_number
   AND external_identifier = :external_identifier AND origin <> :origin
"""

ENTRIES = """
SELECT {columns} FROM {table}
 WHERE (CAST(:environment AS TEXT) IS NULL OR environment = :environment)
   AND (CAST(:origin AS TEXT) IS NULL OR origin = :origin)
   AND (state = CAST(:state AS TEXT) OR (CAST(:state AS TEXT) IS NULL AND state <> 'pruned'))
 ORDER BY opened_at
"""

CLAIM = """
UPDATE {table} SET owner = :owner, claimed_until = {now} + :lease
 WHERE {open} AND (claimed_until IS NULL OR claimed_until <= {now} OR owner = :owner)
RETURNING {columns}
"""
RENEW = "UPDATE {table} SET claimed_until = {now} + :lease WHERE {held} RETURNING attempts"
ATTEMPT = """
UPDATE {table} SET claimed_until = {now} + :lease, attempts = :attempts
 WHERE {held} AND attempts < :attempts AND NOT EXISTS (
    SELECT 1 FROM {table}_halt AS halt
     WHERE halt.account_number IN ('', :account_number) AND halt.label IN ('', {table}.label))
RETURNING attempts
"""
RENEW_MANY = """
UPDATE {table} SET claimed_until = {now} + :lease
 WHERE state = 'open' AND ({key}, owner) IN (VALUES {claims})
RETURNING {key}
"""
RELEASE = """
UPDATE {table} SET owner = NULL, claimed_until = NULL, note = :note,
       looked_at = CASE WHEN :looked = 1 THEN {now} ELSE looked_at END
 WHERE {held} RETURNING attempts
"""
CLOSE = """
UPDATE {table} SET state = :state, order_id = :order_id, note = :note, closed_at = {now},
       owner = NULL, claimed_until = NULL, closed_by = :owner
 WHERE {held} RETURNING attempts
"""
ABANDON = """
UPDATE {table} SET state = 'abandoned', order_id = NULL, note = :note, closed_at = {now},
       owner = NULL, claimed_until = NULL
 WHERE {open} RETURNING attempts
"""
ADOPT = """
UPDATE {table} SET origin = :new_origin, owner = NULL, claimed_until = NULL
 WHERE {open} AND (claimed_until IS NULL OR claimed_until <= {now})
   AND NOT EXISTS (
    SELECT 1 FROM {table} WHERE origin = :new_origin AND environment = :environment
       AND account_number = :account_number AND external_identifier = :external_identifier)
RETURNING attempts
"""

HALT = """
INSERT INTO {table}_halt (account_number, label, reason, halted_at) VALUES (:account_number, :label, :reason, {now})
ON CONFLICT (account_number, label) DO NOTHING RETURNING label
"""
RESUME = "DELETE FROM {table}_halt WHERE account_number = :account_number AND label = :label RETURNING label"
HALTS = "SELECT account_number, label, reason, halted_at FROM {table}_halt ORDER BY halted_at"
HALTED = """
SELECT {columns} FROM {table}
 WHERE state = 'open' AND :account_number IN ('', account_number) AND :label IN ('', label) ORDER BY opened_at
"""

COUNT_OUTCOME = """
INSERT INTO {table}_trip (kind, at, name) VALUES (:kind, {now}, :name) ON CONFLICT (kind, at, name) DO NOTHING
RETURNING kind
"""
TRIP = """
INSERT INTO {table}_halt (account_number, label, reason, halted_at)
SELECT '', '', :reason, {now}
 WHERE (SELECT COUNT(DISTINCT name) FROM {table}_trip WHERE kind = :kind AND at > {now} - :seconds) >= :count
ON CONFLICT (account_number, label) DO NOTHING RETURNING label
"""
FORGET_OUTCOMES = "DELETE FROM {table}_trip WHERE at <= :before RETURNING kind"

PRUNE = """
UPDATE {table} SET state = 'pruned', body = :empty, note = '', order_id = NULL, looked_at = NULL, closed_by = NULL,
       value = CASE WHEN state IN ('refused', 'not_sent') THEN NULL ELSE value END,
       underlying = CASE WHEN state IN ('refused', 'not_sent') THEN NULL ELSE underlying END
 WHERE ({key}) IN (
    SELECT {key} FROM {table}
     WHERE ({key}) > (:origin, :environment, :account_number, :external_identifier)
       AND closed_at < :before AND state NOT IN ('open', 'pruned')
     ORDER BY {key} LIMIT :most)
RETURNING {key}
"""

MAX_PRUNED = 2000
"""Entries that one statement prunes, so that none waits long for it."""
MAX_CLAIMS = 500
"""Claims that one statement renews: five values each, and older SQLite libraries take 32,766 of them."""


def is_created(what: str, table: str, recorded: int | None, columns: Collection[str]) -> bool:
    """Return whether the table exists, or raise JournalError if it is none of this version. ``what`` is its journal."""
    if recorded is not None and recorded > VERSION:
        raise JournalError(
            f"{what} has schema version {recorded}, and this release knows version {VERSION}: "
            "upgrade brokerage-async (nothing was changed)"
        )
    if not columns or set(COLUMNS.split(", ")) <= set(columns):
        return bool(columns)
    if {"external_identifier", "state"} <= set(columns):
        raise JournalError(
            f"{what} is from before the first release (nothing was changed). Its orders may have been placed: read its "
            f"table {table} with an SQL shell, find the outcome of those whose state is open, and begin a new journal "
            "without any of its external identifiers"
        )
    raise JournalError(f"{what} cannot be used: its table is not that of a journal")


def creation(*, table: str, binary: str, seconds: str) -> list[str]:
    """Return the statements that create tables and indexes, with the database's names for bytes and seconds."""
    return SCHEMA.format(table=table, binary=binary, seconds=seconds).split(";")


@lru_cache(maxsize=64)
def text_of(statement: str, *, table: str, now: str) -> str:
    """Return a statement of this module for one table of one database, with ``:names`` to be bound."""
    names = {"columns": ENTRY, "counts": COUNTS, "key": KEY, "same_key": SAME_KEY, "open": IS_OPEN, "held": IS_HELD}
    return statement.format(table=table, now=now, **names)


class SqlJournal(Journal):
    """Methods of a journal over one method that runs statements durably."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @abstractmethod
    async def _perform(self, work: Callable[[], Steps[R]], *, renewal: bool = False, alone: bool = False) -> R:
        """Run the steps of ``work``, and return its result once their effects are durable.

        Each statement is its own transaction. A ``renewal`` must not wait for other statements: the claim that it
        renews may expire. Work ``alone`` is one transaction, during which no other attempt is recorded: it sees those
        that were recorded before, and later ones see its effects. Where a connection breaks, the work is begun again.
        """

    async def _run(
        self, statement: str, values: Mapping[str, object], *, renewal: bool = False, alone: bool = False
    ) -> Rows:
        """Return the rows of one statement."""

        def only() -> Steps[Rows]:
            return (yield statement, values)

        return await self._perform(only, renewal=renewal, alone=alone)

    async def now(self) -> datetime:
        return _time((await self._run(NOW, {}))[0][0])

    async def open(
        self,
        key: EntryKey,
        body: bytes,
        *,
        owner: str,
        lease: float,
        label: str = "",
        replaces: str = "",
        usage: Usage | None = None,
        exempt: bool = False,
    ) -> tuple[JournalEntry, bool]:
        values = {
            **_names(key), "body": body, "owner": owner, "lease": lease, "label": label, "replaces": replaces,
            "exempt": int(exempt), **_shares(usage),
        }  # fmt: skip
        opened = await self._perform(partial(_opening, key, values, usage), alone=usage is not None)
        if isinstance(opened, BrokerageError):
            raise opened
        return opened

    async def find(self, key: EntryKey, *, any_origin: bool = False) -> JournalEntry | None:
        found = [_entry(row) for row in await self._run(FIND_ANY_ORIGIN if any_origin else FIND, _names(key))]
        return next((entry for entry in found if entry.key == key), found[0] if found else None)

    async def entries(
        self, environment: str | None = None, *, origin: str | None = None, state: EntryState | None = None
    ) -> list[JournalEntry]:
        values = {"environment": environment, "origin": origin, "state": None if state is None else state.value}
        return [_entry(row) for row in await self._run(ENTRIES, values)]

    async def claim(self, key: EntryKey, *, owner: str, lease: float) -> JournalEntry | None:
        rows = await self._run(CLAIM, {**_names(key), "owner": owner, "lease": lease})
        return _entry(rows[0]) if rows else None

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        values = {**_names(key), "owner": owner, "lease": lease}
        if attempts is not None:
            values["attempts"] = attempts
            if await self._run(ATTEMPT, values, renewal=True):
                return True
            known = await self.find(key)
            is_held = known is not None and (known.state, known.owner) == (EntryState.OPEN, owner)
            if known is None or not is_held:
                return False
            if known.attempts < attempts:
                refusal = await self._perform(partial(_halted, key, known.label, known.replaces))
                raise refusal or JournalError("the journal was resumed just now: try again")
        return bool(await self._run(RENEW, values, renewal=True))

    async def renew_many(self, claims: Mapping[EntryKey, str], *, lease: float) -> set[EntryKey]:
        """Renew each claim for its owner as `renew` does, in one statement. Return the keys that are still held."""
        held = set[EntryKey]()
        # Two statements about the same rows lock them in the same order.
        ordered = sorted(claims.items(), key=lambda claim: attrs.astuple(claim[0]))
        for start in range(0, len(ordered), MAX_CLAIMS):
            rows, values = list[str](), dict[str, object](lease=lease)
            for number, (key, owner) in enumerate(ordered[start : start + MAX_CLAIMS]):
                row = {f"c{number}_{place}": value for place, value in enumerate((*attrs.astuple(key), owner))}
                rows.append(f"({', '.join(f':{name}' for name in row)})")
                values |= row
            statement = RENEW_MANY.replace("{claims}", ", ".join(rows))
            held |= {EntryKey(*each) for each in await self._run(statement, values, renewal=True)}
        return held

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        values = {**_names(key), "owner": owner, "note": note, "looked": int(looked)}
        return bool(await self._run(RELEASE, values))

    async def close(
        self, key: EntryKey, *, owner: str, state: EntryState, order_id: str | None = None, note: str = ""
    ) -> bool:
        values = {**_names(key), "owner": owner, "state": state.value, "order_id": order_id, "note": note}
        if await self._run(CLOSE, values):
            return True
        known = await self.find(key)  # a close that is repeated finds its own work
        return known is not None and (known.state, known.closed_by) == (state, owner)

    async def abandon(self, key: EntryKey, *, note: str) -> bool:
        return bool(await self._run(ABANDON, {**_names(key), "note": note}))

    async def adopt(self, key: EntryKey, *, origin: str) -> bool:
        if await self._run(ADOPT, {**_names(key), "new_origin": origin}):
            return True
        adopted = await self.find(attrs.evolve(key, origin=origin))  # entries are never deleted: it was moved before
        return adopted is not None and await self.find(key) is None

    async def halt(
        self, reason: str, *, account_number: str | None = None, label: str | None = None
    ) -> list[JournalEntry]:
        scope = {"account_number": account_number or "", "label": label or ""}
        await self._run(HALT, {**scope, "reason": reason})
        return [_entry(row) for row in await self._run(HALTED, scope, alone=True)]

    async def resume(self, *, account_number: str | None = None, label: str | None = None) -> bool:
        await self._run(FORGET_OUTCOMES, {"before": float("inf")})  # whatever a clock that was set back says
        return bool(await self._run(RESUME, {"account_number": account_number or "", "label": label or ""}))

    async def halts(self) -> list[Halt]:
        return [_halt(*row) for row in await self._run(HALTS, {})]

    async def trip(self, kind: str, name: str, *, count: int, seconds: float, reason: str) -> bool:
        await self._run(COUNT_OUTCOME, {"kind": kind, "name": name})
        values = {"kind": kind, "count": count, "seconds": seconds, "reason": reason}
        return bool(await self._run(TRIP, values))

    async def prune(self, *, before: datetime) -> int:
        if not isinstance(before, datetime) or before.tzinfo is None:
            raise InvalidRequestError(f"before must be a datetime with a time zone, got {before!r}")
        values = {"before": before.timestamp(), "empty": b"", "most": MAX_PRUNED}
        last, pruned = EntryKey("", "", "", ""), 0
        while rows := await self._run(PRUNE, {**_names(last), **values}):
            last, pruned = max((EntryKey(*row) for row in rows), key=attrs.astuple), pruned + len(rows)
        recent = (await self.now()).timestamp() - DAY  # automatic halts still count later ones
        await self._run(FORGET_OUTCOMES, {"before": min(before.timestamp(), recent)})
        return pruned


def _opening(
    key: EntryKey, values: Mapping[str, Any], usage: Usage | None
) -> Steps[tuple[JournalEntry, bool] | BrokerageError]:
    """Open an entry. Return it and whether it is new, or why it cannot be opened."""
    found, net = list[Excess](), (Decimal(0), Decimal(0))
    sums: Sequence[int]
    if usage is not None:
        if usage.max_net_quantity is not None:
            opened = [row for row in (yield NET, values) if row[0] not in usage.includes]
            net = _amount(sum(row[1] for row in opened)), _amount(sum(row[2] for row in opened))
        rows = yield LAST_SUMS, values
        number, are_bounds, *sums = rows[0] if rows else (0, True, 0, 0, 0, 0)
        if not are_bounds or excesses(usage, sums, net):
            (sums,) = yield EXACT_SUMS, values
            found = excesses(usage, sums, net)
        added = (1, values["value"]) * 2
        sums = [min(int(used) + share, MAX_SUM) for used, share in zip(sums, added, strict=True)]
        values = {**values, "number": number + 1, **dict(zip(SUMS, sums, strict=True))}
    if not found and (rows := (yield OPEN, values)):
        return _entry(rows[0]), True
    rows = yield FIND, values
    known = _entry(rows[0]) if rows else None
    is_ours = known is not None and known.state is EntryState.OPEN and known.owner == values["owner"]
    if known is not None and (is_ours or known.state is not EntryState.NOT_SENT or known.body != values["body"]):
        return known, is_ours
    if not values["exempt"] and (halted := (yield from _halted(key, values["label"], values["replaces"]))) is not None:
        return halted
    if usage is not None and found:
        earlier = [(_time(at), _amount(value)) for at, value in (yield USED, values)]
        now = _time((yield NOW, {})[0][0])
        details, free_at = objections(found, earlier, now)
        seconds = None if free_at is None else max((free_at - now).total_seconds(), 0.0)
        reason = "; ".join(f"{each.code}: {each.message}" for each in details)
        return _refused(key, values["replaces"], "guard_refused", reason, errors=details, retry_after=seconds)
    if known is not None:  # this owner closed it
        return known, False
    reason = "was adopted by another address, or what forbade it has ended, just now: try again"
    return JournalError(f"the entry of {key.external_identifier} {reason}")


def _halted(key: EntryKey, label: str, replaces: str) -> Steps[OrderRefusedError | None]:
    """Return the halt that forbids an attempt, if there still is one."""
    for row in (yield HALTS, {}):
        halt = _halt(*row)
        if halt.account_number in (None, key.account_number) and halt.label in (None, label):
            scope = [f"account {halt.account_number}"] if halt.account_number else []
            scope += [f"label {halt.label}"] if halt.label else []
            of = f" of {' and '.join(scope)}" if scope else ""
            since = halt.halted_at.isoformat(timespec="seconds")
            return _refused(key, replaces, "halted", f"new orders{of} are halted since {since}: {halt.reason}")
    return None


def _refused(key: EntryKey, replaces: str, code: str, reason: str, **details: Any) -> OrderRefusedError:
    order = f"the replacement of order {replaces}" if replaces else f"order {key.external_identifier}"
    return OrderRefusedError(
        f"{order} of account {key.account_number}: {reason}",
        account_number=key.account_number,
        external_identifier=key.external_identifier,
        code=code,
        **details,
    )


def _amount(share: int) -> Decimal:
    return Decimal(int(share)) / SCALE


def _shares(usage: Usage | None) -> Mapping[str, object]:
    """Return the values of an opening that concern its guard."""
    if usage is None:
        return UNGUARDED
    return {
        **UNGUARDED,
        "value": stored(usage.value),
        "underlying": usage.underlying or None,
        "bought": stored(usage.bought),
        "sold": stored(usage.sold),
        "minute": MINUTE,
        "day": DAY,
        "since": 0.0 if usage.since is None else usage.since.timestamp(),
    }


def _names(key: EntryKey) -> dict[str, object]:
    return attrs.asdict(key, recurse=False)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _halt(account_number: str, label: str, reason: str, halted_at: float) -> Halt:
    return Halt(account_number=account_number or None, label=label or None, reason=reason, halted_at=_time(halted_at))


def _entry(row: Sequence[Any]) -> JournalEntry:
    values = dict(zip(FIELDS, row[-len(FIELDS) :], strict=True))
    values["body"], values["state"] = bytes(values["body"]), EntryState(values["state"])
    for name in TIMES:
        if values[name] is not None:
            values[name] = _time(values[name])
    return JournalEntry(key=EntryKey(*row[: -len(FIELDS)]), **values)
