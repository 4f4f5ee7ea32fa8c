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
from brokerage_async.cli.completion import VARIABLE
from tests.documents import PAGES


def test_help_names_every_command() -> None:
    commands = (
        "demo", "simulator", "accounts", "positions", "balances", "quote", "search", "chain", "orders", "watch",
        "stream", "fetch", "call", "conformance", "schema", "completion",
    )  # fmt: skip
    for option in ("--help", "-h"):
        result = CliRunner().invoke(app, [option])
        assert result.exit_code == 0
        assert [command for command in commands if f"\n  {command} " not in result.output] == []
        assert "Check an order" in CliRunner().invoke(app, ["orders", "dry-run", option]).output


def test_unknown_commands_and_options_name_the_nearest() -> None:
    near = {
        ("oders",): "Did you mean 'orders'", ("orders", "plaec"): "Did you mean 'place'",
        ("watch", "postions"): "Did you mean 'positions'",
        ("orders", "place", "--limt", "5"): "ossible options: --limit",
    }  # fmt: skip
    said = {words: CliRunner().invoke(app, words).stderr for words in near}
    assert {words: said[words] for words, meant in near.items() if meant not in said[words]} == {}


def test_commands_of_the_documentation_exist_with_their_options() -> None:
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


def test_version_is_that_of_the_package() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.strip() == f"brokerage-async {__version__}"


def test_start_without_the_extra_names_what_to_install() -> None:
    for missing in ("typer", "rich"):
        program = f"import sys; sys.modules[{missing!r}] = None\nfrom brokerage_async.cli import main; main()"
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
        )
        assert result.returncode == 1
        assert f"needs {missing}" in result.stderr
        assert "pip install 'brokerage-async[cli]'" in result.stderr


def test_module_runs_like_the_script() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "brokerage_async", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.stdout.strip() == f"brokerage-async {__version__}"


def test_place_ascii_terminal_does_not_end_it_half_way() -> None:
    order = ["orders", "place", "buy-to-open", "AAPL", "1", "--market", "--yes", "--allow-warnings", "--simulator"]
    result = subprocess.run(
        [sys.executable, "-m", "brokerage_async", *order],
        env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "placed: " in result.stdout


HEAVY = {"aiohttp", "attrs", "cattrs", "msgspec", "asyncio", "pydantic", "rich.console", "rich.table"}


def test_help_and_completion_import_nothing_that_they_do_not_use() -> None:
    for arguments, completing in ((["--help"], {}), (["orders", "place", "--l"], {VARIABLE: "1"})):
        program = (
            f"import sys; sys.argv = ['brokerage-async', *{arguments!r}]\nfrom brokerage_async.cli import main\n"
            "try: main()\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
        )
        result = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | completing, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        imported = set(result.stderr.split())
        assert "brokerage_async.cli.app" in imported
        assert imported & HEAVY == set()
        ours = {name for name in imported if name.startswith("brokerage_async.") and ".cli" not in name}
        assert ours == {"brokerage_async._version"}


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_start_ctrl_c_leaves_without_a_traceback() -> None:
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
