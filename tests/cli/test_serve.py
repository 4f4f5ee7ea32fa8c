"""`brokerage-async simulator` serves, prints how to be reached, and ends on Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import socket
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
        lines = [server.stdout.readline() for _ in range(7)]
        settings = dict(re.findall(r"^export (\w+)=(\S+)$", "".join(lines), re.MULTILINE))
        assert len(settings) == 6
        assert settings["BROKERAGE_ACCOUNT"] in lines[-1]
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


@pytest.mark.parametrize("wrong", [("--port", "-1"), ("--port", "65536"), ("--latency", "-1"), ("--latency", "nan")])
def test_impossible_numbers_are_refused(wrong: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["simulator", *wrong])
    assert result.exit_code == 2
    assert wrong[0] in result.output


def test_an_address_that_cannot_be_had_is_one_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = CliRunner().invoke(app, ["simulator", "--port", str(taken.getsockname()[1])])
    assert result.exit_code == 1
    assert result.stderr.startswith("ConfigurationError: cannot listen there: ")
    assert "choose another --host or --port" in result.stderr
    assert "Traceback" not in result.output
