"""Commands in the process of the tests, on services of the tests."""

import contextlib
import functools
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import typer.testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from brokerage_async import Client, cli
from brokerage_async.cli import screen
from brokerage_async.cli.app import app
from brokerage_async.cli.command import Service
from brokerage_async.simulator import Simulator
from tests.trading import SMALL

ORDER = {
    "order-type": "Limit", "time-in-force": "Day", "price": "10", "price-effect": "Debit",
    "legs": [{"action": "Buy to Open", "instrument-type": "Equity", "quantity": "1", "symbol": "AAPL"}],
}  # fmt: skip
"""An order as JSON."""

MAIN = "\nfrom brokerage_async.cli import main\nmain()"
"""Program of the console script."""


ConnectTo: TypeAlias = Callable[..., None]


def run(program: str, *arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the arguments of a command in a separate process, which is to end with an exit code."""
    source = f"import sys; sys.argv = ['brokerage-async', *{arguments!r}]\n{program}"
    command, env = [sys.executable, "-c", source], os.environ | environment
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    return done


def invoke(*arguments: str, code: int = 0, width: int = 80, **options: Any) -> Result:
    """Run a command that is to end with an exit code, on a terminal of a width."""
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": str(width)}, **options)
    assert result.exit_code == code, (arguments, result.output, result.exception)
    tables = re.findall(r"^(?:[┏┃┡│└]|No room for).*", result.stdout, re.MULTILINE)
    assert max(map(len, tables), default=0) <= width, result.stdout
    return result


def refusal(*arguments: str, code: int = 1, **options: Any) -> str:
    """Return the message of a command that is to fail, and to print nothing else."""
    result = invoke(*arguments, code=code, width=1_000, **options)
    assert result.stdout == "", arguments
    return result.stderr


def parsed(*arguments: str, **options: Any) -> Any:
    return json.loads(invoke(*arguments, "--json", **options).stdout)


def printed(thing: object, width: int = 160, *, terminal: bool = False) -> str:
    """Return what a console of a width prints of a thing, without colours."""
    console = screen.PlainConsole(file=io.StringIO(), force_terminal=terminal, width=width, color_system=None)
    console.print(thing)
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # it is the one above


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("│").split("│")]


@pytest.fixture(autouse=True, scope="session")
def _tree_of_commands() -> Iterator[None]:
    """Build the tree of commands once for all tests, as a process of the command line builds it once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screen.out, "_width", None)  # the width in COLUMNS of a worker of pytest-xdist
        patch.setattr(typer.testing, "_get_command", functools.cache(get_command))
        yield


@pytest.fixture
def connect_to(monkeypatch: pytest.MonkeyPatch) -> ConnectTo:
    """Return a function that connects the commands to clients that are made, and prepared, for each of them."""

    def connect_to(make: Callable[[], Client], prepare: Callable[[Client], Awaitable[object]] | None = None) -> None:
        @contextlib.asynccontextmanager
        async def connect(*, simulated: bool) -> AsyncIterator[Service]:
            assert not simulated
            async with make() as client:
                if prepare is not None:
                    await prepare(client)
                yield Service(client)

        for command in vars(cli).values():
            if hasattr(command, "connect"):
                monkeypatch.setattr(command, "connect", connect)

    return connect_to


@pytest.fixture
def service(connect_to: ConnectTo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Simulator:
    """Connect commands to a simulator that outlives them, its first account and a journal."""
    simulator = Simulator(**SMALL)
    connect_to(simulator.client)
    monkeypatch.setenv("BROKERAGE_ACCOUNT", simulator.account_numbers[0])
    monkeypatch.setenv("BROKERAGE_JOURNAL", str(tmp_path / "orders.journal"))
    return simulator
