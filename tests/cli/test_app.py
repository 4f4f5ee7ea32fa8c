"""Command tree and console script: help, completion, start-up, streams, logging, tracebacks, interruption."""

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from brokerage_async import __version__
from brokerage_async.cli.app import app
from brokerage_async.cli.completion import SCRIPTS, VARIABLE, complete
from brokerage_async.cli.fetch import METHODS
from tests.documents import PAGES, Block
from tests.schema.bundle import SOURCE
from tests.tables import lacks, misses

from .conftest import MAIN, invoke, refusal, run


def test_help_names_every_command() -> None:
    commands = vars(get_command(app))["commands"]
    assert {"demo", "simulator", "orders", "watch", "fetch", "call", "doctor", "conformance"} <= commands.keys()
    for option in ("--help", "-h"):
        assert lacks(invoke(option).output, *(f"\n  {command} " for command in commands)) == []
        assert "Check an order" in invoke("orders", "dry-run", option).output


ORDER = ("buy-to-open", "AAPL", "1", "--limit", "1")
CONNECTING: dict[str, tuple[str, ...]] = {
    "accounts": (), "positions": (), "balances": (), "quote": ("AAPL",), "search": ("x",), "chain": ("AAPL",),
    "orders dry-run": ORDER, "orders place": (*ORDER, "--yes"), "orders cancel": ("1", "--yes"), "orders list": (),
    "orders bracket": (*ORDER, "--profit", "2", "--loss", "0.5", "--yes"), "orders cancel-all": ("--yes",),
    "orders replace": ("1", "--limit", "1", "--yes"), "orders recover": (),
    "watch orders": (), "watch positions": (), "watch balances": (), "watch alerts": (), "watch market": (),
    "stream quotes": ("AAPL",), "stream account": (), "stream record": ("folder", "AAPL"),
    **{f"fetch {kind}": ("--symbols", "-", "--out", "x.csv") for kind in METHODS},
    "fetch earnings": ("--symbols", "-", "--out", "x.csv", "--start-date", "2026-01-01"),
    "fetch universe": ("--out", "folder"), "call": ("watchlists.list",), "conformance": (),
}  # fmt: skip
"""Arguments of the commands that connect to a service."""


def leaves(command: Any, *words: str) -> dict[str, Any]:
    """Return the commands of the tree that have no further ones below them."""
    below = getattr(command, "commands", None) or {}
    here = {" ".join(words): command} if not below else {}
    return here | {name: each for word, inner in below.items() for name, each in leaves(inner, *words, word).items()}


def test_commands_never_simulate_unasked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CLIENT_SECRET", "REFRESH_TOKEN", "ACCOUNT"):
        monkeypatch.setenv(f"BROKERAGE_{name}", "production")
    found = leaves(get_command(app))
    connecting = {name for name, each in found.items() if any("--simulator" in option.opts for option in each.params)}
    assert connecting == CONNECTING.keys(), "CONNECTING has arguments for each of them"
    for name, arguments in CONNECTING.items():
        told = refusal(*name.split(), *arguments, code=2 if name == "conformance" else 1, input="")
        expected = ("pass --simulator", "BROKERAGE_BASE_URL: is required, unless BROKERAGE_ENV")
        assert lacks(" ".join(told.split()), *expected) == [], name
    assert list(tmp_path.iterdir()) == []


def test_unknown_commands_and_options_name_the_nearest() -> None:
    near = {
        "oders": "Did you mean 'orders'",
        "orders plaec": "Did you mean 'place'",
        "watch postions": "Did you mean 'positions'",
        "orders place --limt 5": "ossible options: --limit",
    }
    assert misses(near, lambda words: invoke(*words.split(), code=2).stderr) == {}


def test_commands_of_the_documentation_exist_with_their_options() -> None:
    shown = [
        line.split("  #")[0].split()
        for page in PAGES
        for block in Block.all_of(page, "sh")
        for line in re.findall(r"(?:^|/)brokerage-async (.+)$", block.source, re.MULTILINE)
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


def test_schema_prints_one_json_document() -> None:
    output = invoke("schema").output
    assert output == SOURCE
    assert json.loads(output)["openapi"] == "3.1.0"


def test_start_without_the_extra_names_what_to_install_and_hides_no_other_missing_module() -> None:
    for missing in ("typer", "rich"):
        result = run(f"sys.modules[{missing!r}] = None{MAIN}", code=1)
        assert lacks(result.stderr, f"needs {missing}", "pip install 'brokerage-async[cli]'") == []
    done = run(f"sys.modules['brokerage_async.cli.fetch'] = None{MAIN}", code=1)
    assert "ModuleNotFoundError" in done.stderr
    assert "pip install" not in done.stderr


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
    version, shown, unknown = run(INSPECT + MAIN, "--version", PYTHONIOENCODING="ascii").stdout.splitlines()
    assert version.startswith("brokerage-async ")
    assert shown == f"replace replace print_traceback ['PlainFormatter'] {logging.ERROR}"
    assert unknown == "?"
    assert run(f"import io\nsys.stdout = io.StringIO(){MAIN}", "--version").stderr == ""
    result = run("import runpy; runpy.run_module('brokerage_async', run_name='__main__')", "--version")
    assert result.stdout.strip() == f"brokerage-async {__version__}"
    # An unexpected exception of a command cannot control the terminal.
    program = (
        "import brokerage_async.cli.completion as completion\n"
        "class Broken:\n"
        "    def __getitem__(self, key): raise RuntimeError('\\x1b[31m' + key)\n"
        "completion.SCRIPTS = Broken()"
    )
    done = run(program + MAIN, "completion", "bash", code=1)
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.endswith("RuntimeError: \\x1b[31mbash\n")
    assert "\x1b" not in done.stderr


HEAVY = {"aiohttp", "attrs", "cattrs", "msgspec", "asyncio", "pydantic", "rich.console", "rich.table"}


def test_help_and_completion_import_nothing_that_they_do_not_use() -> None:
    for arguments, completing in ((["--help"], {}), (["orders", "place", "--l"], {VARIABLE: "1"})):
        program = (
            "from brokerage_async.cli import main\n"
            "try: main()\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
        )
        imported = set(run(program, *arguments, **completing).stderr.split())
        assert "brokerage_async.cli.app" in imported
        assert imported & HEAVY == set()
        ours = {name for name in imported if name.startswith("brokerage_async.") and ".cli" not in name}
        assert ours == {"brokerage_async._version"}


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_start_ctrl_c_leaves_without_a_traceback() -> None:
    program = (
        "import builtins, signal\n"
        "from brokerage_async.cli import main\nplain = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name.endswith({module!r}): signal.raise_signal(signal.SIGINT)\n"
        "    return plain(name, *rest)\n"
        "builtins.__import__ = interrupted\nmain()"
    )
    for module in ("typer", "client"):
        done = run(program.format(module=module), "orders", "list", "--simulator", code=130)
        assert "Traceback" not in done.stderr


def test_complete_returns_what_the_last_word_may_become() -> None:
    table: dict[tuple[str, ...], list[str]] = {
        ("or",): ["orders"],
        ("orders", "re"): ["replace", "recover", "resume"],
        ("orders", "place", "--ex"): ["--external-identifier"],
        ("orders", "place", "buy-to-open", "--lim"): ["--limit"],
        ("--verbose", "watch", "m"): ["market"],
        ("watch", "market", "--h"): ["--help"],
        ("-v",): ["-v"],
        ("orders", "place", "A"): [],
        ("nothing", "x"): [],
        ("demo", ""): [],
        ("simulator", ""): ["ctl"],
        ("call", "--he"): ["--help"],
        # values
        ("fetch", "equity"): ["equity-chains"],
        ("completion", ""): ["bash", "zsh", "fish"],
        ("simulator", "--wire", "o"): ["observed"],
        ("simulator", "--port", "1", "c"): ["ctl"],
        ("orders", "place", "buy", "X", "1", "--market", "--tif", "I"): ["IOC"],
        ("orders", "bracket", "--profit", "5", "--exit-tif", "I"): ["IOC"],
        ("orders", "place", "sell-to"): ["sell-to-open", "sell-to-close"],
        ("search", "x", "--type", "W"): ["Warrant"],
        ("watch", "market", "C"): ["CME", "CFE"],
        ("stream", "quotes", "AAPL", "--event", "TradeE"): ["TradeETH"],
        ("call", "market_metrics.d"): ["market_metrics.dividends"],
        ("call", "watchlists.list", "--body", "w"): [],
    }
    tree = get_command(app)
    assert {words: complete(tree, words) for words in table} == table
    assert {"demo", "orders", "watch"} <= set(complete(tree, []))


def test_completion_prints_candidates_or_the_script_of_a_shell() -> None:
    assert run(MAIN, "orders", "can", **{VARIABLE: "1"}).stdout == "cancel\ncancel-all\n"
    for shell, script in SCRIPTS.items():
        assert invoke("completion", shell).output == script
        assert f"{VARIABLE}=1" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_completion_script_completes_in_bash(tmp_path: Path) -> None:
    program = tmp_path / "brokerage-async"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m brokerage_async "$@"\n')
    program.chmod(0o755)
    script = SCRIPTS["bash"] + (
        'COMP_WORDS=(brokerage-async orders ca); COMP_CWORD=2; _brokerage_async brokerage-async; echo "${COMPREPLY[@]}"'
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    output = subprocess.check_output(["bash", "-c", script], env=environment, text=True, timeout=60)
    assert output == "cancel cancel-all\n"
