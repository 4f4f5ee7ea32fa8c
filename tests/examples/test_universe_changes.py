"""The nightly universe says what changed, and DuckDB reads its files."""

from pathlib import Path

import pytest

from brokerage_async.simulator import Simulator

from .conftest import Load

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


async def test_universe_changes_are_told_the_second_night(
    brokerage: Simulator, load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = load("universe_changes")
    assert await program.main(["universe", "AAPL"]) == 0
    assert "2026-06-10 equities 50" in capsys.readouterr().out
    brokerage.clock.advance(86_400)
    assert await program.main(["universe", "AAPL"]) == 0
    told = capsys.readouterr().out
    assert "2026-06-11 equities 50" in told
    assert len(sorted((tmp_path / "universe").glob("day=*"))) == 2
    brokerage.faults.add("GET", "/option-chains/AAPL.*", "status(422)", times=None)
    brokerage.clock.advance(86_400)
    assert await program.main(["universe", "AAPL"]) == 1
    assert "AAPL: " in capsys.readouterr().err
