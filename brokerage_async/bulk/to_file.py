"""Bulk fetches into files: whole or absent, and continued after any interruption.

Fetched rows are kept in ``FILE.partial`` (see `checkpoint`) until every key is resolved. Then ``FILE`` is written aside
and put in place at once (see `formats`), and ``FILE.partial`` is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs

from .._arguments import check_flag
from .._generated.models import NestedFuturesOptionChain, NestedOptionChain
from ..arrow import require
from ..errors import ConfigurationError, ErrorDetail, IncompleteFetchError
from ..models import converter
from .checkpoint import Checkpoint
from .fetch import BulkFetch
from .formats import FORMATS, put_in_place

__all__ = ["FileResult", "fetch_to_file"]

T = TypeVar("T")

MAX_LISTED = 10
"""Number of failed keys that an error lists."""

MAX_INLINE = 200
"""Rows of a key that are encoded on the event loop; more are encoded in a thread."""

DEEP = (NestedOptionChain, NestedFuturesOptionChain)
"""Rows that may hold thousands of strikes."""


class _StoppedError(Exception):
    """Ends the writing of a file whose caller was cancelled."""


@attrs.frozen(kw_only=True)
class FileResult:
    """Result of a fetch into a file.

    Attributes:
        path: the file.
        rows: number of its rows.
        found: number of keys that the service knows.
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
    fetch: BulkFetch[Any],
    path: str | os.PathLike[str],
    *,
    raw: bool = False,
    restart: bool = False,
    skip_failed: bool = False,
) -> FileResult:
    """Fetch everything into one file, and continue where an interrupted run stopped.

    The format follows from the name: ``.csv``, ``.jsonl`` (JSON lines) or ``.parquet`` (extra ``arrow``). Rows stand
    in the order of the keys, beside their ``key``. The file appears at once and whole, or not at all. Until then rows
    are kept in ``FILE.partial``. After a crash, a cancellation or an error, the same call requests only the keys that
    are not there yet, and the file is the same as after an uninterrupted run.

    Args:
        fetch: a bulk fetch that has not started, such as ``client.bulk.dividends(symbols)``. All its keys are read
            before the first request.
        path: the file to write. An existing one is replaced.
        raw: leave strings in CSV that begin like a formula unmarked.
        restart: discard the rows of an interrupted run.
        skip_failed: write the file without the keys that failed, instead of raising.

    Raises:
        IncompleteFetchError: keys failed, and the file was not written. The next call requests only those.
        ConfigurationError: an argument is invalid, ``FILE.partial`` belongs to a fetch with other keys, arguments,
            format or service, another run uses it, or a file cannot be written.
    """
    path, model = Path(path), _checked(fetch, Path(path))
    for name, flag in (("raw", raw), ("restart", restart), ("skip_failed", skip_failed)):
        check_flag(name, flag)
    keys = await fetch.read_keys()
    digest = hashlib.sha256("\0".join(sorted(keys)).encode(errors="surrogatepass")).hexdigest()
    purpose: dict[str, object] = {  # Only a fetch that equals it continues its rows. The order of the keys is free.
        "fetch": fetch.name,
        "format": "raw csv" if raw and path.suffix == ".csv" else path.suffix[1:],
        "keys": f"{len(keys)} ({digest[:16]})",
    }
    partial = path.with_name(f"{path.name}.partial")
    with Checkpoint(partial) as checkpoint:
        await _in_thread(lambda: checkpoint.load(purpose, restart=restart))
        resumed = len(checkpoint)
        fetch.skip(checkpoint)
        async with fetch, contextlib.aclosing(fetch.batches()) as batches:
            async for batch in batches:
                for key, value in batch.found.items():
                    items = value if isinstance(value, list | tuple) else [value]
                    add = functools.partial(_add, checkpoint, key, items)
                    if len(items) > MAX_INLINE or isinstance(next(iter(items), None), DEEP):
                        await _in_thread(add)
                    else:
                        add()
                for key in batch.missing:
                    checkpoint.add(key, None)
                checkpoint.flush()
        failed = fetch.failed
        if failed and not skip_failed:
            details = [ErrorDetail(getattr(error, "code", None), str(error), key) for key, error in failed.items()]
            raise IncompleteFetchError(
                f"{len(failed)} of {len(keys)} keys failed, so the file was not written: the rest is kept in "
                f"{partial}; repeat the call to request only the failed keys, or pass skip_failed=True (on the console "
                "--skip-failed)",
                errors=tuple(details[:MAX_LISTED]),
                failed=failed,
            )
        known = [key for key in keys if key in checkpoint]
        rows = await _write(path, known, checkpoint, model, raw=raw)
        checkpoint.discard()
    missing = [key for key in known if not checkpoint.found(key)]
    return FileResult(
        path=path, rows=rows, found=len(known) - len(missing), resumed=resumed, missing=missing, failed=failed
    )


def _checked(fetch: BulkFetch[Any], path: Path) -> type[Any]:
    """Return the class of the values."""
    if not isinstance(fetch, BulkFetch):
        raise ConfigurationError(f"fetch must be a BulkFetch, such as client.bulk.equities(symbols), got {fetch!r}")
    if fetch.model is None:
        raise ConfigurationError("fetch must have the class of its values: pass BulkFetch(..., model=)")
    if path.suffix not in FORMATS:
        raise ConfigurationError(f"path must end in {', '.join(FORMATS)}, got {str(path)!r}")
    if path.suffix == ".parquet":
        require("arrow")
    return fetch.model


def _add(checkpoint: Checkpoint, key: str, items: Sequence[Any]) -> None:
    checkpoint.add(key, [converter.unstructure(item) for item in items])


async def _write(path: Path, keys: Sequence[str], checkpoint: Checkpoint, model: type[Any], *, raw: bool) -> int:
    """Write the rows of the keys in a thread. Return their number."""
    cancelled, count = threading.Event(), 0

    def rows() -> Iterator[tuple[str, Any]]:
        nonlocal count
        count = 0  # Parquet may read the rows twice
        for key in keys:
            for row in checkpoint.rows(key):
                if cancelled.is_set():
                    raise _StoppedError
                count += 1
                yield key, row

    await _in_thread(lambda: put_in_place(path, rows, model, raw=raw), cancel=cancelled.set)
    return count


async def _in_thread(function: Callable[[], T], *, cancel: Callable[[], object] | None = None) -> T:
    """Call a function in a thread, and wait for its end even when cancelled: it uses the open file."""
    running = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        await asyncio.wait([running])  # not `asyncio.shield`, which logs a failure after a cancellation from 3.14 on
        return running.result()
    except asyncio.CancelledError:
        if cancel is not None:
            cancel()
        while not running.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        running.exception()  # read, so that it is not logged
        raise
