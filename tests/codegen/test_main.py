"""Command ``python -m codegen``: it writes, checks, and reports an invalid schema without a traceback."""

import shutil
from pathlib import Path

import pytest

from codegen.__main__ import main
from tests.codegen.support import GOLDEN, TOY, edit
from tests.tables import for_each


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package generated from the toy schema, for tests that only read it."""
    folder = tmp_path_factory.mktemp("generated") / "out"
    assert main(["--schema", str(TOY), "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def out(generated: Path, tmp_path: Path) -> Path:
    """Return a copy of the package generated from the toy schema."""
    return Path(shutil.copytree(generated, tmp_path / "out"))


@for_each("name", ["models", "converters", "operations", "endpoints"])
def test_main_toy_schema_gives_the_golden_sample(name: str, generated: Path) -> None:
    """Renew with: ``python -m codegen --schema tests/codegen/toy --out DIR`` and copy to golden/NAME.py.txt."""
    assert (generated / f"{name}.py").read_text() == (GOLDEN / f"{name}.py.txt").read_text()
    assert "*.py linguist-generated" in (generated / ".gitattributes").read_text()


def test_check_reports_stale_files_and_writes_nothing(toy: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    edit(toy / "garden.yaml", "Name of the plant.", "Common name.")
    assert main(["--check", "--schema", str(toy), "--out", str(out)]) == 1
    stale = f"stale in {out}: __init__.py, models.py, openapi.json.gz; run: python -m codegen"
    assert capsys.readouterr().err.strip() == stale
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert main(["--schema", str(toy), "--out", str(out)]) == 0
    assert main(["--check", "--schema", str(toy), "--out", str(out)]) == 0
    assert "up to date" in capsys.readouterr().out
    (out / "operations.py").unlink()
    (out / "obsolete.py").write_text("")
    assert main(["--check", "--schema", str(toy), "--out", str(out)]) == 1
    assert "operations.py, obsolete.py" in capsys.readouterr().err
    assert main(["--schema", str(toy), "--out", str(out)]) == 0
    assert {path.name for path in out.iterdir()} == before.keys()


def test_main_invalid_schema_lists_all_problems(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(toy / "garden.yaml", "x-effect: mutate", "x-effect: change")
    edit(toy / "garden.yaml", "frost-days:", "frostDays:")
    assert main(["--schema", str(toy), "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{toy}: 2 problems",
        "  garden.yaml: $.paths.Bed.patch: x-effect must be one of read, preflight, mutate, got 'change'",
        "  garden.yaml: $.schemas.Plant.properties: "
        "property must be lower-case words joined by dashes, got 'frostDays'",
    ]
    assert not (tmp_path / "out").exists()
