"""The nightly fetch writes the files of the day, and goes on after a failure."""

from pathlib import Path

from .conftest import Stage

SYMBOLS = "AAPL\nMSFT\n\nNO.SUCH\n"


async def test_files_of_the_day_are_written_once(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "symbols.txt").write_text(SYMBOLS)
    program = stage.load("nightly_fetch")
    assert await program.main(["symbols.txt", "data"]) == 0
    files = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert files == ["dividends-2026-06-10.csv", "earnings-2026-06-10.csv", "equities-2026-06-10.csv"]
    assert "equities-2026-06-10.csv: 2 rows, unknown symbols: NO.SUCH" in stage.shown()
    requests = len(stage.simulator.ledger.requests)
    assert await program.main(["symbols.txt", "data"]) == 0
    assert stage.shown().count("complete already") == 3
    assert len(stage.simulator.ledger.requests) - requests <= 2  # a token, and the time


async def test_failure_is_reported_and_the_next_run_goes_on(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "symbols.txt").write_text(SYMBOLS)
    program = stage.load("nightly_fetch")
    stage.simulator.faults.add("GET", "/market-metrics/.*/dividends/MSFT", "status(403)", times=1)
    assert await program.main(["symbols.txt", "data"]) == 1
    assert not (tmp_path / "data" / "dividends-2026-06-10.csv").exists()
    assert "1 of" in stage.complaints()
    assert await program.main(["symbols.txt", "data"]) == 0
    assert (tmp_path / "data" / "dividends-2026-06-10.csv").exists()
