"""Fixtures of the pytest plugin in a test run of another project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PROGRAM = """
import pytest

from brokerage_async import errors

pytestmark = pytest.mark.asyncio


async def test_a_simulator_and_a_client_of_it(brokerage_simulator, brokerage_client):
    assert await brokerage_client.watchlists.list() == []
    assert brokerage_simulator.ledger.count("watchlists.list") == 1
    assert brokerage_simulator.base_url.startswith("http://127.0.0.1:")


@pytest.mark.brokerage_simulator(environment="production", seed=7)
class TestMarkers:
    @pytest.mark.brokerage_simulator(seed=8, equities=30)
    async def test_the_nearest_marker_wins(self, brokerage_simulator, brokerage_client):
        assert brokerage_simulator.environment.is_production
        assert brokerage_simulator.brokerage.settings.seed == 8
        assert len(await brokerage_client.instruments.equities().collect()) == 30
        assert await brokerage_client.margin.requirements(brokerage_simulator.account_numbers[0])

    @pytest.mark.brokerage_client(read_only=True)
    async def test_options_of_the_client(self, brokerage_simulator, brokerage_client):
        with pytest.raises(errors.ConfigurationError):
            await brokerage_client.orders.cancel(brokerage_simulator.account_numbers[0], 1)
"""


WRONG = """
import pytest


@pytest.mark.asyncio
@pytest.mark.brokerage_simulator("production")
async def test_options_by_position(brokerage_simulator): ...
"""


def run_program(folder: Path, program: str, mode: str = "strict") -> subprocess.CompletedProcess[str]:
    (folder / "test_program.py").write_text(program)
    root = Path(__file__).parents[1]
    installed = any(point.value == "brokerage_async.pytest_plugin" for point in entry_points(group="pytest11"))
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "--strict-markers", "-o", f"asyncio_mode={mode}"]
    command += ["-o", "asyncio_default_fixture_loop_scope=function", "-p", "no:cacheprovider"]
    command += [] if installed else ["-p", "brokerage_async.pytest_plugin"]
    environment = os.environ | ({} if installed else {"PYTHONPATH": str(root)})
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_module_in_the_documentation_runs_as_it_stands(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "testing.md").read_text("utf-8")
    (program,) = re.findall(r"^<!-- pytest -->\n```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    done = run_program(tmp_path, program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_the_fixtures_work_in_a_run_of_their_own(tmp_path: Path, mode: str) -> None:
    done = run_program(tmp_path, PROGRAM, mode)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_positional_option_of_a_marker_is_rejected(tmp_path: Path) -> None:
    done = run_program(tmp_path, WRONG)
    assert done.returncode == 1
    assert "options of the marker brokerage_simulator must be keyword arguments, got ('production',)" in done.stdout
