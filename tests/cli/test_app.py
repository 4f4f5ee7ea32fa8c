"""The command tree as a person meets it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from brokerage_async import __version__
from brokerage_async.cli.app import app


def test_help_names_every_command() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    for command in ("demo", "simulator", "call", "fetch", "watch", "orders"):
        assert command in result.output


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.strip() == f"brokerage-async {__version__}"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_it_says_what_to_install(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None\nfrom brokerage_async.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert f"needs {missing}" in result.stderr
    assert "pip install 'brokerage-async[cli]'" in result.stderr


def test_the_module_runs_like_the_script() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "brokerage_async", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.stdout.strip() == f"brokerage-async {__version__}"


def test_a_terminal_that_cannot_show_everything_ends_no_command_half_way() -> None:
    order = ["orders", "place", "buy-to-open", "AAPL", "1", "--yes", "--allow-warnings"]
    result = subprocess.run(
        [sys.executable, "-m", "brokerage_async", *order],
        env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "placed: " in result.stdout
