"""Journal over SQL: one set of statements that SQLite and PostgreSQL both understand.

Times are epoch seconds by one clock, ``{now}``: the machine's for SQLite, the server's for PostgreSQL, so that workers
on machines with different clocks agree on when a lease ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

import attrs

from ..errors import InvalidRequestError, OrderRefusedError
from .base import EntryKey, EntryState, Halt, JournalEntry, JournalError
from .caps import DAY, MINUTE, MOST, SCALE, Usage, objections, stored

J = TypeVar("J", bound="SqlJournal")

VERSION = 4
KEY = "origin, environment, account_number, external_identifier"
SHARES = "value, underlying, bought, sold"
"""Shares of the caps of a guard, in millionths. NULL for an entry that counts towards none."""
SUMS = "minute_orders, minute_value, day_orders, day_value"
ENTRY = (
    f"{KEY}, body, state, attempts, order_id, note, opened_at, closed_at, looked_at, owner, claimed_until, closed_by, "
    "label, replaces"
)
COLUMNS = f"{ENTRY}, {SHARES}, number, {SUMS}"

TABLE = """
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
)
"""

INDEXES = (
    "CREATE INDEX {table}_open ON {table} (environment, opened_at) WHERE state = 'open'",
    "CREATE INDEX {table}_last ON {table} (environment, number) WHERE value IS NOT NULL",
    "CREATE INDEX {table}_used ON {table} (environment, opened_at, state, value) WHERE value IS NOT NULL",
    "CREATE INDEX {table}_net ON {table} (environment, account_number, underlying, closed_at) "
    "WHERE underlying IS NOT NULL",
)

HALT_TABLE = """
CREATE TABLE {table}_halt (
    account_number TEXT NOT NULL,
    label          TEXT NOT NULL,
    reason         TEXT NOT NULL,
    halted_at      {seconds} NOT NULL,
    PRIMARY KEY (account_number, label)
)
"""
"""An empty account or label stands for all."""

TRIP_TABLE = """
CREATE TABLE {table}_trip (
    kind TEXT NOT NULL,
    at   {seconds} NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (kind, at, name)
)
"""
"""Outcomes that an automatic halt counts."""

SAME_KEY = (
    "origin = :origin AND environment = :environment AND account_number = :account_number "
    "AND external_identifier = :external_identifier"
)

NOW = "SELECT {now}"

OPENING = """
INSERT INTO {table} AS known ({columns}, {shares}, number, {sums})
SELECT :origin, :environment, :account_number, :external_identifier, :body, 'open', 1, NULL, '',
       {now}, NULL, NULL, :owner, {now} + :lease, NULL, :label, :replaces,
       CAST(:value AS BIGINT), CAST(:underlying AS TEXT), CAST(:bought AS BIGINT), CAST(:sold AS BIGINT), <sums>
 WHERE (:exempt = 1 OR NOT EXISTS (SELECT 1 FROM {table}_halt) OR NOT EXISTS (
    SELECT 1 FROM {table}_halt WHERE account_number IN ('', :account_number) AND label IN ('', :label)))<caps>
ON CONFLICT ({key}) DO UPDATE
   SET state = 'open', attempts = known.attempts + 1, note = '', opened_at = excluded.opened_at,
       closed_at = NULL, looked_at = NULL, owner = excluded.owner, claimed_until = excluded.claimed_until,
       closed_by = NULL, label = excluded.label, value = excluded.value, underlying = excluded.underlying,
       bought = excluded.bought, sold = excluded.sold, number = excluded.number,
       minute_orders = excluded.minute_orders, minute_value = excluded.minute_value,
       day_orders = excluded.day_orders, day_value = excluded.day_value
 WHERE known.state = 'not_sent' AND known.body = excluded.body
   AND (known.closed_by IS NULL OR known.closed_by <> excluded.owner)
RETURNING {columns}
"""
OPEN = OPENING.replace("<sums>", "NULL, NULL, NULL, NULL, NULL").replace("<caps>", "")
NEW_SUMS = """used.number + 1, used.minute_orders + 1, used.minute_value + :value, used.day_orders + 1,
       used.day_value + :value
  FROM (<used>) AS used"""

LAST = "FROM {table} WHERE environment = :environment AND value IS NOT NULL ORDER BY number DESC LIMIT 1"
AT_MOST = f"""SELECT COALESCE(MAX(number), 0) AS number, COALESCE(MAX(opened_at), 0) AS known_at,
        COALESCE(MAX(minute_orders), 0) AS minute_orders, COALESCE(MAX(minute_value), 0) AS minute_value,
        COALESCE(MAX(day_orders), 0) AS day_orders, COALESCE(MAX(day_value), 0) AS day_value
        FROM (SELECT number, opened_at, {SUMS} {LAST}) AS latest"""  # noqa: S608 - constants alone
"""Upper bounds of the sums: those of the last entry, from which nothing was taken since they were last exact.

They cost the same however many entries there are. An order is judged by exact sums only if these would refuse it, or if
the clock was set back since.
"""

COUNTS = "environment = :environment AND value IS NOT NULL AND state <> 'refused' AND state <> 'not_sent'"
"""A refused or provably unsent order gives its share back, an unknown one keeps it."""

WITHIN = (
    "SELECT COUNT(*) AS orders, COALESCE(SUM(value), 0) AS value FROM {table} WHERE {counts} AND opened_at > {now} - "
)
EXACTLY = f"""SELECT COALESCE((SELECT number {LAST}), 0) AS number, 0 AS known_at, minute.orders AS minute_orders,
        minute.value AS minute_value, day.orders AS day_orders, day.value AS day_value
        FROM ({WITHIN} :minute) AS minute, ({WITHIN} :day) AS day"""  # noqa: S608 - constants alone

WITHIN_CAPS = """
   AND used.minute_orders + 1 <= :max_orders_per_minute AND used.minute_value + :value <= :max_value_per_minute
   AND used.day_orders + 1 <= :max_orders_per_day AND used.day_value + :value <= :max_value_per_day
   AND used.known_at <= {now}"""

IN_NET = (
    "environment = :environment AND account_number = :account_number AND underlying = :underlying "
    "AND state NOT IN ('refused', 'not_sent') AND external_identifier NOT IN ({included})"
)
NET = """
SELECT COALESCE(SUM(bought), 0) AS bought, COALESCE(SUM(sold), 0) AS sold FROM (
    SELECT bought, sold FROM {table} WHERE {in_net} AND closed_at IS NULL
     UNION ALL
    SELECT bought, sold FROM {table} WHERE {in_net} AND closed_at > :since) AS each_one
"""
"""Quantities that entries may buy and sell, which positions and working orders may not show yet."""

WITHIN_NET = """
   AND NOT EXISTS (
    SELECT 1 FROM ({net}) AS net
     WHERE (:bought > 0 AND net.bought + :bought > :room_to_buy)
        OR (:sold > 0 AND net.sold + :sold > :room_to_sell))"""
USED = "SELECT opened_at, value FROM {table} WHERE {counts} AND opened_at > {now} - :day ORDER BY opened_at"

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
 WHERE {same_key} AND state = 'open' AND (claimed_until IS NULL OR claimed_until <= {now} OR owner = :owner)
RETURNING {columns}
"""

RENEW = """
UPDATE {table} SET claimed_until = {now} + :lease
 WHERE {same_key} AND state = 'open' AND owner = :owner
RETURNING attempts
"""

ATTEMPT = """
UPDATE {table} SET claimed_until = {now} + :lease, attempts = :attempts
 WHERE {same_key} AND state = 'open' AND owner = :owner AND attempts < :attempts AND NOT EXISTS (
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
 WHERE {same_key} AND state = 'open' AND owner = :owner
RETURNING attempts
"""

CLOSE = """
UPDATE {table} SET state = :state, order_id = :order_id, note = :note, closed_at = {now},
       owner = NULL, claimed_until = NULL, closed_by = :owner
 WHERE {same_key} AND state = 'open' AND owner = :owner
RETURNING attempts
"""

ABANDON = """
UPDATE {table} SET state = 'abandoned', order_id = NULL, note = :note, closed_at = {now},
       owner = NULL, claimed_until = NULL
 WHERE {same_key} AND state = 'open'
RETURNING attempts
"""

ADOPT = """
UPDATE {table} SET origin = :new_origin, owner = NULL, claimed_until = NULL
 WHERE {same_key} AND state = 'open' AND (claimed_until IS NULL OR claimed_until <= {now})
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

NO_CAP = 8 * 10**18
"""Sums never reach it: as integers of eight bytes they end a little above."""
MAX_PRUNED = 2000
"""Entries that one statement prunes, so that none waits long for it."""
MAX_CLAIMS = 500
"""Claims that one statement renews: five values each, and older SQLite libraries take 32,766 of them."""


def is_created(what: str, table: str, recorded: int | None, columns: Collection[str]) -> bool:
    """Return True for a table of this version, by its columns where no version is recorded. False without one.

    ``what`` names the journal in errors.

    Raises:
        JournalError: another release wrote the table, or it is not the table of a journal.
    """
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


def creation(*, table: str, binary: str, seconds: str) -> tuple[str, ...]:
    """Return the statements that create the tables and indexes, with the database's names for bytes and seconds."""
    tables = (each.format(table=table, binary=binary, seconds=seconds) for each in (TABLE, HALT_TABLE, TRIP_TABLE))
    return *tables, *(each.format(table=table) for each in INDEXES)


@lru_cache(maxsize=64)
def text_of(statement: str, *, table: str, now: str) -> str:
    """Return a statement of this module for one table of one database, with ``:names`` to be bound."""
    names = {"columns": ENTRY, "shares": SHARES, "sums": SUMS, "counts": COUNTS, "key": KEY, "same_key": SAME_KEY}
    return statement.format(table=table, now=now, **names)


@lru_cache(maxsize=64)
def _of_net(statement: str, included: int) -> str:
    """Return a statement about the net position without this number of entries, which it ``includes`` already."""
    names = ", ".join(f":i{number}" for number in range(included)) or "''"  # no identifier is empty
    return statement.replace("{net}", NET).replace("{in_net}", IN_NET).replace("{included}", names)


@lru_cache(maxsize=64)
def _opening(sums: str, included: int | None = None) -> str:
    """Return the statement that opens an entry under a guard, by these sums, with a cap on the net position or None."""
    caps = WITHIN_CAPS if included is None else WITHIN_CAPS + _of_net(WITHIN_NET, included)
    return OPENING.replace("<sums>", NEW_SUMS.replace("<used>", sums)).replace("<caps>", caps)


class SqlJournal(ABC):
    """Methods of a journal over one method that runs a statement durably."""

    async def __aenter__(self: J) -> J:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @abstractmethod
    async def _run(
        self, statement: str, values: Mapping[str, object], *, renewal: bool = False, alone: bool = False
    ) -> Sequence[Sequence[Any]]:
        """Run one statement in its own transaction, and return its rows once it is durable.

        A ``renewal`` must not wait for other statements: the claim that it renews may expire. While a statement runs
        ``alone``, no attempt is recorded: it sees every one that was recorded before, and later ones see its effect.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """See ``Journal.aclose``."""

    async def now(self) -> datetime:
        """See ``Journal.now``."""
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
        """See ``Journal.open``."""
        values = {
            **_names(key), "body": body, "owner": owner, "lease": lease, "label": label, "replaces": replaces,
            "exempt": int(exempt), **_shares(usage),
        }  # fmt: skip
        if usage is None:
            rows = await self._run(OPEN, values)
        else:
            included = None if usage.max_net_quantity is None else len(usage.includes)
            rows = await self._run(_opening(AT_MOST, included), values, alone=True)
            rows = rows or await self._run(_opening(EXACTLY, included), values, alone=True)
        if rows:
            return _entry(rows[0]), True
        found = await self._run(FIND, _names(key))
        known = _entry(found[0]) if found else None
        is_ours = known is not None and known.state is EntryState.OPEN and known.owner == owner
        if known is not None and (is_ours or known.state is not EntryState.NOT_SENT or known.body != body):
            return known, is_ours
        refusal = None if exempt else await self._halt_refusal(key, label, replaces)
        if refusal is None and usage is not None:
            refusal = await self._cap_refusal(key, replaces, usage, values)
        if refusal is not None:
            raise refusal
        if known is not None:  # this owner closed it
            return known, False
        reason = "was adopted by another address, or what forbade it has ended, just now: try again"
        raise JournalError(f"the entry of {key.external_identifier} {reason}")

    async def _halt_refusal(self, key: EntryKey, label: str, replaces: str = "") -> OrderRefusedError | None:
        """Return the halt that forbids an attempt, if there still is one."""
        for halt in await self.halts():
            if halt.account_number in (None, key.account_number) and halt.label in (None, label):
                scope = [f"account {halt.account_number}"] if halt.account_number else []
                scope += [f"label {halt.label}"] if halt.label else []
                of = f" of {' and '.join(scope)}" if scope else ""
                since = halt.halted_at.isoformat(timespec="seconds")
                return _refused(key, replaces, "halted", f"new orders{of} are halted since {since}: {halt.reason}")
        return None

    async def _cap_refusal(
        self, key: EntryKey, replaces: str, usage: Usage, values: Mapping[str, object]
    ) -> OrderRefusedError | None:
        """Return the caps that forbid an attempt, if there still are some."""
        rows = await self._run(USED, values)
        earlier = [(_time(at), _amount(value)) for at, value in rows]
        bought, sold = 0, 0
        if usage.max_net_quantity is not None:
            ((bought, sold),) = await self._run(_of_net(NET, len(usage.includes)), values)
        now = await self.now()
        found, free_at = objections(usage, earlier, (_amount(bought), _amount(sold)), now)
        if not found:
            return None
        reason = "; ".join(f"{each.code}: {each.message}" for each in found)
        seconds = None if free_at is None else max((free_at - now).total_seconds(), 0.0)
        return _refused(key, replaces, "guard_refused", reason, errors=tuple(found), retry_after=seconds)

    async def find(self, key: EntryKey, *, any_origin: bool = False) -> JournalEntry | None:
        """See ``Journal.find``."""
        found = [_entry(row) for row in await self._run(FIND_ANY_ORIGIN if any_origin else FIND, _names(key))]
        return next((entry for entry in found if entry.key == key), found[0] if found else None)

    async def entries(
        self, environment: str | None = None, *, origin: str | None = None, state: EntryState | None = None
    ) -> list[JournalEntry]:
        """See ``Journal.entries``."""
        values = {"environment": environment, "origin": origin, "state": None if state is None else state.value}
        return [_entry(row) for row in await self._run(ENTRIES, values)]

    async def claim(self, key: EntryKey, *, owner: str, lease: float) -> JournalEntry | None:
        """See ``Journal.claim``."""
        rows = await self._run(CLAIM, {**_names(key), "owner": owner, "lease": lease})
        return _entry(rows[0]) if rows else None

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        """See ``Journal.renew``."""
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
                refusal = await self._halt_refusal(key, known.label, known.replaces)
                raise refusal or JournalError("the journal was resumed just now: try again")
        return bool(await self._run(RENEW, values, renewal=True))

    async def renew_many(self, claims: Mapping[EntryKey, str], *, lease: float) -> set[EntryKey]:
        """See ``BatchRenewal.renew_many``."""
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
        """See ``Journal.release``."""
        values = {**_names(key), "owner": owner, "note": note, "looked": int(looked)}
        return bool(await self._run(RELEASE, values))

    async def close(
        self, key: EntryKey, *, owner: str, state: EntryState, order_id: str | None = None, note: str = ""
    ) -> bool:
        """See ``Journal.close``."""
        values = {**_names(key), "owner": owner, "state": state.value, "order_id": order_id, "note": note}
        if await self._run(CLOSE, values):
            return True
        known = await self.find(key)  # a close that is repeated finds its own work
        return known is not None and (known.state, known.closed_by) == (state, owner)

    async def abandon(self, key: EntryKey, *, note: str) -> bool:
        """See ``Journal.abandon``."""
        return bool(await self._run(ABANDON, {**_names(key), "note": note}))

    async def adopt(self, key: EntryKey, *, origin: str) -> bool:
        """See ``Journal.adopt``."""
        if await self._run(ADOPT, {**_names(key), "new_origin": origin}):
            return True
        adopted = await self.find(attrs.evolve(key, origin=origin))  # entries are never deleted: it was moved before
        return adopted is not None and await self.find(key) is None

    async def halt(
        self, reason: str, *, account_number: str | None = None, label: str | None = None
    ) -> list[JournalEntry]:
        """See ``Journal.halt``."""
        scope = {"account_number": account_number or "", "label": label or ""}
        await self._run(HALT, {**scope, "reason": reason})
        return [_entry(row) for row in await self._run(HALTED, scope, alone=True)]

    async def resume(self, *, account_number: str | None = None, label: str | None = None) -> bool:
        """See ``Journal.resume``."""
        await self._run(FORGET_OUTCOMES, {"before": (await self.now()).timestamp()})
        return bool(await self._run(RESUME, {"account_number": account_number or "", "label": label or ""}))

    async def halts(self) -> list[Halt]:
        """See ``Journal.halts``."""
        return [
            Halt(account_number=account or None, label=label or None, reason=reason, halted_at=_time(at))
            for account, label, reason, at in await self._run(HALTS, {})
        ]

    async def trip(self, kind: str, name: str, *, count: int, seconds: float, reason: str) -> bool:
        """See ``Journal.trip``."""
        await self._run(COUNT_OUTCOME, {"kind": kind, "name": name})
        values = {"kind": kind, "count": count, "seconds": seconds, "reason": reason}
        return bool(await self._run(TRIP, values))

    async def prune(self, *, before: datetime) -> int:
        """See ``Journal.prune``."""
        if not isinstance(before, datetime) or before.tzinfo is None:
            raise InvalidRequestError(f"before must be a datetime with a time zone, got {before!r}")
        values = {"before": before.timestamp(), "empty": b"", "most": MAX_PRUNED}
        last, pruned = EntryKey("", "", "", ""), 0
        while rows := await self._run(PRUNE, {**_names(last), **values}):
            last, pruned = max((EntryKey(*row) for row in rows), key=attrs.astuple), pruned + len(rows)
        recent = (await self.now()).timestamp() - DAY  # automatic halts still count later ones
        await self._run(FORGET_OUTCOMES, {"before": min(before.timestamp(), recent)})
        return pruned


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


@lru_cache(maxsize=256)
def _room(limit: Decimal | None) -> int:
    """Return the rest of a cap in its stored form."""
    return NO_CAP if limit is None else stored(min(limit, MOST))


def _shares(usage: Usage | None) -> dict[str, object]:
    """Return the values of a guarded statement, NULL for caps that do not bind."""
    if usage is None:
        return {"value": None, "underlying": None, "bought": None, "sold": None}
    values: dict[str, object] = {
        "value": stored(usage.value),
        "underlying": usage.underlying or None,
        "bought": stored(usage.bought),
        "sold": stored(usage.sold),
        "minute": MINUTE,
        "day": DAY,
        "max_value_per_minute": _room(usage.max_value_per_minute),
        "max_value_per_day": _room(usage.max_value_per_day),
        "max_orders_per_minute": NO_CAP if usage.max_orders_per_minute is None else usage.max_orders_per_minute,
        "max_orders_per_day": NO_CAP if usage.max_orders_per_day is None else usage.max_orders_per_day,
    }
    if usage.max_net_quantity is not None:
        values["room_to_buy"] = _room(usage.max_net_quantity - usage.held_long)
        values["room_to_sell"] = _room(usage.max_net_quantity - usage.held_short)
        values["since"] = 0.0 if usage.since is None else usage.since.timestamp()
        values |= {f"i{number}": name for number, name in enumerate(usage.includes)}
    return values


def _names(key: EntryKey) -> dict[str, object]:
    return attrs.asdict(key, recurse=False)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _optional_time(seconds: float | None) -> datetime | None:
    return None if seconds is None else _time(seconds)


def _entry(row: Sequence[Any]) -> JournalEntry:
    (*key, body, state, attempts, order_id, note, opened, closed, looked, owner, until, closed_by, label, old) = row
    return JournalEntry(
        key=EntryKey(*key),
        body=bytes(body),
        state=EntryState(state),
        attempts=attempts,
        order_id=order_id,
        note=note,
        opened_at=_time(opened),
        closed_at=_optional_time(closed),
        looked_at=_optional_time(looked),
        owner=owner,
        claimed_until=_optional_time(until),
        closed_by=closed_by,
        label=label,
        replaces=old,
    )
