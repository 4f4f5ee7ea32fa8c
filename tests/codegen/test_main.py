"""``python -m codegen``: writes, checks, and says what is wrong without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.__main__ import ROOT, main
from tests.codegen.support import GOLDEN, TOY, toy  # noqa: F401


@pytest.mark.parametrize("name", ["models", "converters", "operations", "endpoints"])
def test_the_toy_schema_gives_the_golden_sample(name: str, tmp_path: Path) -> None:
    """To renew: ``python -m codegen --schema tests/codegen/toy --out DIR`` and copy to golden/NAME.py.txt."""
    assert main(["--schema", str(TOY), "--out", str(tmp_path)]) == 0
    assert (tmp_path / f"{name}.py").read_text() == (GOLDEN / f"{name}.py.txt").read_text()


def test_the_committed_files_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert "up to date" in capsys.readouterr().out


def test_check_writes_nothing_and_names_what_is_stale_and_what_to_run(
    toy: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert main(["--schema", str(toy), "--out", str(out)]) == 0
    before = {path.name: path.read_text() for path in out.iterdir()}
    garden = toy / "garden.yaml"
    garden.write_text(garden.read_text().replace("Its name.", "What it is called."))
    capsys.readouterr()

    assert main(["--check", "--schema", str(toy), "--out", str(out)]) == 1

    assert capsys.readouterr().err.strip() == f"stale in {out}: __init__.py, models.py; run: python -m codegen"
    assert {path.name: path.read_text() for path in out.iterdir()} == before
    assert main(["--schema", str(toy), "--out", str(out)]) == 0
    assert main(["--check", "--schema", str(toy), "--out", str(out)]) == 0


@pytest.mark.parametrize("name", ["openapi.yaml", "common.yaml", "garden.yaml"])
@pytest.mark.parametrize("edit", ["\n# a remark\n", "\n"], ids=["remark", "empty line"])
def test_no_edit_goes_unnoticed(
    name: str,
    edit: str,
    toy: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert main(["--schema", str(toy), "--out", str(out)]) == 0
    (toy / name).write_text((toy / name).read_text() + edit)
    assert main(["--check", "--schema", str(toy), "--out", str(out)]) == 1
    assert capsys.readouterr().err.strip() == f"stale in {out}: __init__.py; run: python -m codegen"


def test_missing_and_left_over_files_are_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--schema", str(TOY), "--out", str(tmp_path)]) == 0
    (tmp_path / "operations.py").unlink()
    (tmp_path / "obsolete.py").write_text("")
    assert main(["--check", "--schema", str(TOY), "--out", str(tmp_path)]) == 1
    assert "operations.py, obsolete.py" in capsys.readouterr().err
    assert main(["--schema", str(TOY), "--out", str(tmp_path)]) == 0
    assert not (tmp_path / "obsolete.py").exists()


@pytest.mark.slow
def test_the_output_depends_on_nothing_but_the_schema(tmp_path: Path) -> None:
    """Neither on hash seeds nor on the working directory, and it carries no time or path."""
    texts = []
    for seed, where in (("0", ROOT), ("4711", tmp_path)):
        out = tmp_path / f"out{seed}"
        command = [sys.executable, "-m", "codegen", "--schema", str(TOY), "--out", str(out)]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, check=True, cwd=where, env=environment, capture_output=True)
        texts.append({path.name: path.read_text() for path in out.glob("*.py")})
    assert texts[0] == texts[1]
    assert not any(str(tmp_path) in text or "timestamp" in text for text in texts[0].values())


def test_a_wrong_schema_ends_with_code_one_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").write_text("paths: [unclosed")
    command = [sys.executable, "-m", "codegen", "--schema", str(tmp_path), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "openapi.yaml: $: not readable as YAML, line 1, column 17" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_generated_folder_is_marked_as_generated(tmp_path: Path) -> None:
    assert main(["--schema", str(TOY), "--out", str(tmp_path)]) == 0
    assert "linguist-generated" in (tmp_path / ".gitattributes").read_text()
    for path in tmp_path.glob("[a-z]*.py"):
        assert path.read_text().startswith("# Written by `python -m codegen` from schema/")
