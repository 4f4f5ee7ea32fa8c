"""The nightly fetch writes the files of the day, and goes on after a failure."""

from pathlib import Path

import pytest

from brokerage_async.simulator import Simulator

from .conftest import Load

SYMBOLS = "AAPL\nMSFT\n\nNO.SUCH\n"


async def test_files_of_the_day_are_written_once(
    brokerage: Simulator, load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "symbols.txt").write_text(SYMBOLS)
    program = load("nightly_fetch")
    assert await program.main(["symbols.txt", "data"]) == 0
    files = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert files == ["dividends-2026-06-10.csv", "earnings-2026-06-10.csv", "equities-2026-06-10.csv"]
    assert "equities-2026-06-10.csv: 2 rows, unknown symbols: NO.SUCH" in capsys.readouterr().out
    requests = len(brokerage.ledger.requests)
    assert await program.main(["symbols.txt", "data"]) == 0
    assert capsys.readouterr().out.count("complete already") == 3
    assert len(brokerage.ledger.requests) - requests <= 2  # a token, and the time


async def test_failure_is_reported_and_the_next_run_goes_on(
    brokerage: Simulator, load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "symbols.txt").write_text(SYMBOLS)
    program = load("nightly_fetch")
    brokerage.faults.add("GET", "/market-metrics/.*/dividends/MSFT", "status(403)", times=1)
    assert await program.main(["symbols.txt", "data"]) == 1
    assert not (tmp_path / "data" / "dividends-2026-06-10.csv").exists()
    assert "1 of" in capsys.readouterr().err
    assert await program.main(["symbols.txt", "data"]) == 0
    assert (tmp_path / "data" / "dividends-2026-06-10.csv").exists()
