"""The documentation is executed: snippets run as they stand, CI runs the commands, links lead somewhere.

Blocks are found, evade no type checker, and print what stands below them.
"""

import asyncio
import base64
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from brokerage_async import tickets
from brokerage_async.cli.command import KNOWN
from brokerage_async.simulator import Simulator
from codegen.site import copies, pages
from tests.processes import PROCESSES, preload
from tests.served_versions import serve_versions
from tests.tables import for_each

from . import console
from .documents import PAGES, README, ROOT, STRICT, Block, blocks, modules

NOTEBOOK = """\
import ast, asyncio
async def cells(namespace):
    for cell in {cells!r}:
        code = eval(compile(cell, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), namespace)
        if code is not None:
            await code
asyncio.run(cells({{}}))
"""
"""Program that runs cells one after another in a running event loop, as a notebook does."""

SCRIPTS = {block.mark: block.source for block in console.blocks(README)}


def snippets() -> list[object]:
    found: list[object] = []
    for page in PAGES:
        for each in Block.all_of(page, "python"):
            if not each.mark:
                found.append(pytest.param(each.source, each.shown, id=f"{page.name}:{each.line}"))
        if cells := [cell for _, cell in blocks(page, "notebook")]:
            found.append(pytest.param(NOTEBOOK.format(cells=cells), "", id=f"{page.name}:notebook"))
    return found


async def keep_trading(brokerage: Simulator) -> None:
    """Submit an order each second: a snippet that watches sees a change, however late its process starts."""
    async with brokerage.client() as client:
        while True:
            await client.orders.submit(brokerage.account_numbers[0], tickets.market(tickets.buy_to_open("AAPL", 1)))
            await asyncio.sleep(1)


preload("brokerage_async", "brokerage_async.models", "brokerage_async.tickets")


def run_snippet(snippet: str, folder: Path, environ: dict[str, str], output: Path) -> None:
    """Run a snippet as a program. This is the target of a new process."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    serve_versions()
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    warnings.simplefilter("error")
    exec(compile(snippet, "snippet", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(("snippet", "prints"), snippets())
async def test_snippets_run_as_they_stand(
    snippet: str, prints: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if "brokerage_async.fleet" in snippet:
        pytest.importorskip("redis", reason="redis-py is not installed (extra [redis])")
    output = tmp_path_factory.mktemp("output") / "output.txt"
    async with Simulator(environment="production", equities=600, equity_options=500, chain_rows=50) as brokerage:
        settings = brokerage.environ | {
            "PYTHONPATH": str(ROOT),
            "REDIS_URL": "redis://127.0.0.1:1/0",  # an unreachable engine: a fleet works without it
            "TOKEN_KEY": base64.urlsafe_b64encode(bytes(32)).decode(),
        }
        program = PROCESSES.Process(
            target=run_snippet, args=(snippet, tmp_path, {**os.environ, **settings}, output), daemon=False
        )
        program.start()
        trading = asyncio.create_task(keep_trading(brokerage))
        await asyncio.to_thread(program.join, 60)
        program.kill()  # does nothing once it has ended
        await asyncio.to_thread(program.join)
        trading.cancel()
        await asyncio.wait({trading})
    assert program.exitcode == 0, output.read_text("utf-8")
    shown = output.read_text("utf-8")
    assert shown == prints if prints else shown.strip(), "a snippet shows something"


def run_script(script: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    command = ["sh", "-c", script]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
def test_the_simulator_serves_the_snippets(tmp_path: Path) -> None:
    program = f"{sys.executable} -m brokerage_async"
    start = SCRIPTS["snippet: simulator"].replace(".venv/bin/brokerage-async", program)
    done = run_script(f'{start}\n{program} orders list; echo "account $BROKERAGE_ACCOUNT"; kill $!', tmp_path)
    assert "Orders" in done.stdout, done.stderr
    assert re.search(r"^account \w+$", done.stdout, re.MULTILINE)


def is_generated(path: Path) -> bool:
    name = Path(os.path.normpath(path)).relative_to(ROOT).as_posix()
    return name.startswith(("docs/_build/", *pages.GENERATED)) or name in copies.COPIES.values()


WRITTEN = {path for path in (ROOT / "docs").rglob("*.md") if not is_generated(path)}


@for_each("page", sorted({*PAGES, *WRITTEN, *ROOT.glob("*.md"), ROOT / "schema" / "README.md"}))
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        leads = page.parent / target if target else page
        assert leads.exists() or is_generated(leads), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", leads.read_text("utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}


EVASIONS = re.compile(r"\bcast\(|^\s*assert\b.*\bNone\b|type: ignore|: Any\b", re.MULTILINE)


def test_every_block_is_found_and_run_or_marked() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        found = [block for mark in ("", "pytest", "notebook", "tastytrade") for block in blocks(page, mark)]
        assert len(found) == text.count("\n```python\n"), page
        assert len(console.blocks(page)) == text.count("```sh\n"), page
    every = [block for page in PAGES for block in console.blocks(page)]
    here = [block for block in every if not console.runs_elsewhere(block) and not console.cannot_run(block)]
    assert len(here) > 6
    assert [block.source for block in here if not block.shown] == []
    # An address of a repository, a login at the service, a program that stays.
    assert sum(map(console.cannot_run, every)) == 3
    assert all((ROOT / path).exists() for path in console.MARKS.values())
    for name, needs in (("main job", "brokerage-async demo"), ("tests", "nox -s tests")):
        assert needs in SCRIPTS[f"command: {name}"]


def test_python_blocks_evade_no_type_checker() -> None:
    assert {name.partition("_line_")[0] for name in modules()} >= set(STRICT)
    evading = {name: EVASIONS.findall(source) for name, source in modules().items()}
    assert {name: found for name, found in evading.items() if found} == {}


def test_missing_lines_are_those_that_do_not_follow_in_order() -> None:
    table = {"one two": [], "three\n…\nfive": [], "one … two\nfour": [], "five\nthree": ["three"], "six": ["six"],
             "one … nine": ["one … nine"]}  # fmt: skip
    assert {shown: console.missing(shown, "one   two\nthree\nfour 4\nfive\n") for shown in table} == table


START = ROOT / "docs" / "start.md"
"""The page that is followed to the letter: its blocks run in one shell, and print the output it shows."""

NAMES = ["install", "simulator", "read", "shown", "order", "shown", "list", "shown", "stop"]
STEPS = [(each.mark.removeprefix("start: "), each.source) for each in Block.all_of(START) if each.mark]


def test_pages_of_the_environment_and_the_start_are_complete() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `(BROKERAGE_\w+)`", page, re.MULTILINE)) == sorted(KNOWN)
    assert [name for name, _ in STEPS] == NAMES
    assert START.read_text("utf-8").count("\n```\n") == len(STEPS) + len(blocks(START))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
def test_blocks_of_the_start_page_run_one_after_another_and_print_what_it_shows(tmp_path: Path) -> None:
    ((_, program),) = blocks(START)
    (tmp_path / "first_order.py").write_text(program, "utf-8")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, command in {"python": "", "brokerage-async": "-m brokerage_async "}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command}"$@"\n')
        (folder / name).chmod(0o755)
    script = "".join(block for name, block in STEPS if name not in ("install", "shown"))
    done = run_script(f"set -e\n{script}", tmp_path, PATH=f"{folder}:{os.environ['PATH']}", COLUMNS="150")
    assert done.returncode == 0, done.stderr
    shown = "".join(block for name, block in STEPS if name == "shown")
    assert console.missing(shown, done.stdout) == [], done.stdout
