"""Every instrument of the service in one Parquet partition a day: ``client.bulk.universe``.

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
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import attrs

from .._arguments import check_function, running_loop
from .._generated.endpoints import Endpoints
from .._generated.models import (
    Cryptocurrency,
    Equity,
    EquityOption,
    Future,
    FutureOption,
    FutureProduct,
    Warrant,
)
from ..arrow import joined, require, schema_of, to_arrow, write_parquet
from ..errors import ConfigurationError
from ..http.session import BrokerageSession
from ..models import converter
from ..operation import PUBLISHED_RATES
from .by_symbol import one_by_one
from .checkpoint import Checkpoint
from .fetch import BulkFetch, Progress
from .formats import put_in_place, replace_durably
from .to_file import in_thread, incomplete, store

if TYPE_CHECKING:
    import pyarrow

__all__ = ["KINDS", "MANIFEST", "PARTITION", "UniverseFetch", "UniverseResult"]

KINDS: Mapping[str, type[Any]] = {
    "equities": Equity,
    "futures": Future,
    "future_products": FutureProduct,
    "cryptocurrencies": Cryptocurrency,
    "warrants": Warrant,
    "equity_options": EquityOption,
    "future_options": FutureOption,
}
"""Kinds of instruments, and the class of each."""

CHAINS = {"equity_options": "equities", "future_options": "future_products"}
"""Kinds that are fetched chain by chain, and the list of their underlyings."""

PARTITION, MANIFEST = "universe.parquet", "manifest.json"
NEW_YORK = ZoneInfo("America/New_York")

ROWS_AT_ONCE = 50_000
"""Rows that are sorted together, besides those of the chains that overlap."""

PAUSE = 1.0
"""Seconds before the first request of a continued run: the killed one may have sent until a moment ago."""

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
        self._done, self._began = 0, 0.0

    def __await__(self) -> Generator[Any, None, UniverseResult]:
        return self._run().__await__()

    async def _run(self) -> UniverseResult:
        await self._api.market_time.current_sessions(["Equity"])  # the answer says what day it is
        now = (None if self._session is None else self._session.service_now()) or datetime.now(UTC)
        day = now.astimezone(NEW_YORK).date()
        self._began = running_loop().time()
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"cannot write {self._directory}: {error.strerror or error}") from None
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
        with Checkpoint(partial) as checkpoint:
            if target.exists() and not (finished := _finished(target, purpose)).failed:
                checkpoint.discard()
                return finished
            self._remove_leftovers(day)
            await in_thread(lambda: checkpoint.load(purpose, remedy=f"remove {partial}"))
            if was_killed:
                await asyncio.sleep(PAUSE)
            with contextlib.ExitStack() as pace:
                if self._session is not None:
                    pace.enter_context(self._session.engine.limiter.paced(PUBLISHED_RATES))
                result = await self._fetch(checkpoint, target, purpose)
            if not result.failed:  # else the same call continues with these
                checkpoint.discard()
            return result

    def _remove_leftovers(self, day: date) -> None:
        """Remove unfinished partitions of earlier days, whose rest can no longer be fetched."""
        for path in self._directory.glob(".day=*"):
            if not path.name.startswith(f".day={day}"):
                logger.warning("%s was never completed, and is removed", path)
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    async def _fetch(self, checkpoint: Checkpoint, target: Path, purpose: Mapping[str, Any]) -> UniverseResult:
        resumed, needed, total = len(checkpoint), set(self._kinds), None
        if self._underlyings is None:
            needed |= {CHAINS[kind] for kind in self._kinds if kind in CHAINS}
        lists = [kind for kind in KINDS if kind in needed and kind not in CHAINS]
        if self._underlyings is not None:
            total = len(lists) + len(self._chains(checkpoint))
        failed = await self._store(lists, self._list, checkpoint, total)
        if failed:
            raise incomplete("lists of instruments failed, so nothing was written: repeat the call", failed)
        chains = self._chains(checkpoint)
        failed = await self._store(chains, self._chain, checkpoint, len(lists) + len(chains))
        keys = [*(kind for kind in lists if kind in self._kinds), *(key for key in chains if key in checkpoint)]
        counts = await in_thread(lambda: _write(self._directory / f".{target.name}" / PARTITION, checkpoint, keys))
        result = UniverseResult(
            path=target,
            day=date.fromisoformat(purpose["day"]),
            counts={kind: counts.get(kind, 0) for kind in KINDS if kind in self._kinds},
            missing=[] if self._underlyings is None
            else [symbol for symbol in self._underlyings if (key := _key_of(symbol)) in checkpoint and not
                  checkpoint.found(key)],
            failed={key.partition(" ")[2]: str(error) for key, error in failed.items()},
            resumed=resumed,
        )  # fmt: skip
        await in_thread(lambda: _put_partition(result, purpose))
        return result

    def _chains(self, checkpoint: Checkpoint) -> list[str]:
        """Return the keys of the chains. Those of futures alternate with the others, whose rate is another one."""
        if self._underlyings is not None:
            keys = [_key_of(symbol) for symbol in self._underlyings]
        else:
            shares = self._rows(checkpoint, "equity_options")
            products = self._rows(checkpoint, "future_options")
            keys = [_key_of(row["symbol"]) for row in shares if row.get("symbol")]
            keys += [_key_of(f"/{row['code']}") for row in products if row.get("option-products") and row.get("code")]
        of_futures = [key for key in keys if key.startswith("future_options") and "future_options" in self._kinds]
        others = [key for key in keys if key.startswith("equity_options") and "equity_options" in self._kinds]
        return [key for pair in itertools.zip_longest(others, of_futures) for key in pair if key]

    def _rows(self, checkpoint: Checkpoint, kind: str) -> list[Any]:
        """Return the rows of the list of underlyings of a kind."""
        return checkpoint.rows(CHAINS[kind]) if kind in self._kinds else []

    async def _store(
        self,
        keys: Sequence[str],
        read: Callable[[str], Awaitable[list[Any]]],
        checkpoint: Checkpoint,
        total: int | None,
    ) -> dict[str, Exception]:
        """Fetch the keys that the checkpoint lacks. Return those that failed."""
        before, clock = self._done, running_loop().time

        def report(done: int, *_: object) -> None:
            self._done = before + done
            if self._on_progress is not None:
                self._on_progress(self._done, total, clock() - self._began)

        fetch = BulkFetch(keys, one_by_one(read), batch_size=1, on_progress=report)
        await store(fetch, checkpoint)
        return fetch.failed

    async def _list(self, kind: str) -> list[Any]:
        instruments = self._api.instruments
        match kind:
            case "equities":
                return await instruments.equities().prefetch(2).collect()
            case "futures":
                return await instruments.futures().collect()
            case "future_products":
                return await instruments.future_products().collect()
            case "cryptocurrencies":
                return await instruments.cryptocurrencies()
            case _:
                return await instruments.warrants()

    async def _chain(self, key: str) -> list[Any]:
        kind, _, symbol = key.partition(" ")
        if kind == "equity_options":
            return await self._api.option_chains.flat(symbol)
        return await self._api.instruments.futures_option_chain(symbol.removeprefix("/"))


def _key_of(underlying: str) -> str:
    """Return the key of the chain of an underlying: a futures product begins with a slash."""
    return f"{'future_options' if underlying.startswith('/') else 'equity_options'} {underlying}"


def _finished(target: Path, purpose: Mapping[str, Any]) -> UniverseResult:
    """Return the result of a partition that is there, whole or without chains that failed.

    Raises:
        ConfigurationError: it holds something else.
    """
    manifest = json.loads((target / MANIFEST).read_text())
    for name, value in purpose.items():
        if manifest[name] != value:
            raise ConfigurationError(
                f"{target} must belong to this fetch, got other {name}: remove it, or choose another directory"
            )
    return UniverseResult(
        path=target,
        day=date.fromisoformat(manifest["day"]),
        counts=manifest["counts"],
        missing=manifest["missing"],
        failed=manifest["failed"],
    )


def _put_partition(result: UniverseResult, purpose: Mapping[str, Any]) -> None:
    """Write the manifest and put the whole folder in place."""
    aside = result.path.with_name(f".{result.path.name}")
    manifest = {**purpose, "counts": result.counts, "rows": sum(result.counts.values()),
                "missing": result.missing, "failed": result.failed}  # fmt: skip
    put_in_place(aside / MANIFEST, lambda path: path.write_text(json.dumps(manifest, indent=2) + "\n"))
    old = result.path.with_name(f".{result.path.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if result.path.exists():  # with failed chains
        result.path.rename(old)
    replace_durably(result.path, aside)
    shutil.rmtree(old, ignore_errors=True)


def _write(path: Path, checkpoint: Checkpoint, keys: Sequence[str]) -> dict[str, int]:
    """Write the rows of all keys to one file, sorted by symbol. Return the number of rows by kind."""
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute  # its functions are made at run time

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
