"""The report that the benchmarks write."""

import json
import shutil
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from benchmarks import report


def test_report_is_made_of_the_kept_results_and_misses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shutil.copytree(report.HERE, tmp_path / "benchmarks")
    monkeypatch.setattr(report, "HERE", folder)
    report.write()
    for name in ("RESULTS.md", "results.svg", "waiting.svg"):
        assert (folder / name).read_text("utf-8") == (Path(report.__file__).parent / name).read_text("utf-8"), name
    kept = max((folder / "results").glob("*.json"))
    found = json.loads(kept.read_text())
    del found["machine"]
    kept.write_text(json.dumps(found))
    with pytest.raises(UndefinedError, match="machine"):
        report.write()
