"""Fixtures of the pytest plugin in a test run of another project."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from .documents import ROOT, blocks

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


SHARED_LOOP = """
import asyncio

import pytest

pytestmark = pytest.mark.asyncio()
loops = set()


class TestInOneLoop:
    @pytest.mark.parametrize("number", [1, 2])
    async def test_fixtures_run_in_the_loop_of_the_test(self, brokerage_simulator, brokerage_client, number):
        loops.add(id(asyncio.get_running_loop()))
        assert len(loops) == 1
        async with asyncio.timeout(10):
            assert await brokerage_client.watchlists.list() == []
        assert brokerage_simulator.ledger.count("watchlists.list") == 1
"""

ANYIO = """
import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_fixtures_run_in_the_loop_of_the_test(brokerage_simulator, brokerage_client):
    assert await brokerage_client.watchlists.list() == []
    assert brokerage_simulator.ledger.count("watchlists.list") == 1
"""

DAY = """
import asyncio

import pytest


async def main(client, simulator):
    await asyncio.sleep(6 * 3600)
    assert not await client.watchlists.list()
    return simulator.clock.time.isoformat(), simulator.brokerage.settings.seed, client.environment.is_production


@pytest.mark.brokerage_simulator(seed=8, start="2026-06-10T09:00-04:00")
def test_a_day_has_the_options_of_the_markers(trading_day):
    assert trading_day(main) == ("2026-06-10T19:00:00+00:00", 8, False)
    assert trading_day(main, seed=9, environment="production")[1:] == (9, True)
"""

WRONG = """
import pytest


@pytest.mark.asyncio
@pytest.mark.brokerage_simulator("production")
async def test_options_by_position(brokerage_simulator): ...
"""


def run_pytest(folder: Path, mode: str = "strict", *options: str, passed: int, **programs: str) -> str:
    """Run programs as the tests of a folder, of which this many must pass and no other may. Return the output."""
    folder.mkdir(exist_ok=True)
    for name, program in programs.items():
        (folder / f"test_{name}.py").write_text(program)
    installed = any(point.value == "brokerage_async.pytest_plugin" for point in entry_points(group="pytest11"))
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "--strict-markers", "-o", f"asyncio_mode={mode}"]
    command += ["-o", "asyncio_default_fixture_loop_scope=function", "-p", "no:cacheprovider", *options]
    command += [] if installed else ["-p", "brokerage_async.pytest_plugin"]
    environment = os.environ | ({} if installed else {"PYTHONPATH": str(ROOT)})
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode == 0) is (passed > 0), done.stdout + done.stderr
    assert not passed or f"{passed} passed" in done.stdout
    return done.stdout


def test_the_fixtures_work_in_a_run_of_their_own(tmp_path: Path) -> None:
    """In unchanged modules of the documentation, with the plugin of anyio, and for a day on virtual time."""
    ((_, testing),) = blocks(ROOT / "docs" / "testing.md", "pytest")
    ((_, simulator),) = blocks(ROOT / "docs" / "simulator.md", "pytest")
    run_pytest(tmp_path, passed=11, testing=testing, simulator=simulator, program=PROGRAM, anyio=ANYIO, day=DAY)


def test_the_fixtures_run_in_the_loop_of_the_test(tmp_path: Path) -> None:
    scopes = ("class", "module", "package", "session")
    marked = {scope: SHARED_LOOP.replace("asyncio()", f"asyncio(loop_scope={scope!r})") for scope in scopes}
    run_pytest(tmp_path, passed=8, **marked)
    for scope, passed, programs in (("function", 5, {"program": PROGRAM}), ("session", 2, {})):
        defaults = {"test": "session", "fixture": scope}
        options = [f"-oasyncio_default_{name}_loop_scope={value}" for name, value in defaults.items()]
        run_pytest(tmp_path / scope, "auto", *options, passed=passed, shared=SHARED_LOOP, **programs)


def test_positional_option_of_a_marker_is_rejected(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, passed=0, wrong=WRONG)
    assert "options of the marker brokerage_simulator must be keyword arguments, got ('production',)" in output
