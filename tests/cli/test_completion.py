"""Completion of commands and options in a shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from brokerage_async.cli.app import app
from brokerage_async.cli.completion import SCRIPTS, VARIABLE, complete


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
    found = {words: complete(tree, words) for words in table}
    assert {words: found[words] for words, expected in table.items() if found[words] != expected} == {}
    assert {"demo", "orders", "watch"} <= set(complete(tree, []))


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "brokerage_async", *words],
        env=os.environ | {VARIABLE: "1"}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip


def test_start_completing_prints_candidates_and_does_nothing_else() -> None:
    assert run("orders", "can").stdout == "cancel\ncancel-all\n"
    assert run("simulator", "").stdout == "ctl\n"
    assert run("demo", "").stdout.strip() == ""


def test_completion_prints_the_script_of_a_shell() -> None:
    for shell, script in SCRIPTS.items():
        result = CliRunner().invoke(app, ["completion", shell])
        assert (result.exit_code, result.output) == (0, script)
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
    result = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == "cancel cancel-all\n"
