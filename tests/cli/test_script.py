"""Start of the console script: streams, logging and tracebacks, in processes of their own."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest

from brokerage_async.cli import print_traceback

START = "\nfrom brokerage_async.cli import start\nstart()"


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program after which ``start`` is called with ``--version``."""
    source = f"import sys; sys.argv = ['brokerage-async', '--version']\n{program}{START}"
    return subprocess.run(
        [sys.executable, "-c", source],
        env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


INSPECT = r"""
import atexit, logging

@atexit.register
def show():
    handlers = [type(each.formatter).__name__ for each in logging.getLogger().handlers]
    print(sys.stdout.errors, sys.stderr.errors, sys.excepthook.__name__, handlers,
          logging.getLogger("brokerage_async.token").level)
    print("\u00e9")
"""


def test_start_prepares_streams_logging_and_tracebacks() -> None:
    version, shown, unknown = run(INSPECT, PYTHONIOENCODING="ascii").stdout.splitlines()
    assert version.startswith("brokerage-async ")
    assert shown == f"replace replace print_traceback ['PlainFormatter'] {logging.ERROR}"
    assert unknown == "?"


def test_start_streams_that_are_no_files_are_left_alone() -> None:
    done = run("import io\nsys.stdout = io.StringIO()")
    assert (done.returncode, done.stderr) == (0, "")


def test_start_other_missing_module_is_a_traceback() -> None:
    done = run("sys.modules['brokerage_async.cli.fetch'] = None")
    assert "ModuleNotFoundError" in done.stderr
    assert "pip install" not in done.stderr


def test_start_unexpected_exception_of_a_command_cannot_control_the_terminal() -> None:
    done = run(
        "import brokerage_async.cli.completion as completion\n"
        "class Broken:\n"
        "    def __getitem__(self, key): raise RuntimeError('\\x1b[31m' + key)\n"
        "completion.SCRIPTS = Broken()\n"
        "sys.argv = ['brokerage-async', 'completion', 'bash']"
    )
    assert done.returncode == 1
    assert done.stderr.endswith("RuntimeError: \\x1b[31mbash\n")


def test_print_traceback_writes_control_characters_out(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("from \x1b[31mthe service\x1b[0m")
    except ValueError as error:
        print_traceback(type(error), error, error.__traceback__)
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last):")
    assert "ValueError: from \\x1b[31mthe service\\x1b[0m" in said
    assert "\x1b" not in said
