"""The start page is followed to the letter: its blocks run in one shell, and print the output it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .console import missing
from .documents import ROOT, blocks

PAGE = ROOT / "docs" / "start.md"
STEPS = ["install", "simulator", "read", "shown", "order", "shown", "list", "shown", "stop"]


def steps() -> list[tuple[str, str]]:
    """Return the marked blocks of the page, in order."""
    found = re.findall(r"^<!-- start: (\w+) -->\n```\w+\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [(name, block) for name, block in found]


def test_every_block_of_the_page_is_a_step_or_the_program() -> None:
    assert [name for name, _ in steps()] == STEPS
    assert PAGE.read_text("utf-8").count("\n```\n") == len(STEPS) + len(blocks(PAGE))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
def test_the_blocks_run_one_after_another_and_print_what_the_page_shows(tmp_path: Path) -> None:
    ((_, program),) = blocks(PAGE)
    (tmp_path / "first_order.py").write_text(program, "utf-8")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, command in {"python": "", "brokerage-async": "-m brokerage_async "}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command}"$@"\n')
        (folder / name).chmod(0o755)
    script = [block for name, block in steps() if name not in ("install", "shown")]
    done = subprocess.run(
        ["sh", "-c", "set -e\n" + "".join(script)], cwd=tmp_path,
        env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "150"},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = "".join(block for name, block in steps() if name == "shown")
    assert missing(shown, done.stdout) == [], done.stdout
