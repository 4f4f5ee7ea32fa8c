"""Blocks of the documentation are found, evade no type checker, and print what stands below them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from brokerage_async.cli.service import KNOWN
from tests.tables import for_each

from . import console
from .documents import PAGES, ROOT, STRICT, blocks, modules

EVASIONS = re.compile(r"\bcast\(|^\s*assert\b.*\bNone\b|type: ignore|: Any\b", re.MULTILINE)


def test_page_of_the_environment_lists_every_variable_once() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `(BROKERAGE_\w+)`", page, re.MULTILINE)) == sorted(KNOWN)


def test_every_block_is_found_and_run_or_marked() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        found = [block for mark in ("", "pytest", "notebook", "tastytrade") for block in blocks(page, mark)]
        assert len(found) == text.count("\n```python\n"), page
        assert len(console.blocks(page)) == text.count("```sh\n"), page
    every = [block for page in PAGES for block in console.blocks(page)]
    here = [block for block in every if not console.runs_elsewhere(block) and not console.cannot_run(block)]
    assert len(here) > 6
    assert [block.script for block in here if not block.shown] == []
    # An address of a repository, a login at the service, a program that stays.
    assert sum(map(console.cannot_run, every)) == 3
    assert all((ROOT / path).exists() for path in console.MARKS.values())
    assert {name.partition("_line_")[0] for name in modules()} >= set(STRICT)


@for_each("name", modules())
def test_block_evades_no_type_checker(name: str) -> None:
    assert not EVASIONS.search(modules()[name]), EVASIONS.findall(modules()[name])


def test_missing_lines_are_those_that_do_not_follow_in_order() -> None:
    table = {"one two": [], "three\n…\nfive": [], "one … two\nfour": [], "five\nthree": ["three"], "six": ["six"],
             "one … nine": ["one … nine"]}  # fmt: skip
    assert {shown: console.missing(shown, "one   two\nthree\nfour 4\nfive\n") for shown in table} == table


START = ROOT / "docs" / "start.md"
"""The page that is followed to the letter: its blocks run in one shell, and print the output it shows."""

STEPS = ["install", "simulator", "read", "shown", "order", "shown", "list", "shown", "stop"]


def steps() -> list[tuple[str, str]]:
    found = re.findall(r"^<!-- start: (\w+) -->\n```\w+\n(.*?)^```", START.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [(name, block) for name, block in found]


def test_every_block_of_the_start_page_is_a_step_or_the_program() -> None:
    assert [name for name, _ in steps()] == STEPS
    assert START.read_text("utf-8").count("\n```\n") == len(STEPS) + len(blocks(START))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
def test_blocks_of_the_start_page_run_one_after_another_and_print_what_it_shows(tmp_path: Path) -> None:
    ((_, program),) = blocks(START)
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
    assert console.missing(shown, done.stdout) == [], done.stdout
