"""Every instrument of the service in one Parquet partition a day, and the difference of two partitions.

A partition is a folder ``day=2026-06-12`` with ``universe.parquet`` and ``manifest.json``. Until it is complete, its
folder and the `Checkpoint` of its rows begin with a dot.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import shutil
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import attrs

from .._arguments import check_function, running_loop
from .._decimals import decimal_text
from .._generated.endpoints import Endpoints
from .._generated.models import Cryptocurrency, Equity, EquityOption, Future, FutureOption, FutureProduct, Warrant
from ..arrow import joined, require, schema_of, to_arrow, write_parquet
from ..errors import ConfigurationError
from ..http.pager import OffsetPager
from ..http.session import BrokerageSession
from ..models import converter
from ..operation import PUBLISHED_RATES
from ..storage.files import replace_durably
from .fetch import BulkFetch, Progress, one_by_one
from .to_file import Checkpoint, encode, in_thread, incomplete, put_in_place, store, writing

if TYPE_CHECKING:
    import pyarrow

KINDS: Mapping[str, type[Any]] = {
    "equities": Equity, "futures": Future, "future_products": FutureProduct, "cryptocurrencies": Cryptocurrency,
    "warrants": Warrant, "equity_options": EquityOption, "future_options": FutureOption,
}  # fmt: skip
# Kinds that are fetched chain by chain, and the list of their underlyings.
CHAINS = {"equity_options": "equities", "future_options": "future_products"}
# Column and prefix of the underlyings, as `Bulk.universe` takes them.
UNDERLYING = {"equity_options": ("underlying_symbol", ""), "future_options": ("product_code", "/")}
COUNTED = frozenset({"days_to_expiration"})  # fields that change with every day, at any depth

Change = tuple[str, str, str, str | None, str | None, str | None]

PARTITION, MANIFEST = "universe.parquet", "manifest.json"
NEW_YORK = ZoneInfo("America/New_York")
ROWS_AT_ONCE = 50_000  # that are sorted together, besides the rows of chains that overlap
PAUSE = 1.0  # seconds before the first request of a continued run: the killed one may have sent until a moment ago

logger: logging.Logger = logging.getLogger("brokerage_async.bulk")


@attrs.frozen(kw_only=True)
class UniverseResult:
    """Partition of one day.

    Attributes:
        path: the folder, with ``universe.parquet`` and ``manifest.json``.
        day: date in New York by the service's clock when the fetch began.
        counts: number of rows by kind.
        missing: chosen underlyings that have no options, or that the service does not know.
        failed: underlyings whose chain could not be fetched, with the reasons. Their options are not in the partition.
            The same call on the same day requests them again.
        resumed: number of lists and chains that an earlier, interrupted run had fetched.
    """

    path: Path
    day: date
    counts: dict[str, int]
    missing: list[str]
    failed: dict[str, str]
    resumed: int = 0


class UniverseFetch:
    """Fetch of all instruments into the partition of a day. Nothing is sent before it is awaited.

    See `Bulk.universe`.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        session: BrokerageSession | None,
        service: str,
        directory: str | os.PathLike[str],
        kinds: Iterable[str] | None,
        underlyings: Iterable[str] | None,
        on_progress: Progress | None,
    ) -> None:
        require("arrow")
        for name, given in (("kinds", kinds), ("underlyings", underlyings)):
            if given is not None and (isinstance(given, str) or not isinstance(given, Iterable)):
                raise ConfigurationError(f"{name} must be a list of str, got {given!r}")
        self._kinds = tuple(KINDS) if kinds is None else tuple(dict.fromkeys(kinds))
        if unknown := [kind for kind in self._kinds if kind not in KINDS]:
            raise ConfigurationError(f"kinds must be among {', '.join(KINDS)}, got {unknown[0]!r}")
        self._underlyings = None if underlyings is None else tuple(dict.fromkeys(underlyings))
        if on_progress is not None:
            check_function("on_progress", on_progress)
        self._api, self._session, self._service = endpoints, session, service
        self._directory, self._on_progress = Path(directory), on_progress
        self._began = 0.0

    def __await__(self) -> Generator[Any, None, UniverseResult]:
        return self._run().__await__()

    async def _run(self) -> UniverseResult:
        await self._api.market_time.current_sessions(["Equity"])  # the answer says what day it is
        now = (None if self._session is None else self._session.service_now()) or datetime.now(UTC)
        day = now.astimezone(NEW_YORK).date()
        self._began = running_loop().time()
        with writing(self._directory):
            self._directory.mkdir(parents=True, exist_ok=True)
        target = self._directory / f"day={day}"
        purpose: dict[str, Any] = {
            "fetch": f"universe of {self._service}",
            "day": str(day),
            "kinds": sorted(self._kinds),
            "underlyings": None if self._underlyings is None else sorted(self._underlyings),
        }
        partial = self._directory / f".day={day}.partial"
        was_killed = partial.exists()
        if target.exists():
            _finished(target, purpose)
        with contextlib.closing(Checkpoint(partial)) as checkpoint:
            if target.exists() and not (finished := _finished(target, purpose)).failed:
                checkpoint.discard()
                return finished
            for left in self._directory.glob(".day=*"):  # of earlier days, whose rest can no longer be fetched
                if not left.name.startswith(f".day={day}"):
                    logger.warning("%s was never completed, and is removed", left)
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
            await in_thread(lambda: checkpoint.load(purpose, remedy=f"remove {partial}"))
            if was_killed:
                await asyncio.sleep(PAUSE)
            limiter = None if self._session is None else self._session.engine.limiter
            with contextlib.nullcontext() if limiter is None else limiter.paced(PUBLISHED_RATES):
                result = await self._fetch(checkpoint, target, purpose)
            if not result.failed:  # else the same call continues with these
                checkpoint.discard()
            return result

    async def _fetch(self, checkpoint: Checkpoint, target: Path, purpose: Mapping[str, Any]) -> UniverseResult:
        resumed, needed = len(checkpoint), set(self._kinds)
        if self._underlyings is None:
            needed |= {CHAINS[kind] for kind in self._kinds if kind in CHAINS}
        lists = [kind for kind in KINDS if kind in needed and kind not in CHAINS]
        total = None if self._underlyings is None else len(lists) + len(self._chains(checkpoint))
        if failed := await self._store(lists, checkpoint, 0, total):
            raise incomplete("lists of instruments failed, so nothing was written: repeat the call", failed)
        chains = self._chains(checkpoint)
        failed = await self._store(chains, checkpoint, len(lists), len(lists) + len(chains))
        keys = [*(kind for kind in lists if kind in self._kinds), *(key for key in chains if key in checkpoint)]
        counts = await in_thread(lambda: _write(self._directory / f".{target.name}" / PARTITION, checkpoint, keys))
        chosen = self._underlyings or ()
        manifest = {
            **purpose,
            "counts": {kind: counts.get(kind, 0) for kind in KINDS if kind in self._kinds},
            "rows": sum(counts.values()),
            "missing": [each for each in chosen if (key := _key_of(each)) in checkpoint and not checkpoint.found(key)],
            "failed": {key.partition(" ")[2]: str(error) for key, error in failed.items()},
        }
        await in_thread(lambda: _put_partition(target, manifest))
        return attrs.evolve(_finished(target, purpose), resumed=resumed)

    def _chains(self, checkpoint: Checkpoint) -> list[str]:
        """Return the keys of the chains. Those of futures alternate with the others, whose rate is another one."""
        symbols = self._underlyings
        if symbols is None:
            rows = {kind: checkpoint.rows(listed) for kind, listed in CHAINS.items() if kind in self._kinds}
            optionable = [row for row in rows.get("future_options", ()) if row.get("option-products")]
            shares = [row["symbol"] for row in rows.get("equity_options", ()) if row.get("symbol")]
            symbols = (*shares, *(f"/{row['code']}" for row in optionable if row.get("code")))
        keys = list(map(_key_of, symbols))
        wanted = [[key for key in keys if key.startswith(kind)] for kind in CHAINS if kind in self._kinds]
        return [key for pair in itertools.zip_longest(*wanted) for key in pair if key]

    async def _store(
        self, keys: Sequence[str], checkpoint: Checkpoint, before: int, total: int | None
    ) -> dict[str, Exception]:
        """Fetch the lists and chains that the checkpoint lacks. Return those that failed."""

        def report(done: int, *_: object) -> None:
            if self._on_progress is not None:
                self._on_progress(before + done, total, running_loop().time() - self._began)

        async def read(key: str) -> list[Any]:
            kind, _, underlying = key.partition(" ")
            if kind == "equity_options":
                return await self._api.option_chains.flat(underlying)
            if kind == "future_options":
                return await self._api.instruments.futures_option_chain(underlying.removeprefix("/"))
            found: Any = getattr(self._api.instruments, kind)()
            return await (found.prefetch(2).collect() if isinstance(found, OffsetPager) else found)

        fetch = BulkFetch(keys, one_by_one(read), batch_size=1, on_progress=report)
        await store(fetch, checkpoint)
        return fetch.failed


def _key_of(underlying: str) -> str:
    """Return the key of the chain of an underlying: a futures product begins with a slash."""
    return f"{'future_options' if underlying.startswith('/') else 'equity_options'} {underlying}"


def _finished(target: Path, purpose: Mapping[str, Any]) -> UniverseResult:
    """Return the result of a partition that is there, whole or without chains that failed. Raise if it is another."""
    manifest = json.loads((target / MANIFEST).read_text())
    for name, value in purpose.items():
        if manifest[name] != value:
            raise ConfigurationError(
                f"{target} must belong to this fetch, got other {name}: remove it, or choose another directory"
            )
    content = {name: manifest[name] for name in ("counts", "missing", "failed")}
    return UniverseResult(path=target, day=date.fromisoformat(manifest["day"]), **content)


def _put_partition(path: Path, manifest: Mapping[str, Any]) -> None:
    aside, old = path.with_name(f".{path.name}"), path.with_name(f".{path.name}.old")
    put_in_place(aside / MANIFEST, lambda file: file.write_text(json.dumps(manifest, indent=2) + "\n"))
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():  # with failed chains
        path.rename(old)
    replace_durably(path, aside)
    shutil.rmtree(old, ignore_errors=True)


def _write(path: Path, checkpoint: Checkpoint, keys: Sequence[str]) -> dict[str, int]:
    """Write the rows of all keys to one file, sorted by symbol. Return the number of rows by kind."""
    import pyarrow as pa

    from ..arrow.columns import pc

    columns = {field.name: field for model in KINDS.values() for field in schema_of(model)}
    symbol = columns.pop("symbol")
    schema = pa.schema([pa.field("kind", pa.string()), symbol, *columns.values()])
    none, counts, starts = schema.empty_table(), dict[str, int](), dict[str, str]()

    def table_of(key: str) -> pyarrow.Table:
        kind = key.partition(" ")[0]
        model = KINDS[kind]
        rows = converter.structure(checkpoint.rows(key), list[model])  # type: ignore[valid-type]
        table = to_arrow(rows, model).add_column(0, "kind", pa.repeat(kind, len(rows)))
        if "symbol" not in table.column_names:
            table = table.append_column(symbol, table["root_symbol"])
        return joined([none, table])

    def measured() -> Iterator[pyarrow.Table]:
        for key in keys:
            table, kind = table_of(key), key.partition(" ")[0]
            counts[kind] = counts.get(kind, 0) + len(table)
            if len(table):
                starts[key] = pc.min(table["symbol"]).as_py() or ""
                yield table

    def ordered() -> Iterator[pyarrow.Table]:
        order = sorted(starts, key=lambda key: starts[key])
        waiting: list[pyarrow.Table] = []
        for key, following in itertools.zip_longest(order, order[1:]):
            waiting.append(table_of(key))
            if following is not None and sum(map(len, waiting)) < ROWS_AT_ONCE:
                continue
            table = joined(waiting).sort_by([("symbol", "ascending"), ("kind", "ascending")])
            ready = len(table)
            if following is not None:
                ready = pc.sum(pc.less(table["symbol"], starts[following])).as_py() or 0
            yield table.slice(0, ready)
            waiting = [table.slice(ready)]

    path.parent.mkdir(exist_ok=True)
    put_in_place(path, lambda aside: write_parquet(aside, schema, measured(), ordered(), encode=True))
    return counts


def universe_diff(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> pyarrow.Table:
    """Compare two partitions of `Bulk.universe`, row by row and field by field.

    The table has the columns ``kind``, ``symbol``, ``change`` (``listed``, ``delisted`` or ``changed``), ``field``,
    ``before`` and ``after``, all strings, sorted by symbol: one row for each instrument that was listed or delisted,
    and one for each field that changed. Values are written as digits without trailing zeros, ISO 8601, ``true`` or
    ``false``, and JSON for nested ones. Null where there is none. Numbers that are equal are not a change, whatever
    their scale, nor are fields that count the days, such as ``days_to_expiration``. Kinds that one side did not fetch
    are not compared, nor are options of underlyings that it did not fetch or that failed there.

    Args:
        before: partition, or a directory of them whose newest one counts.
        after: likewise.

    Raises:
        ConfigurationError: pyarrow is missing (extra ``arrow``), or there is no partition.
    """
    require("arrow")
    import pyarrow as pa

    one, other = _Partition(before), _Partition(after)
    changes = [change for kind in KINDS if kind in one.counts and kind in other.counts
               for change in _changes(kind, one, other)]  # fmt: skip
    changes.sort(key=lambda change: (change[1], change[0]))  # fields stay in the order of the columns
    names = ("kind", "symbol", "change", "field", "before", "after")
    columns = zip(*changes, strict=True) if changes else [()] * len(names)
    return pa.table([pa.array(column, pa.string()) for column in columns], names=list(names))


class _Partition:
    """Partition of one day, and what its manifest says of it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        folder = Path(path)
        if folder.name == PARTITION:
            folder = folder.parent
        if not (folder / PARTITION).exists():
            days = sorted(each.parent for each in folder.glob(f"day=*/{PARTITION}"))
            if not days:
                raise ConfigurationError(f"partition must be one of client.bulk.universe, got {str(path)!r}")
            folder = days[-1]
        manifest = json.loads((folder / MANIFEST).read_text())
        self.counts: dict[str, int] = manifest["counts"]
        self._failed = frozenset(manifest["failed"])
        self._chosen: list[str] | None = manifest["underlyings"]
        self._file = folder / PARTITION

    def fetched(self, underlying: str) -> bool:
        """Return whether the options on an underlying were fetched, if it has any."""
        return underlying not in self._failed and (self._chosen is None or underlying in self._chosen)

    def rows(self, kind: str, other: _Partition) -> pyarrow.Table:
        """Return the rows of a kind, in its columns, without options whose underlying the other did not fetch."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = ["symbol", *(field.name for field in schema_of(KINDS[kind]) if field.name != "symbol")]
        table = pq.read_table(self._file, columns=columns, filters=[("kind", "==", kind)], partitioning=None)  # pyright: ignore[reportArgumentType]
        if kind not in UNDERLYING:
            return table
        name, prefix = UNDERLYING[kind]
        underlyings = table[name].cast(pa.string())
        wanted = {each: other.fetched(f"{prefix}{each}") for each in underlyings.unique().to_pylist()}
        return table.filter(pa.array([wanted[each] for each in underlyings.to_pylist()], pa.bool_()))


def _changes(kind: str, one: _Partition, other: _Partition) -> Iterator[Change]:
    """Yield the listed, delisted and changed rows of a kind."""
    import pyarrow as pa

    old, new = one.rows(kind, other), other.rows(kind, one)
    old_rows, new_rows = ({symbol: row for row, symbol in enumerate(each["symbol"].to_pylist())} for each in (old, new))
    yield from ((kind, symbol, "delisted", None, None, None) for symbol in old_rows if symbol not in new_rows)
    yield from ((kind, symbol, "listed", None, None, None) for symbol in new_rows if symbol not in old_rows)
    both = [symbol for symbol in old_rows if symbol in new_rows]
    old, new = (
        each.take(pa.array((rows[symbol] for symbol in both), pa.int64()))
        for each, rows in ((old, old_rows), (new, new_rows))
    )
    for field in old.column_names:
        if field in COUNTED or old[field].equals(new[field]):
            continue
        for symbol, *values in zip(both, old[field].to_pylist(), new[field].to_pylist(), strict=True):
            before, after = map(_comparable, values)
            if before != after:
                yield kind, symbol, "changed", field, before, after


def _comparable(value: Any) -> str | None:
    """Return a value as the table shows it, the same for equal values."""
    plain = _plain(value)
    if isinstance(plain, Decimal):
        return decimal_text(plain)
    return plain if plain is None or isinstance(plain, str) else encode(plain).decode()


def _plain(value: Any) -> Any:
    """Return a value without trailing zeros of decimals, and without fields that count the days."""
    match value:
        case dict():
            return {name: _plain(inner) for name, inner in value.items() if name not in COUNTED}
        case list():
            return [_plain(inner) for inner in value]
        case Decimal():
            digits = decimal_text(value)
            return Decimal(digits.rstrip("0").rstrip(".") if "." in digits else digits)
        case date():
            return value.isoformat()
        case _:
            return value
