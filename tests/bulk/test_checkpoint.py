"""Checkpoints of fetches after any end of the run before."""

import errno
import fcntl
import io
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brokerage_async.bulk.checkpoint import Checkpoint
from brokerage_async.errors import ConfigurationError
from tests.tables import for_each


def opened(path: Path, purpose: Any) -> Checkpoint:
    checkpoint = Checkpoint(path)
    try:
        checkpoint.load(purpose)
    except ConfigurationError:
        checkpoint.close()
        raise
    return checkpoint


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "partial"


HEADER = len('{"fetch":"x"}\n')


@given(cut=st.integers(HEADER, 200), tail=st.sampled_from([b"", b"\0\0\0", b'["half', b"[1]\n", b"null\n", b"\n"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_killed_run_left_behind_whole_lines_are_kept_and_the_rest_is_cut_off(
    path: Path, cut: int, tail: Any
) -> None:
    purpose = {"fetch": "x"}
    path.unlink(missing_ok=True)
    entries = {"A": [{"a": 1}], "B": None, "Ü \n": [], "C": [{"amount": Decimal("1.10")}, {}]}
    with opened(path, purpose) as first:
        for key, rows in entries.items():
            first.add(key, rows)
    path.write_bytes(path.read_bytes()[:cut] + tail)

    with opened(path, purpose) as again:
        kept = {key: again.rows(key) for key in entries if key in again}
        assert list(kept) == list(entries)[: len(kept)]
        if tail == b"" and cut > 100:
            assert len(kept) == len(entries)
    with opened(path, purpose) as again:
        for key, rows in entries.items():
            if key not in again:
                again.add(key, rows)
    with opened(path, purpose) as last:
        assert len(last) == len(entries)
        assert [last.found(key) for key in entries] == [True, False, True, True]
        assert last.rows("C") == [{"amount": Decimal("1.10")}, {}]
        assert last.rows("B") == []


def test_a_header_that_was_not_written_whole_is_written_again_and_anything_else_left_alone(path: Path) -> None:
    for cut in range(HEADER):
        path.write_bytes(b'{"fetch":"x"}\n'[:cut])
        with opened(path, {"fetch": "x"}):
            pass
        assert path.read_bytes() == b'{"fetch":"x"}\n'
    for content in ("precious\n", "precious"):
        path.write_text(content)
        with pytest.raises(ConfigurationError, match="precious"):
            opened(path, {"fetch": "x"})
        assert path.read_text() == content
    with pytest.raises(ConfigurationError, match="cannot write"):
        opened(path.parent / "nowhere" / "partial", {"fetch": "x"})


def test_a_checkpoint_is_empty_at_first_and_what_was_flushed_survives_the_process(path: Path) -> None:
    with opened(path, {"fetch": "x"}) as checkpoint:
        assert len(checkpoint) == 0
        assert "A" not in checkpoint
        with pytest.raises(KeyError):
            checkpoint.rows("A")
    with opened(path, {"fetch": "x"}) as checkpoint:
        checkpoint.add("A", [{"a": 1}])
        checkpoint.flush()
        assert path.read_bytes().splitlines()[1:] == [b'["A",[{"a":1}]]']


def test_rows_keep_every_digit_and_lose_only_lone_surrogates(path: Path) -> None:
    rows: dict[str, list[Any]] = {
        number: [{"new": Decimal(number)}] for number in ("1.10", "0.12345678901234567890123", "1E+400", "1E-400")
    }
    rows["long"] = [{"id": 10**30}]
    with opened(path, {"fetch": "x"}) as first:
        for key, each in rows.items():  # a key is added after rows were read
            first.add(key, each)
            assert first.rows("1.10") == rows["1.10"]
        first.add("odd", [{"symbol": "a\ud800b", "\udc80": [None, {"x": "\udfff"}], "emoji": "\U0001f600"}])
    with opened(path, {"fetch": "x"}) as again:
        assert {key: str(again.rows(key)) for key in rows} == {key: str(each) for key, each in rows.items()}
        assert again.rows("odd") == [{"symbol": "a\ufffdb", "\ufffd": [None, {"x": "\ufffd"}], "emoji": "\U0001f600"}]


@pytest.mark.skipif(sys.platform == "win32", reason="needs file locks")
def test_two_runs_do_not_share_a_checkpoint(path: Path) -> None:
    with opened(path, {"fetch": "x"}), pytest.raises(ConfigurationError, match="in use by another run"):
        opened(path, {"fetch": "x"})
    with opened(path, {"fetch": "x"}) as after:
        assert len(after) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs file locks")
def test_a_file_that_another_run_removes_while_it_is_opened_is_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = opened(path, {"fetch": "x"})
    plain = fcntl.flock

    def late(file: Any, operation: int) -> None:
        monkeypatch.undo()
        other.discard()
        plain(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with opened(path, {"fetch": "x"}) as checkpoint:
        checkpoint.add("A", None)
    with opened(path, {"fetch": "x"}) as again:
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
    with pytest.raises(ConfigurationError, match=f"must belong to this fetch, {difference}: finish"):
        opened(path, {"fetch": "x"})


class FullDisk(io.BytesIO):
    """File on a disk that takes no more."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.flush()


def test_a_full_disk_is_named_and_costs_only_what_it_did_not_take(path: Path) -> None:
    with opened(path, {"fetch": "x"}) as checkpoint:
        checkpoint.add("A", None)
        checkpoint.flush()
        taken, checkpoint._file = checkpoint._file, FullDisk()
        checkpoint.add("B", None)
        with pytest.raises(ConfigurationError, match=r"cannot write .*partial: No space left on device"):
            checkpoint.flush()
    taken.close()
    with opened(path, {"fetch": "x"}) as again:
        assert ["A" in again, "B" in again] == [True, False]


def test_it_is_removed_when_everything_stands_elsewhere_or_is_gone_already(path: Path) -> None:
    for remove in (lambda: None, path.unlink):
        with opened(path, {"fetch": "x"}) as checkpoint:
            checkpoint.add("A", None)
            remove()
            checkpoint.discard()
        assert not path.exists()


@pytest.mark.parametrize(
    "line",
    [b"[1,[]]", b'{"A":1,"B":2}', b'"AB"', b'[["A"],[]]', b"[{},null]", b'["B",5]', b'["B","rows"]', b'["B",[1]]',
     b'["B",[],[]]', b"[" * 100_000],
    ids=lambda line: line[:12].decode(),
)  # fmt: skip
def test_damaged_line_is_cut_off_with_all_that_follows(path: Path, line: bytes) -> None:
    path.write_bytes(b'{"fetch":"x"}\n["A",[{"a":1}]]\n' + line + b'\n["C",null]\n')
    with opened(path, {"fetch": "x"}) as checkpoint:
        assert ("A" in checkpoint, "B" in checkpoint, "C" in checkpoint, len(checkpoint)) == (True, False, False, 1)
        assert checkpoint.rows("A") == [{"a": 1}]
    assert path.read_bytes() == b'{"fetch":"x"}\n["A",[{"a":1}]]\n'
