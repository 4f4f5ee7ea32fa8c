"""Commands as a user runs them, in the process of the tests."""

import io
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from typer.testing import CliRunner, Result

from brokerage_async import Client
from brokerage_async.cli import screen
from brokerage_async.cli.app import app

SMALL: Any = {"equities": 50, "equity_options": 10, "chain_rows": 10}
"""Sizes of a simulator that starts quickly."""

ORDER = {
    "order-type": "Limit", "time-in-force": "Day", "price": "10", "price-effect": "Debit",
    "legs": [{"action": "Buy to Open", "instrument-type": "Equity", "quantity": "1", "symbol": "AAPL"}],
}  # fmt: skip
"""An order as JSON."""


class ConnectTo(Protocol):
    """Type of the fixture ``connect_to``."""

    def __call__(
        self, make: Callable[[], Client], prepare: Callable[[Client], Awaitable[object]] | None = None
    ) -> None: ...


def invoke(*arguments: str, code: int = 0, width: int = 80, **options: Any) -> Result:
    """Run a command that is to end with an exit code, on a terminal of a width."""
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": str(width)}, **options)
    assert result.exit_code == code, (arguments, result.output, result.exception)
    tables = re.findall(r"^(?:[┏┃┡│└]|No room for).*", result.stdout, re.MULTILINE)
    assert max(map(len, tables), default=0) <= width, result.stdout
    return result


def parsed(*arguments: str, **options: Any) -> Any:
    """Return the output of a command with ``--json``."""
    return json.loads(invoke(*arguments, "--json", **options).stdout)


def printed(thing: object, width: int = 160, *, terminal: bool = False) -> str:
    """Return what a console of a width prints of a thing, without colours."""
    console = screen.PlainConsole(file=io.StringIO(), force_terminal=terminal, width=width, color_system=None)
    console.print(thing)
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # it is the one above


def cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip("│").split("│")]


def lacks(output: str, *expected: str) -> list[str]:
    """Return the strings that an output is to hold and does not."""
    return [each for each in expected if each not in output]
