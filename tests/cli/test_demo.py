"""`brokerage-async demo` on the embedded simulator, and its reading parts against a service."""

import signal
import subprocess
import sys
import time

import pytest

from brokerage_async.cli.console import INTERRUPTED
from brokerage_async.simulator import Simulator
from tests.processes import run_program

from .commands import invoke, lacks


def test_demo_ends_with_a_filled_order_and_its_tables() -> None:
    output = invoke("demo").stdout
    expected = ("all equities", "10,000", "futures option chain", "20,000", "buying power after", "Filled", "fees")
    assert lacks(output, *expected) == []


async def test_demo_on_a_service_runs_only_the_reading_parts() -> None:
    async with Simulator() as brokerage:
        code, output = await run_program("-m", "brokerage_async", "demo", env=brokerage.environ)
        assert (code, "No order was sent" in output) == (0, True), output
        assert all(record.method == "GET" or record.operation == "oauth.token" for record in brokerage.ledger.requests)


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_demo_ctrl_c_leaves_cleanly() -> None:
    program = subprocess.Popen(
        [sys.executable, "-u", "-X", "dev", "-W", "error", "-m", "brokerage_async", "demo"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    program.stdout.readline()  # the simulator is up
    time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=30)
    assert program.returncode == INTERRUPTED
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert "ResourceWarning" not in errors
