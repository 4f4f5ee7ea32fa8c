"""Command tree: help, start-up, interruption."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from brokerage_async import __version__
from brokerage_async.cli.app import app
from tests.documents import PAGES


def test_help_names_every_command() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    for command in (
        "demo", "simulator", "accounts", "positions", "balances", "quote", "search", "chain", "orders", "watch",
        "fetch", "call", "schema", "completion",
    ):  # fmt: skip
        assert f"\n  {command} " in result.output


def test_every_command_that_the_documentation_shows_exists_with_its_options() -> None:
    shown = [
        line.split("  #")[0].split()
        for page in PAGES
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        for line in re.findall(r"(?:^|/)brokerage-async (.+)$", block, re.MULTILINE)
    ]
    assert len(shown) > 20
    tree = get_command(app)
    for words in shown:
        command: Any = tree
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert getattr(command, "invoke_without_command", True), words
        known = {option for parameter in command.params for option in parameter.opts}
        options = {word for word in words if word.startswith("--")}
        assert options <= known or command.name == "call", (command.name, options - known)


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
    order = ["orders", "place", "buy-to-open", "AAPL", "1", "--yes", "--allow-warnings", "--simulator"]
    result = subprocess.run(
        [sys.executable, "-m", "brokerage_async", *order],
        env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "placed: " in result.stdout


HEAVY = {"aiohttp", "attrs", "cattrs", "msgspec", "asyncio", "pydantic", "rich.console", "rich.table"}


@pytest.mark.parametrize(("arguments", "completing"), [(["--help"], ""), (["orders", "place", "--l"], "1")])
def test_help_and_completion_import_nothing_that_they_do_not_use(arguments: list[str], completing: str) -> None:
    program = (
        f"import sys; sys.argv = ['brokerage-async', *{arguments!r}]\nfrom brokerage_async.cli import main\n"
        "try: main()\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    )
    environment = os.environ | ({"_BROKERAGE_ASYNC_COMPLETE": completing} if completing else {})
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    imported = set(result.stderr.split())
    assert "brokerage_async.cli.app" in imported
    assert not imported & HEAVY
    ours = {name for name in imported if name.startswith("brokerage_async.") and ".cli" not in name}
    assert ours == {"brokerage_async._version"}


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_during_start_up_leaves_without_a_traceback() -> None:
    program = (
        "import builtins, signal, sys\nsys.argv = ['brokerage-async', 'orders', 'list', '--simulator']\n"
        "from brokerage_async.cli import main\nplain = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name == {module!r} or name.endswith({module!r}): signal.raise_signal(signal.SIGINT)\n"
        "    return plain(name, *rest)\n"
        "builtins.__import__ = interrupted\nmain()"
    )
    for module in ("typer", "client"):
        result = subprocess.run(
            [sys.executable, "-c", program.format(module=module)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert "Traceback" not in result.stderr
        assert result.returncode == 130
