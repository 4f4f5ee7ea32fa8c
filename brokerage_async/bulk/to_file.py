"""Bulk fetches into files, each whole or absent, and the `Checkpoint` that lets a killed one continue.

A checkpoint is lines of JSON: a header that names the fetch, then ``[key, rows]`` for each finished key; ``rows`` is
null for an unknown key. It only grows. The next run truncates an unfinished or damaged line and what follows it. Only
one run at a time may have the file open.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import hashlib
import io
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import msgspec

from .._arguments import check_flag
from .._decimals import Decimals, decimal_text
from .._generated.models import NestedFuturesOptionChain, NestedOptionChain
from .._values import readable
from ..arrow import schema_of, to_arrow, write_parquet
from ..errors import ConfigurationError, ErrorDetail, IncompleteFetchError
from ..http.concurrency import outliving, result_of
from ..http.pager import MAX_READINGS, OffsetPager
from ..models import converter
from ..operation import Pager
from ..storage.files import open_locked, replace_durably
from .fetch import BulkFetch

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")

Rows = Callable[[], Iterable[tuple[str | None, Any]]]
"""Returns key and row (as JSON values) of all results in order, at each call. The key is None if none was requested."""

GROUP = 10_000  # rows per group of a Parquet file, and rows held in memory
MAX_LISTED = 10  # failed keys that an error lists
MAX_INLINE = 200  # rows of a key that are encoded on the event loop: more are encoded in a thread
DEEP = (NestedOptionChain, NestedFuturesOptionChain)  # rows that may hold thousands of strikes

encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode
decode: Callable[[bytes], tuple[str, list[dict[str, Any]] | None]] = msgspec.json.Decoder(
    tuple[str, list[dict[str, Any]] | None], float_hook=Decimal
).decode


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise an error of the system as ConfigurationError: ``path`` cannot be written, as on a full disk."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from None


class Checkpoint:
    """Finished keys of one fetch, and the positions of their rows in the file, which is locked until `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, int | None] = {}
        with writing(path):
            try:
                self._file = open_locked(path)
            except BlockingIOError:
                raise ConfigurationError(f"{path} is in use by another run") from None

    def close(self) -> None:
        """Close the file, which keeps the keys that were flushed."""
        with contextlib.suppress(OSError):  # of rows that a full disk did not take: they are fetched again
            self._file.close()

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, key: str, rows: list[Any] | None) -> None:
        """Record the rows of a key, or None for an unknown key. Lone surrogates become U+FFFD."""
        try:
            line = encode([key, rows])
        except UnicodeEncodeError:
            line = encode(readable([key, rows]))
        with writing(self.path):
            place = self._file.seek(0, os.SEEK_END)
            self._file.write(line + b"\n")
        self._places[key] = None if rows is None else place

    def flush(self) -> None:
        """Pass added rows to the operating system, so that they survive the end of this process."""
        with writing(self.path):
            self._file.flush()

    def found(self, key: str) -> bool:
        return self._places[key] is not None

    def rows(self, key: str) -> list[Any]:
        """Return the rows of a finished key from the file. No rows for an unknown key."""
        place = self._places[key]
        if place is None:
            return []
        self._file.seek(place)
        return decode(self._file.readline())[1] or []

    def discard(self) -> None:
        if sys.platform == "win32":  # which removes no open file
            self.close()
        with writing(self.path):
            self.path.unlink(missing_ok=True)
        self.close()

    def load(
        self,
        purpose: Mapping[str, object],
        *,
        restart: bool = False,
        remedy: str = "discard it with restart=True (on the console --restart)",
    ) -> None:
        """Read the keys that an earlier run finished, or write a header. Raise if it had another ``purpose``."""
        header = encode(purpose) + b"\n"
        with writing(self.path):  # entries from before a restart may still be unwritten
            self._file.seek(0)
        found = b"" if restart else self._file.readline()
        if not header.startswith(found):
            try:
                other = msgspec.json.decode(found)
                differing = [f"{name} {other.get(name)!r} instead of {value!r}" for name, value in purpose.items()
                             if other.get(name) != value]  # fmt: skip
            except (msgspec.DecodeError, ValueError, AttributeError):
                differing = []
            got = "; ".join(differing) or repr(found[:300].decode(errors="replace").strip())
            raise ConfigurationError(
                f"{self.path} must belong to this fetch, got {got}: finish the earlier fetch, or {remedy}"
            )
        end = len(header) if found == header else 0
        if end:
            while (line := self._file.readline()).endswith(b"\n"):
                try:
                    key, rows = decode(line)
                except (msgspec.DecodeError, ValueError, RecursionError):
                    break  # it was not written whole
                self._places[key] = None if rows is None else end
                end += len(line)
        with writing(self.path):
            self._file.seek(end)
            self._file.truncate()
            if not end:
                self._file.write(header)
                self._file.flush()


def put_in_place(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make a file, and put it in place. A reader sees the old file or the whole new one."""
    aside = path.with_name(f".{path.name}.tmp")
    try:
        with writing(path):
            write(aside)
            replace_durably(path, aside)
    finally:
        aside.unlink(missing_ok=True)


@attrs.frozen(kw_only=True)
class Style:
    """Choices of the caller: marks in CSV left out (``raw``), decimals of Parquet, and a ``key`` before each row."""

    raw: bool = False
    decimals: Decimals = "exact"
    keyed: bool = True


def write_jsonl(path: Path, rows: Rows, model: type[Any], style: Style) -> None:
    """Write each row as a JSON object in the form of the wire, with ``key`` before its fields."""
    with path.open("wb") as file:
        for key, row in rows():
            file.write(encode({"key": key} | row | {"key": key} if style.keyed else row) + b"\n")


FORMULA_OPENERS = tuple("=+-@\t\r\n＝＋－＠'")
"""Beginnings of a cell that a spreadsheet may run as a formula, and the quote: removing one quote undoes a mark."""


class _UnixLines(io.TextIOWrapper):
    """File whose lines end in LF, whatever terminator they are written with."""

    def write(self, line: str) -> int:
        return super().write(line.removesuffix("\r\n") + "\n")


def write_csv(path: Path, rows: Rows, model: type[Any], style: Style) -> None:
    """Write ``key`` and the fields of the model. Unless ``raw``, mark strings that a spreadsheet would run."""
    names = [field.name for field in attrs.fields(model)]
    with _UnixLines(path.open("wb"), encoding="utf-8", newline="") as file:
        # csv quotes only line breaks that occur in its terminator: a bare CR would begin a new row.
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(["key", *names] if style.keyed else names)
        for key, row in rows():
            item = converter.structure(row, model)
            values = [*([key] if style.keyed else []), *(getattr(item, name) for name in names)]
            writer.writerow([_cell(value, style.raw) for value in values])


def write_columns(path: Path, rows: Rows, model: type[Any], style: Style) -> None:
    """Write ``key`` and the fields of the model, typed. Raise ConfigurationError if a number fits no column."""

    def tables() -> Iterator[pyarrow.Table]:
        rest = iter(rows())
        while group := list(islice(rest, GROUP)):
            keys, raw = zip(*group, strict=True)
            items = converter.structure(list(raw), list[model])  # type: ignore[valid-type]
            yield to_arrow(items, model, keys=list(keys) if style.keyed else None, decimals=style.decimals)

    write_parquet(path, schema_of(model, key=style.keyed, decimals=style.decimals), tables(), tables())


Write = Callable[[Path, Rows, type[Any], Style], None]
FORMATS: Mapping[str, Write] = {".jsonl": write_jsonl, ".csv": write_csv, ".parquet": write_columns}


def _cell(value: Any, raw: bool) -> str:
    match value:
        case None:
            return ""
        case str():
            return f"'{value}" if not raw and value.startswith(FORMULA_OPENERS) else str(value)
        case Decimal():
            return decimal_text(value)
        case date():  # date-times too
            return value.isoformat()
        case int():  # booleans too
            return encode(value).decode()
        case _:
            return encode(converter.unstructure(value)).decode() if value else ""


@attrs.frozen(kw_only=True)
class FileResult:
    """Result of a fetch into a file.

    Attributes:
        path: the file.
        rows: number of its rows.
        found: number of keys that the service knows. Of a pager, the number of pages.
        resumed: number of keys that an earlier, interrupted run had resolved.
        missing: the keys that the service does not know, in the order of the input.
        failed: the keys that are not in the file, with their errors. Empty unless ``skip_failed``.
    """

    path: Path
    rows: int
    found: int
    resumed: int
    missing: list[str]
    failed: dict[str, Exception]


async def fetch_to_file(
    fetch: BulkFetch[Any] | Pager[Any],
    path: str | os.PathLike[str],
    *,
    decimals: Decimals = "exact",
    raw: bool = False,
    restart: bool = False,
    skip_failed: bool = False,
) -> FileResult:
    """Fetch everything into one file, and continue where an interrupted run stopped.

    The format follows from the name: ``.csv``, ``.jsonl`` (JSON lines) or ``.parquet`` (extra ``arrow``). Rows stand
    in the order of the keys, beside their ``key``. The file appears at once and whole, or not at all. Until then rows
    are kept in ``FILE.partial``. After a crash, a cancellation or an error, the same call requests only the keys that
    are not there yet, and the file is the same as after an uninterrupted run.

    The rows of a pager stand in the order of its list, without a key. The service counts pages from the current state
    of a list, so an interrupted walk is not continued: the next call begins with the first page.

    Args:
        fetch: a bulk fetch that has not started, such as ``client.bulk.dividends(symbols)``, or a pager, such as
            ``client.transactions.list(account)``. All keys are read before the first request.
        path: the file to write. An existing one is replaced.
        decimals: how Parquet holds decimals, see `Decimals`. Exact ones are ``decimal128(38, scale)`` at the scale that
            the column needs, and ``decimal256`` only if its numbers have more than 38 digits. The other formats hold
            the digits as sent.
        raw: leave strings in CSV that begin like a formula unmarked.
        restart: discard the rows of an interrupted run.
        skip_failed: write the file without the keys that failed, instead of raising.

    Raises:
        IncompleteFetchError: keys failed, and the file was not written. The next call requests only those.
        ConfigurationError: an argument is invalid, ``FILE.partial`` belongs to a fetch with other keys, arguments,
            format or service, another run uses it, or a file cannot be written.
    """
    path = Path(path)
    if not isinstance(fetch, BulkFetch | OffsetPager):
        raise ConfigurationError(
            f"fetch must be a BulkFetch, such as client.bulk.equities(symbols), or a pager, got {fetch!r}"
        )
    if fetch.model is None:
        raise ConfigurationError("fetch must have the class of its values: pass BulkFetch(..., model=)")
    if path.suffix not in FORMATS:
        raise ConfigurationError(f"path must end in {', '.join(FORMATS)}, got {str(path)!r}")
    if path.suffix == ".parquet":
        schema_of(fetch.model, decimals=decimals)
    elif decimals != "exact":
        raise ConfigurationError(f"decimals={decimals!r} must go with .parquet, got {str(path)!r}")
    for name, flag in (("raw", raw), ("restart", restart), ("skip_failed", skip_failed)):
        check_flag(name, flag)
    if isinstance(fetch, OffsetPager):
        return await _list_to_file(fetch, path, Style(raw=raw, decimals=decimals, keyed=False))
    keys = await fetch.read_keys()
    digest = hashlib.sha256("\0".join(sorted(keys)).encode(errors="surrogatepass")).hexdigest()
    purpose: dict[str, object] = {  # Only a fetch that equals it continues its rows. The order of the keys is free.
        "fetch": fetch.name,
        "format": "raw csv" if raw and path.suffix == ".csv" else path.suffix[1:],
        "keys": f"{len(keys)} ({digest[:16]})",
    }
    partial = path.with_name(f"{path.name}.partial")
    with contextlib.closing(Checkpoint(partial)) as checkpoint:
        await in_thread(lambda: checkpoint.load(purpose, restart=restart))
        resumed = len(checkpoint)
        await store(fetch, checkpoint)
        failed = fetch.failed
        if failed and not skip_failed:
            raise incomplete(
                f"{len(failed)} of {len(keys)} keys failed, so the file was not written: the rest is kept in "
                f"{partial}; repeat the call to request only the failed keys, or pass skip_failed=True (on the console "
                "--skip-failed)",
                failed,
            )
        known = [key for key in keys if key in checkpoint]
        rows = await _write(path, known, checkpoint, fetch.model, Style(raw=raw, decimals=decimals))
        checkpoint.discard()
    missing = [key for key in known if not checkpoint.found(key)]
    return FileResult(
        path=path, rows=rows, found=len(known) - len(missing), resumed=resumed, missing=missing, failed=failed
    )


async def store(fetch: BulkFetch[Any], checkpoint: Checkpoint) -> None:
    """Fetch the keys that the checkpoint lacks, and add each to it as soon as it is resolved."""
    async with fetch, contextlib.aclosing(fetch.batches(known=checkpoint)) as batches:
        async for _, batch in batches:
            for key, value in batch.found.items():
                await _store_items(checkpoint, key, value if isinstance(value, list | tuple) else [value])
            for key in batch.missing:
                checkpoint.add(key, None)
            checkpoint.flush()


def incomplete(reason: str, failed: dict[str, Exception]) -> IncompleteFetchError:
    details = [ErrorDetail(getattr(error, "code", None), str(error), key) for key, error in failed.items()]
    return IncompleteFetchError(reason, errors=tuple(details[:MAX_LISTED]), failed=failed)


async def _list_to_file(pager: OffsetPager[Any], path: Path, style: Style) -> FileResult:
    """Write the rows of a whole list, read again like `OffsetPager.collect` if it changes while it is read."""
    purpose = {"list": repr(pager)}
    with contextlib.closing(Checkpoint(path.with_name(f"{path.name}.partial"))) as checkpoint:
        pages = list[str]()
        for _ in range(MAX_READINGS):
            pages.clear()
            await in_thread(lambda: checkpoint.load(purpose, restart=True))
            async with contextlib.aclosing(pager.pages()) as walk:
                async for page in walk:
                    pages.append(str(page.page_offset))
                    await _store_items(checkpoint, pages[-1], page.items)
            if pager.disagreement is None:
                break
        rows = await _write(path, pages, checkpoint, pager.model, style)
        checkpoint.discard()
    return FileResult(path=path, rows=rows, found=len(pages), resumed=0, missing=[], failed={})


async def _store_items(checkpoint: Checkpoint, key: str, items: Sequence[Any]) -> None:
    """Record the items of a key, in a thread if it takes long."""

    def add() -> None:
        checkpoint.add(key, [converter.unstructure(item) for item in items])

    if len(items) > MAX_INLINE or isinstance(next(iter(items), None), DEEP):
        await in_thread(add)
    else:
        add()


async def _write(path: Path, keys: Sequence[str], checkpoint: Checkpoint, model: type[Any], style: Style) -> int:
    """Write the rows of the keys in a thread. Return their number."""
    cancelled, count = threading.Event(), 0

    def rows() -> Iterator[tuple[str, Any]]:
        nonlocal count
        count = 0  # Parquet may read the rows twice
        for key in keys:
            for row in checkpoint.rows(key):
                if cancelled.is_set():
                    raise asyncio.CancelledError
                count += 1
                yield key, row

    write = FORMATS[path.suffix]
    await in_thread(lambda: put_in_place(path, lambda aside: write(aside, rows, model, style)), cancelled)
    return count


async def in_thread(function: Callable[[], T], cancelled: threading.Event | None = None) -> T:
    """Call a function in a thread, and wait for its end even when cancelled: it uses the open file."""
    running = outliving(asyncio.to_thread(function), "file")
    try:
        return await result_of(running)
    except asyncio.CancelledError:
        if cancelled is not None:
            cancelled.set()
        while not running.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        raise
