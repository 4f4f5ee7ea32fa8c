"""`brokerage-async simulator` serves, prints how to be reached, and ends on Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from brokerage_async.cli.app import app
from brokerage_async.cli.console import INTERRUPTED


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_what_it_prints_is_all_that_another_process_needs() -> None:
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "brokerage_async", "simulator", "--environment", "production", "--seed", "3"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        lines = [server.stdout.readline() for _ in range(6)]
        settings = dict(re.findall(r"^export (\w+)=(\S+)$", "".join(lines), re.MULTILINE))
        assert len(settings) == 5
        call = subprocess.run(
            [sys.executable, "-m", "brokerage_async", "call", "watchlists.list"],
            env=os.environ | settings, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert call.returncode == 0, call.stderr
        assert call.stdout.lstrip().startswith("[")
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=30)
    assert server.returncode == INTERRUPTED
    assert "Traceback" not in errors


def test_an_unknown_environment_is_refused() -> None:
    result = CliRunner().invoke(app, ["simulator", "--environment", "staging"])
    assert result.exit_code == 2
    assert "sandbox" in result.output
    assert "production" in result.output
