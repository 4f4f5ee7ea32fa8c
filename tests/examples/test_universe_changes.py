"""The nightly universe says what changed, and DuckDB reads its files."""

from pathlib import Path

import pytest

from .conftest import Stage

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


async def test_universe_changes_are_told_the_second_night(stage: Stage, tmp_path: Path) -> None:
    program = stage.load("universe_changes")
    assert await program.main(["universe", "AAPL"]) == 0
    assert "2026-06-10 equities 50" in stage.shown()
    stage.simulator.clock.advance(86_400)
    assert await program.main(["universe", "AAPL"]) == 0
    told = stage.shown()
    assert "2026-06-11 equities 50" in told
    assert len(sorted((tmp_path / "universe").glob("day=*"))) == 2
    stage.simulator.faults.add("GET", "/option-chains/AAPL.*", "status(422)", times=None)
    stage.simulator.clock.advance(86_400)
    assert await program.main(["universe", "AAPL"]) == 1
    assert "AAPL: " in stage.complaints()
