"""Journal over SQL: one set of statements, as SQLite understands them. `postgres` translates a few words of them.

Times are epoch seconds by one clock, ``:now``: the machine's for SQLite, the server's for PostgreSQL, so that workers
on machines with different clocks agree on when a lease ends.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from operator import attrgetter
from typing import Any, Self, TypeAlias, TypeVar

import attrs

from ..errors import BrokerageError, InvalidRequestError, OrderRefusedError
from .base import EntryKey, EntryState, Halt, Journal, JournalEntry, JournalError
from .caps import DAY, MAX_SUM, MINUTE, Excess, Usage, amount, excesses, objections, stored

R = TypeVar("R")
Rows: TypeAlias = Sequence[Sequence[Any]]
Steps: TypeAlias = Generator[tuple[str, Mapping[str, object]], Rows, R]
"""Statements and their values, each yielded for its rows."""

VERSION = 4
KEYS = tuple(field.name for field in attrs.fields(EntryKey))
_values_of = attrgetter(*KEYS)
FIELDS = tuple(field.name for field in attrs.fields(JournalEntry))[1:]
TIMES = ("opened_at", "closed_at", "looked_at", "claimed_until")
SUMS = ("minute_orders", "minute_value", "day_orders", "day_value")
SHARES = ("value", "underlying", "bought", "sold", "number", *SUMS)
"""Shares of the caps of a guard, in millionths, and their sums. NULL for an entry that counts towards none."""
COLUMNS = (*KEYS, *FIELDS, *SHARES)

SCHEMA = """
CREATE TABLE entries (
    origin              TEXT NOT NULL,
    environment         TEXT NOT NULL,
    account_number      TEXT NOT NULL,
    external_identifier TEXT NOT NULL,
    body                BLOB NOT NULL,
    state               TEXT NOT NULL,
    attempts            INTEGER NOT NULL,
    order_id            TEXT,
    note                TEXT NOT NULL,
    opened_at           REAL NOT NULL,
    closed_at           REAL,
    looked_at           REAL,
    owner               TEXT,
    claimed_until       REAL,
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
CREATE TABLE entries_halt (
    account_number TEXT NOT NULL,
    label          TEXT NOT NULL,
    reason         TEXT NOT NULL,
    halted_at      REAL NOT NULL,
    PRIMARY KEY (account_number, label)
);
CREATE TABLE entries_trip (
    kind TEXT NOT NULL,
    at   REAL NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (kind, at, name)
);
CREATE INDEX entries_open ON entries (environment, opened_at) WHERE state = 'open';
CREATE INDEX entries_last ON entries (environment, number) WHERE value IS NOT NULL;
CREATE INDEX entries_used ON entries (environment, opened_at, state, value) WHERE value IS NOT NULL;
CREATE INDEX entries_net ON entries (environment, account_number, underlying, closed_at) WHERE underlying IS NOT NULL
"""
"""Entries, halts (an empty account or label stands for all), and the outcomes that an automatic halt counts."""


def _marks(names: Iterable[str]) -> str:
    return ", ".join(f":{name}" for name in names)


KEY = ", ".join(KEYS)
ENTRY = ", ".join((*KEYS, *FIELDS))
SAME_ORDER = (
    "environment = :environment AND account_number = :account_number AND external_identifier = :external_identifier"
)
SAME_KEY = f"origin = :origin AND {SAME_ORDER}"
IS_OPEN = f"{SAME_KEY} AND state = 'open'"
IS_HELD = f"{IS_OPEN} AND owner = :owner"
IS_FREE = "(claimed_until IS NULL OR claimed_until <= :now)"

NOW = "SELECT :now"

HALTS = "SELECT account_number, label, reason, halted_at FROM entries_halt ORDER BY halted_at"
HALTING = """
SELECT account_number, label, reason, halted_at FROM entries_halt
 WHERE account_number IN ('', :account_number) AND label IN ('', :label) ORDER BY halted_at"""
"""Halts that forbid an attempt."""

OPEN = f"""
INSERT INTO entries AS known
       ({KEY}, body, state, attempts, note, opened_at, owner, claimed_until, label, replaces, {", ".join(SHARES)})
SELECT {_marks(KEYS)}, :body, 'open', 1, '', :now, :owner, :now + :lease, :label, :replaces, {_marks(SHARES)}
 WHERE :exempt = 1 OR NOT EXISTS ({HALTING})
ON CONFLICT ({KEY}) DO UPDATE
   SET state = 'open', attempts = known.attempts + 1, note = '', opened_at = excluded.opened_at,
       closed_at = NULL, looked_at = NULL, owner = excluded.owner, claimed_until = excluded.claimed_until,
       closed_by = NULL, label = excluded.label, {", ".join(f"{name} = excluded.{name}" for name in SHARES)}
 WHERE known.state = 'not_sent' AND known.body = excluded.body
   AND (known.closed_by IS NULL OR known.closed_by <> excluded.owner)
RETURNING {ENTRY}
"""

LAST_SUMS = f"""
SELECT number, opened_at <= :now, {", ".join(SUMS)} FROM entries
 WHERE environment = :environment AND value IS NOT NULL ORDER BY number DESC LIMIT 1
"""
"""Upper bounds of the sums: those of the last entry, from which nothing was taken since they were last exact.

They cost the same however many entries there are. An order is judged by exact sums only if these would refuse it, or if
the clock was set back since.
"""

COUNTS = "environment = :environment AND value IS NOT NULL AND state <> 'refused' AND state <> 'not_sent'"
"""A refused or provably unsent order gives its share back, an unknown one keeps it."""
WITHIN = f"SELECT COUNT(*) AS orders, COALESCE(SUM(value), 0) AS value FROM entries WHERE {COUNTS} AND opened_at > :now"
EXACT_SUMS = f"SELECT * FROM ({WITHIN} - {MINUTE}) AS minute, ({WITHIN} - {DAY}) AS day"
USED = f"SELECT opened_at, value FROM entries WHERE {COUNTS} AND opened_at > :now - {DAY} ORDER BY opened_at"

IN_NET = (
    "SELECT external_identifier, bought, sold FROM entries WHERE environment = :environment "
    "AND account_number = :account_number AND underlying = :underlying AND state NOT IN ('refused', 'not_sent')"
)
NET = f"{IN_NET} AND closed_at IS NULL UNION ALL {IN_NET} AND closed_at > :since"
"""Quantities that entries may buy and sell, which positions and working orders may not show yet."""

FIND = f"SELECT {ENTRY} FROM entries WHERE {SAME_KEY}"
FIND_ANY_ORIGIN = f"""
{FIND} UNION ALL SELECT {ENTRY} FROM entries WHERE state = 'open' AND {SAME_ORDER} AND origin <> :origin
"""

ENTRIES = f"""
SELECT {ENTRY} FROM entries
 WHERE (CAST(:environment AS TEXT) IS NULL OR environment = :environment)
   AND (CAST(:origin AS TEXT) IS NULL OR origin = :origin)
   AND (state = CAST(:state AS TEXT) OR (CAST(:state AS TEXT) IS NULL AND state <> 'pruned'))
 ORDER BY opened_at
"""

CLAIM = f"""
UPDATE entries SET owner = :owner, claimed_until = :now + :lease WHERE {IS_OPEN} AND ({IS_FREE} OR owner = :owner)
RETURNING {ENTRY}
"""
RENEW = f"UPDATE entries SET claimed_until = :now + :lease WHERE {IS_HELD} RETURNING attempts"
ATTEMPT = f"""
UPDATE entries SET claimed_until = :now + :lease, attempts = :attempts
 WHERE {IS_HELD} AND attempts < :attempts AND NOT EXISTS ({HALTING.replace(":label", "entries.label")})
RETURNING attempts
"""
RENEW_MANY = f"""
UPDATE entries SET claimed_until = :now + :lease WHERE state = 'open' AND ({KEY}, owner) IN (VALUES {{claims}})
RETURNING {KEY}
"""
RELEASE = f"""
UPDATE entries SET owner = NULL, claimed_until = NULL, note = :note,
       looked_at = CASE WHEN :looked = 1 THEN :now ELSE looked_at END
 WHERE {IS_HELD} RETURNING attempts
"""
CLOSED = """
UPDATE entries SET state = :state, order_id = :order_id, note = :note, closed_at = :now,
       owner = NULL, claimed_until = NULL"""
CLOSE = f"{CLOSED}, closed_by = :owner WHERE {IS_HELD} RETURNING attempts"
ABANDON = f"{CLOSED} WHERE {IS_OPEN} RETURNING attempts"
ADOPT = f"""
UPDATE entries SET origin = :new_origin, owner = NULL, claimed_until = NULL
 WHERE {IS_OPEN} AND {IS_FREE} AND NOT EXISTS (SELECT 1 FROM entries WHERE origin = :new_origin AND {SAME_ORDER})
RETURNING attempts
"""

HALT = """
INSERT INTO entries_halt (account_number, label, reason, halted_at) VALUES (:account_number, :label, :reason, :now)
ON CONFLICT (account_number, label) DO NOTHING RETURNING label
"""
RESUME = "DELETE FROM entries_halt WHERE account_number = :account_number AND label = :label RETURNING label"
HALTED = f"""
SELECT {ENTRY} FROM entries
 WHERE state = 'open' AND :account_number IN ('', account_number) AND :label IN ('', label) ORDER BY opened_at
"""

COUNT_OUTCOME = """
INSERT INTO entries_trip (kind, at, name) VALUES (:kind, :now, :name) ON CONFLICT (kind, at, name) DO NOTHING
RETURNING kind
"""
TRIP = """
INSERT INTO entries_halt (account_number, label, reason, halted_at)
SELECT '', '', :reason, :now
 WHERE (SELECT COUNT(DISTINCT name) FROM entries_trip WHERE kind = :kind AND at > :now - :seconds) >= :count
ON CONFLICT (account_number, label) DO NOTHING RETURNING label
"""
FORGET_OUTCOMES = "DELETE FROM entries_trip WHERE at <= :before RETURNING kind"

PRUNE = f"""
UPDATE entries SET state = 'pruned', body = :empty, note = '', order_id = NULL, looked_at = NULL, closed_by = NULL,
       value = CASE WHEN state IN ('refused', 'not_sent') THEN NULL ELSE value END,
       underlying = CASE WHEN state IN ('refused', 'not_sent') THEN NULL ELSE underlying END
 WHERE ({KEY}) IN (
    SELECT {KEY} FROM entries
     WHERE ({KEY}) > ({_marks(KEYS)}) AND closed_at < :before AND state NOT IN ('open', 'pruned')
     ORDER BY {KEY} LIMIT :most)
RETURNING {KEY}
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
    if not columns or set(COLUMNS) <= set(columns):
        return bool(columns)
    if {"external_identifier", "state"} <= set(columns):
        raise JournalError(
            f"{what} is from before the first release (nothing was changed). Its orders may have been placed: read its "
            f"table {table} with an SQL shell, find the outcome of those whose state is open, and begin a new journal "
            "without any of its external identifiers"
        )
    raise JournalError(f"{what} cannot be used: its table is not that of a journal")


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
        self,
        statement: str,
        key: EntryKey | None = None,
        *,
        renewal: bool = False,
        alone: bool = False,
        **values: object,
    ) -> Rows:
        """Return the rows of one statement about the entry of ``key``, if it is about one."""
        if key is not None:
            values |= _names(key)

        def only() -> Steps[Rows]:
            return (yield statement, values)

        return await self._perform(only, renewal=renewal, alone=alone)

    async def now(self) -> datetime:
        return _time((await self._run(NOW))[0][0])

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
            "exempt": int(exempt),
        }  # fmt: skip
        opened = await self._perform(partial(_opening, key, values, usage), alone=usage is not None)
        if isinstance(opened, BrokerageError):
            raise opened
        return opened

    async def find(self, key: EntryKey, *, any_origin: bool = False) -> JournalEntry | None:
        found = [_entry(row) for row in await self._run(FIND_ANY_ORIGIN if any_origin else FIND, key)]
        return next((entry for entry in found if entry.key == key), found[0] if found else None)

    async def entries(
        self, environment: str | None = None, *, origin: str | None = None, state: EntryState | None = None
    ) -> list[JournalEntry]:
        rows = await self._run(ENTRIES, environment=environment, origin=origin, state=state and state.value)
        return [_entry(row) for row in rows]

    async def claim(self, key: EntryKey, *, owner: str, lease: float) -> JournalEntry | None:
        rows = await self._run(CLAIM, key, owner=owner, lease=lease)
        return _entry(rows[0]) if rows else None

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        if attempts is not None:
            if await self._run(ATTEMPT, key, renewal=True, owner=owner, lease=lease, attempts=attempts):
                return True
            known = await self.find(key)
            if known is None or (known.state, known.owner) != (EntryState.OPEN, owner):
                return False
            if known.attempts < attempts:
                refusal = await self._perform(partial(_halted, key, known.label, known.replaces))
                raise refusal or JournalError("the journal was resumed just now: try again")
        return bool(await self._run(RENEW, key, renewal=True, owner=owner, lease=lease))

    async def renew_many(self, claims: Mapping[EntryKey, str], *, lease: float) -> set[EntryKey]:
        """Renew each claim for its owner as `renew` does, in one statement. Return the keys that are still held."""
        held = set[EntryKey]()
        # Two statements about the same rows lock them in the same order.
        ordered = sorted(claims.items(), key=lambda claim: attrs.astuple(claim[0]))
        for start in range(0, len(ordered), MAX_CLAIMS):
            rows, values = list[str](), dict[str, Any]()
            for number, (key, owner) in enumerate(ordered[start : start + MAX_CLAIMS]):
                row = {f"{name}_{number}": value for name, value in {**_names(key), "owner": owner}.items()}
                rows.append(f"({_marks(row)})")
                values |= row
            statement = RENEW_MANY.replace("{claims}", ", ".join(rows))
            held |= {EntryKey(*each) for each in await self._run(statement, renewal=True, lease=lease, **values)}
        return held

    async def release(self, key: EntryKey, *, owner: str, note: str, looked: bool = True) -> bool:
        return bool(await self._run(RELEASE, key, owner=owner, note=note, looked=int(looked)))

    async def close(
        self, key: EntryKey, *, owner: str, state: EntryState, order_id: str | None = None, note: str = ""
    ) -> bool:
        if await self._run(CLOSE, key, owner=owner, state=state.value, order_id=order_id, note=note):
            return True
        known = await self.find(key)  # a close that is repeated finds its own work
        return known is not None and (known.state, known.closed_by) == (state, owner)

    async def abandon(self, key: EntryKey, *, note: str) -> bool:
        return bool(await self._run(ABANDON, key, state=EntryState.ABANDONED.value, order_id=None, note=note))

    async def adopt(self, key: EntryKey, *, origin: str) -> bool:
        if await self._run(ADOPT, key, new_origin=origin):
            return True
        adopted = await self.find(attrs.evolve(key, origin=origin))  # entries are never deleted: it was moved before
        return adopted is not None and await self.find(key) is None

    async def halt(
        self, reason: str, *, account_number: str | None = None, label: str | None = None
    ) -> list[JournalEntry]:
        scope: dict[str, Any] = {"account_number": account_number or "", "label": label or ""}
        await self._run(HALT, reason=reason, **scope)
        return [_entry(row) for row in await self._run(HALTED, alone=True, **scope)]

    async def resume(self, *, account_number: str | None = None, label: str | None = None) -> bool:
        await self._run(FORGET_OUTCOMES, before=float("inf"))  # whatever a clock that was set back says
        return bool(await self._run(RESUME, account_number=account_number or "", label=label or ""))

    async def halts(self) -> list[Halt]:
        return [_halt(*row) for row in await self._run(HALTS)]

    async def trip(self, kind: str, name: str, *, count: int, seconds: float, reason: str) -> bool:
        await self._run(COUNT_OUTCOME, kind=kind, name=name)
        return bool(await self._run(TRIP, kind=kind, count=count, seconds=seconds, reason=reason))

    async def prune(self, *, before: datetime) -> int:
        if not isinstance(before, datetime) or before.tzinfo is None:
            raise InvalidRequestError(f"before must be a datetime with a time zone, got {before!r}")
        last, pruned = EntryKey("", "", "", ""), 0
        while rows := await self._run(PRUNE, last, before=before.timestamp(), empty=b"", most=MAX_PRUNED):
            last, pruned = max((EntryKey(*row) for row in rows), key=attrs.astuple), pruned + len(rows)
        recent = (await self.now()).timestamp() - DAY  # automatic halts still count later ones
        await self._run(FORGET_OUTCOMES, before=min(before.timestamp(), recent))
        return pruned


def _opening(
    key: EntryKey, values: dict[str, Any], usage: Usage | None
) -> Steps[tuple[JournalEntry, bool] | BrokerageError]:
    """Open an entry. Return it and whether it is new, or why it cannot be opened."""
    shares, found = yield from _summing(values, usage)
    if not found and (rows := (yield OPEN, values | shares)):
        return _entry(rows[0]), True
    known = next(map(_entry, (yield FIND, values)), None)
    is_ours = known is not None and known.state is EntryState.OPEN and known.owner == values["owner"]
    if known is not None and (is_ours or known.state is not EntryState.NOT_SENT or known.body != values["body"]):
        return known, is_ours
    if not values["exempt"] and (halted := (yield from _halted(key, values["label"], values["replaces"]))) is not None:
        return halted
    if found:
        earlier = [(_time(at), amount(value)) for at, value in (yield USED, values)]
        now = _time((yield NOW, {})[0][0])
        details, free_at = objections(found, earlier, now)
        seconds = None if free_at is None else max((free_at - now).total_seconds(), 0.0)
        reason = "; ".join(f"{each.code}: {each.message}" for each in details)
        return _refused(key, values["replaces"], "guard_refused", reason, errors=details, retry_after=seconds)
    if known is not None:  # this owner closed it
        return known, False
    reason = "was adopted by another address, or what forbade it has ended, just now: try again"
    return JournalError(f"the entry of {key.external_identifier} {reason}")


def _summing(values: dict[str, Any], usage: Usage | None) -> Steps[tuple[dict[str, Any], list[Excess]]]:
    """Return the shares and sums of an entry to be opened, and the caps that they would pass."""
    if usage is None:
        return dict.fromkeys(SHARES), []
    shares: dict[str, Any] = {
        "value": stored(usage.value),
        "underlying": usage.underlying or None,
        "bought": stored(usage.bought),
        "sold": stored(usage.sold),
    }
    net = Decimal(0), Decimal(0)
    if usage.max_net_quantity is not None:
        since = 0.0 if usage.since is None else usage.since.timestamp()
        opened = [row for row in (yield NET, values | shares | {"since": since}) if row[0] not in usage.includes]
        net = amount(sum(row[1] for row in opened)), amount(sum(row[2] for row in opened))
    rows = yield LAST_SUMS, values
    sums: Sequence[int]
    number, are_bounds, *sums = rows[0] if rows else (0, True, 0, 0, 0, 0)
    found = excesses(usage, sums, net)
    if found or not are_bounds:
        (sums,) = yield EXACT_SUMS, values
        found = excesses(usage, sums, net)
    added = (1, shares["value"]) * 2
    sums = [min(int(used) + share, MAX_SUM) for used, share in zip(sums, added, strict=True)]
    return shares | {"number": number + 1, **dict(zip(SUMS, sums, strict=True))}, found


def _halted(key: EntryKey, label: str, replaces: str) -> Steps[OrderRefusedError | None]:
    """Return the halt that forbids an attempt, if there still is one."""
    halts = [_halt(*row) for row in (yield HALTING, {**_names(key), "label": label})]
    if not halts:
        return None
    halt = halts[0]
    scope = [f"account {halt.account_number}"] if halt.account_number else []
    scope += [f"label {halt.label}"] if halt.label else []
    of = f" of {' and '.join(scope)}" if scope else ""
    since = halt.halted_at.isoformat(timespec="seconds")
    return _refused(key, replaces, "halted", f"new orders{of} are halted since {since}: {halt.reason}")


def _refused(key: EntryKey, replaces: str, code: str, reason: str, **details: Any) -> OrderRefusedError:
    order = f"the replacement of order {replaces}" if replaces else f"order {key.external_identifier}"
    return OrderRefusedError(
        f"{order} of account {key.account_number}: {reason}",
        account_number=key.account_number,
        external_identifier=key.external_identifier,
        code=code,
        **details,
    )


def _names(key: EntryKey) -> dict[str, Any]:
    return dict(zip(KEYS, _values_of(key), strict=True))


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
