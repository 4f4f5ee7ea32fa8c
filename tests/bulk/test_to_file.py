"""Fetches into files: whole or absent, and continued after any interruption, by checkpoints of any end."""

import asyncio
import csv
import errno
import io
import json
import random
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokerage_async import errors, models
from brokerage_async.bulk import BulkFetch, fetch_to_file, to_file
from brokerage_async.bulk.to_file import FORMATS, Checkpoint, Style, put_in_place
from brokerage_async.simulator import Simulator
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.tables import for_each
from tests.trading import cancelled

from .killed_fetch import KEYS, POINTS, UNKNOWN, Service

HOME = Path(__file__).parents[2]
PURPOSE = {"fetch": "x"}
HEADER = b'{"fetch":"x"}\n'


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@pytest.fixture
async def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes | None:
    """Return the file of an uninterrupted run."""
    return await whole(tmp_path_factory.mktemp("whole") / "out.jsonl")


def files(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir())


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def write(path: Path, content: str) -> None:
    path.write_text(content)


async def whole(out: Path) -> bytes | None:
    await fetch_to_file(Service().fetch(), out)
    return content(out)


async def interrupted(service: Service, out: Path, **options: Any) -> None:
    service.errors["K09"] = errors.TokenError("revoked")
    await raised_by(fetch_to_file(service.fetch(), out, **options), errors.TokenError)
    service.errors.clear()
    service.asked.clear()


def column(path: Path, name: str) -> list[Any]:
    if path.suffix == ".parquet":
        return pq.read_table(path)[name].to_pylist()
    lines = path.read_text().splitlines()
    return [row[name] for row in (csv.DictReader(lines) if path.suffix == ".csv" else map(json.loads, lines))]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
async def test_file_has_every_row_once_in_the_order_of_the_keys(service: Service, out: Path, suffix: str) -> None:
    out = out.with_suffix(suffix)
    result = await fetch_to_file(service.fetch([*KEYS, "K01", "K00"], concurrency=4), str(out))
    assert (result.path, result.rows, result.found, result.resumed) == (out, 36, 18, 0)
    assert (result.missing, result.failed) == (UNKNOWN, {})
    assert files(out) == [out.name]
    assert column(out, "key") == [key for key in KEYS if key not in UNKNOWN for _ in range(2)]
    assert [Decimal(amount) for amount in column(out, "amount")] == [Decimal("0.5"), Decimal("1.5")] * 18


async def test_keys_may_come_from_an_async_iterator_and_may_be_none(out: Path) -> None:
    async def iterate(keys: Sequence[str]) -> AsyncIterator[str]:
        for key in keys:
            yield key

    for keys, reported in ((["B", "A", "B"], [(2, 2)]), ([], [])):
        progress: list[Any] = []
        fetch = Service().fetch(iterate(keys), on_progress=lambda *step, into=progress: into.append(step[:2]))
        assert ((await fetch_to_file(fetch, out)).found, progress) == (len({*keys}), reported)
    assert content(out) == b""


async def test_an_error_keeps_the_rows_and_the_next_call_requests_the_rest(
    service: Service, out: Path, expected: bytes
) -> None:
    await interrupted(service, out)
    assert files(out) == ["out.jsonl.partial"]
    progress: list[Any] = []
    result = await fetch_to_file(service.fetch(on_progress=lambda *step: progress.append(step[:2])), out)
    assert (result.resumed, result.missing, progress[-1]) == (8, UNKNOWN, (20, 20))
    assert service.asked == KEYS[8:]
    assert (content(out), files(out)) == (expected, ["out.jsonl"])


async def test_a_cancelled_call_leaves_nothing_running_and_can_be_continued(
    service: Service, out: Path, expected: bytes
) -> None:
    service.stuck_at = "K08"
    await cancelled(fetch_to_file(service.fetch(), out), after=0.5)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert files(out) == ["out.jsonl.partial"]
    service.stuck_at = None
    assert (await fetch_to_file(service.fetch(), out)).resumed == 8
    assert content(out) == expected


@pytest.mark.parametrize("cancellations", [1, 3])
async def test_cancelling_while_the_file_is_written_leaves_the_old_one(
    service: Service, out: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch, cancellations: int
) -> None:
    write(out, "before")
    reading, go_on, plain = threading.Event(), threading.Event(), Checkpoint.rows

    def slow(self: Any, key: str) -> Any:
        reading.set()
        assert go_on.wait(10)
        return plain(self, key)

    with monkeypatch.context() as slowly:
        slowly.setattr(Checkpoint, "rows", slow)
        call = asyncio.create_task(fetch_to_file(service.fetch(), out))
        assert await asyncio.to_thread(reading.wait, 10)
        for _ in range(cancellations):
            call.cancel()
            await asyncio.sleep(0)
        assert not call.done(), "the file is in use by the thread"
        go_on.set()
        await raised_by(call, asyncio.CancelledError)
    assert (content(out), files(out)) == (b"before", ["out.jsonl", "out.jsonl.partial"])
    assert (await fetch_to_file(service.fetch(), out)).resumed == 20
    assert service.asked == KEYS
    assert content(out) == expected


async def run(point: str, out: Path, *, kill_after: float | None = None) -> int:
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.bulk.killed_fetch", point, out, cwd=HOME)
    if kill_after is not None:
        while content(out.with_name(f"{out.name}.partial")) is None and child.returncode is None:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await asyncio.sleep(kill_after)
        if child.returncode is None:
            child.send_signal(signal.SIGKILL)
    return await child.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("point", POINTS)
async def test_killed_anywhere_no_row_is_lost_or_doubled(
    service: Service, out: Path, expected: bytes, point: str
) -> None:
    assert await run(point, out) == -signal.SIGKILL
    assert content(out) == (expected if point == "after replacing" else None)
    kept = {"request": KEYS[:8], "line": KEYS[:12]}.get(point, KEYS)
    assert (await fetch_to_file(service.fetch(), out)).resumed == len(kept)
    assert service.asked == [key for key in KEYS if key not in kept]
    assert (content(out), files(out)) == (expected, ["out.jsonl", "out.jsonl.asked"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
async def test_killed_at_any_moment_no_row_is_lost_or_doubled(
    out: Path, tmp_path_factory: pytest.TempPathFactory, suffix: str
) -> None:
    out = out.with_suffix(suffix)
    expected, chance, kills = await whole(tmp_path_factory.mktemp("whole") / out.name), random.Random(suffix), 0
    while kills < 3:
        kills += await run("any moment", out, kill_after=chance.uniform(0, 0.15)) == -signal.SIGKILL
        assert content(out) in (None, expected)
    assert await run("any moment", out) == 0
    assert content(out) == expected


async def test_failed_keys_leave_the_old_file_and_are_requested_again(
    service: Service, out: Path, expected: bytes
) -> None:
    write(out, "before")
    service.errors["K05"] = errors.UnprocessableError("odd symbol", code="odd", status=422)
    with pytest.raises(errors.IncompleteFetchError, match=r"1 of 20 keys failed.*\n  - K05: odd symbol") as raised:
        await fetch_to_file(service.fetch(), out)
    assert raised.value.failed == service.errors
    assert [(detail.code, detail.domain) for detail in raised.value.errors] == [("odd", "K05")]
    assert content(out) == b"before"
    service.errors.clear()
    service.asked.clear()
    await fetch_to_file(service.fetch(), out)
    assert (service.asked, content(out)) == (["K05"], expected)


async def test_failed_keys_are_left_out_on_request_or_listed_in_part(service: Service, out: Path) -> None:
    service.errors["K05"] = errors.UnprocessableError("odd symbol")
    result = await fetch_to_file(service.fetch(), out, skip_failed=True)
    assert (list(result.failed), result.found, result.rows) == (["K05"], 17, 34)
    assert b"K05" not in (content(out) or b"K05")
    assert files(out) == ["out.jsonl"]
    service.errors = {key: errors.UnprocessableError("odd") for key in KEYS}
    error = await raised_by(fetch_to_file(service.fetch(), out), errors.IncompleteFetchError)
    assert (len(error.failed), len(error.errors)) == (20, 10)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
async def test_pager_is_written_whole_in_the_order_of_its_list(out: Path, suffix: str) -> None:
    out = out.with_suffix(suffix)
    async with Simulator(equities=250, equity_options=10, chain_rows=10).client() as client:
        expected = await client.instruments.equities(per_page=100).collect()
        write(out.with_name(f"{out.name}.partial"), "of a walk that was killed")
        result = await fetch_to_file(client.instruments.equities(per_page=100).prefetch(2), out)
    assert (result.rows, result.found, result.missing) == (250, 3, [])
    assert files(out) == [out.name]
    assert column(out, "symbol") == [equity.symbol for equity in expected]
    if suffix == ".parquet":
        assert pq.read_schema(out).field("borrow_rate").type == pa.decimal128(38, 2)


@pytest.mark.parametrize(
    ("keys", "name", "message"),
    [
        (KEYS[:-1], "dividends", r"got keys '20 \(\w{16}\)' instead of '19 \(\w{16}\)'"),
        ([*KEYS[:-1], "OTHER"], "dividends", r"got keys '20 \(\w{16}\)' instead of '20 \(\w{16}\)'"),
        (KEYS, "dividends of elsewhere", "got fetch 'dividends' instead of 'dividends of elsewhere'"),
    ],
)
async def test_another_fetch_never_continues(service: Service, out: Path, keys: Any, name: str, message: str) -> None:
    await interrupted(service, out)
    with pytest.raises(errors.ConfigurationError, match=rf"partial must belong to this fetch, {message}.*restart=True"):
        await fetch_to_file(service.fetch(keys, name=name), out)
    assert service.asked == []
    result = await fetch_to_file(service.fetch(keys, name=name), out, restart=True)
    assert (result.resumed, sorted(service.asked)) == (0, sorted(keys))


async def test_another_format_does_not_continue_it(service: Service, tmp_path: Path) -> None:
    await interrupted(service, tmp_path / "out.csv")
    with pytest.raises(errors.ConfigurationError, match="got format 'csv' instead of 'raw csv'"):
        await fetch_to_file(service.fetch(), tmp_path / "out.csv", raw=True)
    (tmp_path / "out.csv.partial").rename(tmp_path / "out.parquet.partial")
    with pytest.raises(errors.ConfigurationError, match="got format 'csv' instead of 'parquet'"):
        await fetch_to_file(service.fetch(), tmp_path / "out.parquet")


async def test_the_order_of_the_keys_may_change(service: Service, out: Path) -> None:
    await interrupted(service, out)
    result = await fetch_to_file(service.fetch(set(KEYS)), out)
    assert (result.resumed, sorted(service.asked)) == (8, KEYS[8:])


@pytest.mark.parametrize("restart", [False, True])
async def test_a_file_is_written_by_one_call_at_a_time(service: Service, out: Path, restart: bool) -> None:
    calls = [fetch_to_file(service.fetch(), out, restart=each) for each in (False, restart)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result).__name__ for result in results] == ["FileResult", "ConfigurationError"]
    assert "in use by another run" in str(results[1])


@for_each(
    "fetch, path, options, message",
    [
        (lambda s: s, "a.csv", {}, "fetch must be a BulkFetch"),
        (lambda s: s.fetch(model=None), "a.csv", {}, "fetch must have the class of its values"),
        (lambda s: s.fetch(), "a.txt", {}, r"path must end in \.jsonl, \.csv, \.parquet, got 'a\.txt'"),
        (lambda s: s.fetch(), "a", {}, "path must end in"),
        (lambda s: s.fetch(), "a.parquet", {"decimals": "exactly"}, "decimals must be 'exact', 'string' or 'float'"),
        (lambda s: s.fetch(), "a.csv", {"decimals": "float"}, r"decimals='float' must go with \.parquet"),
        (lambda s: s.fetch(), "a.csv", {"restart": "yes"}, "restart must be True or False"),
        (lambda s: s.fetch(), "nowhere/a.csv", {}, r"cannot write nowhere/a\.csv\.partial: No such file"),
    ],
)
async def test_an_invalid_argument_is_refused_before_anything_is_requested(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetch: Any, path: str, options: Any, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    await raised_by(fetch_to_file(fetch(service), path, **options), errors.ConfigurationError, message)
    assert (service.asked, files(tmp_path / "any")) == ([], [])


async def test_missing_pyarrow_names_the_extra(service: Service, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(errors.ConfigurationError, match=r"brokerage-async\[arrow\]"):
        await fetch_to_file(service.fetch(), out.with_suffix(".parquet"))
    assert (service.asked, files(out)) == ([], [])


async def test_a_fetch_that_has_run_or_was_closed_writes_no_file(service: Service, out: Path) -> None:
    run, closed = service.fetch(), service.fetch()
    await run
    await closed.aclose()
    for fetch, message in ((run, "runs once"), (closed, "was closed before every key was resolved")):
        await raised_by(fetch_to_file(fetch, out), RuntimeError, message)
    assert content(out) is None


async def test_long_work_is_done_in_threads(service: Service, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: dict[str, set[int]] = {"add": set(), "load": set(), "write": set()}

    def recorded(name: str, function: Any) -> Any:
        def record(*args: Any, **options: Any) -> Any:
            if args[-1] is not None:  # an unknown key has no rows
                threads[name].add(threading.get_ident())
            return function(*args, **options)

        return record

    for name in ("add", "load"):
        monkeypatch.setattr(Checkpoint, name, recorded(name, getattr(Checkpoint, name)))
    monkeypatch.setitem(to_file.FORMATS, ".jsonl", recorded("write", to_file.write_jsonl))  # type: ignore[index]
    service.rows = to_file.MAX_INLINE + 1
    chains = AsyncMock(return_value={"A": [models.NestedOptionChain(root_symbol="A")]})
    for fetch in (service.fetch(), BulkFetch(["A"], chains, model=models.NestedOptionChain)):
        await fetch_to_file(fetch, out)
        assert all(used and threading.get_ident() not in used for used in threads.values())
        for used in threads.values():
            used.clear()


# The formats, without a fetch.

ROWS = [
    ("A", {"symbol": "A", "active": True, "borrow-rate": "0.10", "id": 7, "halted-at": "2026-01-02T03:04:05Z"}),
    ("B", {"symbol": 'B, "b"', "tick-sizes": [{"value": "0.01", "threshold": "3"}], "new": {"x": 1}}),
    ("B", {}),
]


def put(path: Path, rows: Any, **style: Any) -> None:
    put_in_place(path, lambda aside: FORMATS[path.suffix](aside, rows, models.Equity, Style(**style)))


def written_file(folder: Path, suffix: str, rows: Any, **style: Any) -> Path:
    path = folder / f"out{suffix}"
    put(path, lambda: rows, **style)
    return path


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_json_lines_are_what_the_service_sent_with_the_key_that_was_asked(tmp_path: Path) -> None:
    lines = written_file(tmp_path, ".jsonl", ROWS).read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"key": key, **row} for key, row in ROWS]
    assert all(line.startswith('{"key":') for line in lines)
    [line] = written_file(tmp_path, ".jsonl", [("A", {"key": "other", "symbol": "A"})]).read_text().splitlines()
    assert json.loads(line) == {"key": "A", "symbol": "A"}


def test_csv_has_a_column_for_each_field(tmp_path: Path) -> None:
    first, second, third = csv_rows(written_file(tmp_path, ".csv", ROWS))
    assert [row["key"] for row in (first, second, third)] == ["A", "B", "B"]
    plain = {"active": "true", "borrow_rate": "0.10", "id": "7", "halted_at": "2026-01-02T03:04:05+00:00"}
    assert first.items() >= plain.items()
    assert (second["symbol"], json.loads(second["extra"])) == ('B, "b"', {"new": {"x": 1}})
    assert json.loads(second["tick_sizes"]) == [{"value": "0.01", "threshold": "3"}]
    assert set(third.values()) == {"B", ""}


FORMULAS = [
    '=HYPERLINK("http://example.com")', "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "'",
]  # fmt: skip


def test_csv_marks_strings_that_a_spreadsheet_would_run_unless_raw(tmp_path: Path) -> None:
    rows = [(each, {"symbol": each, "lendability": each, "borrow-rate": "-0.5", "id": -7}) for each in FORMULAS]
    for row, formula in zip(csv_rows(written_file(tmp_path, ".csv", rows)), FORMULAS, strict=True):
        assert [row[name] for name in ("key", "symbol", "lendability")] == ["'" + formula] * 3
        assert [row[name] for name in ("borrow_rate", "id")] == ["-0.5", "-7"]
    raw = csv_rows(written_file(tmp_path, ".csv", rows, raw=True))
    assert [(row["key"], row["symbol"]) for row in raw] == [(each, each) for each in FORMULAS]
    lines = written_file(tmp_path, ".jsonl", [("=1", {"symbol": "=1"})], raw=True)
    assert json.loads(lines.read_text()) == {"key": "=1", "symbol": "=1"}


def test_parquet_is_typed_and_written_group_by_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written_file(tmp_path, ".parquet", ROWS)
    assert column(path, "key") == ["A", "B", "B"]
    assert column(path, "borrow_rate") == [Decimal("0.10"), None, None]
    assert column(path, "halted_at")[0] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    ticks = column(path, "tick_sizes")[1]
    assert [(each["value"], each["threshold"]) for each in ticks] == [(Decimal("0.01"), Decimal(3))]
    monkeypatch.setattr(to_file, "GROUP", 2)
    file = pq.ParquetFile(written_file(tmp_path, ".parquet", ROWS))
    assert (file.num_row_groups, file.metadata.num_rows) == (2, 3)
    rows = [("A", {"borrow-rate": "1.5"}), ("B", {"borrow-rate": "1e-30", "tick-sizes": [{"value": "1"}]})]
    path = written_file(tmp_path, ".parquet", rows)
    assert column(path, "borrow_rate") == [Decimal("1.5"), Decimal("1e-30")]


@for_each("suffix", FORMATS)
def test_nothing_found_is_a_file_all_the_same(tmp_path: Path, suffix: str) -> None:
    assert written_file(tmp_path, suffix, []).exists()


def test_the_file_is_replaced_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("before")

    def rows() -> Iterator[Any]:
        yield "A", {}
        assert out.read_text() == "before"
        raise KeyboardInterrupt

    raised(KeyboardInterrupt, put, out, rows)
    assert (out.read_text(), files(out)) == ("before", ["out.jsonl"])


def test_rows_without_keys_and_decimals_of_other_forms(tmp_path: Path) -> None:
    rows = [(None, row) for _, row in ROWS]
    lines = written_file(tmp_path, ".jsonl", rows, keyed=False).read_text().splitlines()
    assert [json.loads(line) for line in lines] == [row for _, row in rows]
    assert "key" not in csv_rows(written_file(tmp_path, ".csv", rows, keyed=False))[0]
    for decimals, amount in (("exact", Decimal("0.10")), ("string", "0.10"), ("float", 0.1)):
        table = pq.read_table(written_file(tmp_path, ".parquet", rows, keyed=False, decimals=decimals))
        assert "key" not in table.column_names
        assert table.column("borrow_rate").to_pylist() == [amount, None, None]


@for_each("row", [{"borrow-rate": "1e60"}, {"borrow-rate": "1e-60"}, {"id": 10**20}])
def test_a_number_too_wide_for_any_column_costs_the_file_and_no_row(tmp_path: Path, row: Any) -> None:
    out = tmp_path / "out.parquet"
    out.write_text("before")
    raised(errors.ConfigurationError, put, out, lambda: [("A", {}), ("B", row)], match="JSON lines and CSV hold")
    assert (out.read_text(), files(out)) == ("before", ["out.parquet"])


def test_file_that_cannot_be_written_is_named(out: Path) -> None:
    out.mkdir()
    raised(errors.ConfigurationError, put, out, lambda: ROWS, match=r"cannot write .*out\.jsonl")
    assert files(out) == ["out.jsonl"]


@contextmanager
def opened(path: Path) -> Iterator[Checkpoint]:
    with closing(Checkpoint(path)) as checkpoint:
        checkpoint.load(PURPOSE)
        yield checkpoint


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "partial"


@given(cut=st.integers(len(HEADER), 200), tail=st.sampled_from([b"", b"\0\0\0", b'["half', b"[1]\n", b"null\n", b"\n"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whole_lines_of_a_killed_run_are_kept_and_the_rest_is_cut_off(path: Path, cut: int, tail: Any) -> None:
    path.unlink(missing_ok=True)
    entries = {"A": [{"a": 1}], "B": None, "Ü \n": [], "C": [{"amount": Decimal("1.10")}, {}]}
    with opened(path) as first:
        for key, rows in entries.items():
            first.add(key, rows)
    path.write_bytes(path.read_bytes()[:cut] + tail)
    with opened(path) as again:
        kept = [key for key in entries if key in again and again.rows(key) is not None]
        assert kept == list(entries)[: len(kept)]
        if tail == b"" and cut > 100:
            assert len(kept) == len(entries)
    with opened(path) as again:
        for key, rows in entries.items():
            if key not in again:
                again.add(key, rows)
    with opened(path) as last:
        assert len(last) == len(entries)
        assert [last.found(key) for key in entries] == [True, False, True, True]
        assert (last.rows("C"), last.rows("B")) == ([{"amount": Decimal("1.10")}, {}], [])


def test_a_header_that_was_not_written_whole_is_written_again_and_anything_else_left_alone(path: Path) -> None:
    for cut in range(len(HEADER)):
        path.write_bytes(HEADER[:cut])
        with opened(path):
            pass
        assert path.read_bytes() == HEADER
    for content in ("precious\n", "precious"):
        path.write_text(content)
        with pytest.raises(errors.ConfigurationError, match="precious"), opened(path):
            pass
        assert path.read_text() == content
    with pytest.raises(errors.ConfigurationError, match="cannot write"), opened(path.parent / "nowhere" / "partial"):
        pass


def test_rows_keep_every_digit_and_lose_only_lone_surrogates(path: Path) -> None:
    numbers = ("1.10", "0.12345678901234567890123", "1E+400", "1E-400")
    rows: dict[str, list[Any]] = {number: [{"new": Decimal(number)}] for number in numbers}
    rows["long"] = [{"id": 10**30}]
    with opened(path) as first:
        for key, each in rows.items():  # a key is added after rows were read
            first.add(key, each)
            assert first.rows("1.10") == rows["1.10"]
        first.add("odd", [{"symbol": "a\ud800b", "\udc80": [None, {"x": "\udfff"}], "emoji": "\U0001f600"}])
    with opened(path) as again:
        assert {key: str(again.rows(key)) for key in rows} == {key: str(each) for key, each in rows.items()}
        assert again.rows("odd") == [{"symbol": "a\ufffdb", "\ufffd": [None, {"x": "\ufffd"}], "emoji": "\U0001f600"}]


def test_file_that_another_run_removes_while_opened_is_made_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl", reason="needs file locks")
    plain, other = fcntl.flock, Checkpoint(path)
    other.load(PURPOSE)

    def late(file: Any, operation: int) -> None:
        monkeypatch.undo()
        other.discard()
        plain(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with opened(path) as checkpoint:
        checkpoint.add("A", None)
    with opened(path) as again:
        assert "A" in again


@for_each(
    "header, difference",
    [
        (b'{"fetch":"y"}', "got fetch 'y' instead of 'x'"),
        (b"{}", "got fetch None instead of 'x'"),
        (b"[1]", r"got '\[1\]'"),
        (b"\xff" * 400, f"got '{chr(0xFFFD) * 300}'"),
    ],
)
def test_the_difference_to_another_fetch_is_named(path: Path, header: bytes, difference: str) -> None:
    path.write_bytes(header + b"\n")
    match = f"must belong to this fetch, {difference}: finish"
    with pytest.raises(errors.ConfigurationError, match=match), opened(path):
        pass


class FullDisk(io.BytesIO):
    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def seek(self, place: int, whence: int = 0) -> int:
        return super().seek(place, whence) if whence else self.flush() or 0

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.flush()


def test_a_full_disk_is_named_and_costs_only_what_it_did_not_take(path: Path) -> None:
    with opened(path) as checkpoint:
        checkpoint.add("A", None)
        checkpoint.flush()
        taken, checkpoint._file = checkpoint._file, FullDisk()
        checkpoint.add("B", None)
        for write in (checkpoint.flush, lambda: checkpoint.load(PURPOSE, restart=True)):
            raised(errors.ConfigurationError, write, match=r"cannot write .*partial: No space left on device")
    taken.close()
    with opened(path) as again:
        assert ["A" in again, "B" in again] == [True, False]


def test_it_is_removed_when_everything_stands_elsewhere_or_is_gone_already(path: Path) -> None:
    for remove in (lambda: None, path.unlink):
        with opened(path) as checkpoint:
            checkpoint.add("A", None)
            remove()
            checkpoint.discard()
        assert not path.exists()


@for_each(
    "line",
    [b"[1,[]]", b'{"A":1,"B":2}', b'"AB"', b'[["A"],[]]', b"[{},null]", b'["B",5]', b'["B","rows"]', b'["B",[1]]',
     b'["B",[],[]]', b"[" * 100_000],
)  # fmt: skip
def test_damaged_line_is_cut_off_with_all_that_follows(path: Path, line: bytes) -> None:
    path.write_bytes(HEADER + b'["A",[{"a":1}]]\n' + line + b'\n["C",null]\n')
    with opened(path) as checkpoint:
        assert ("A" in checkpoint, "B" in checkpoint, "C" in checkpoint, len(checkpoint)) == (True, False, False, 1)
        assert checkpoint.rows("A") == [{"a": 1}]
    assert path.read_bytes() == HEADER + b'["A",[{"a":1}]]\n'
