"""The README is executed: its snippets run against the simulator as they stand, its commands are where CI looks."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from brokerage_async import tickets
from brokerage_async.simulator import Simulator
from docgen import copies, pages

from .documents import PAGES, README, ROOT, blocks

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


def snippets() -> list[object]:
    found: list[object] = []
    for page in PAGES:
        found += [pytest.param(block, id=f"{page.name}:{line}") for line, block in blocks(page)]
        if cells := [cell for _, cell in blocks(page, "notebook")]:
            found.append(pytest.param(NOTEBOOK.format(cells=cells), id=f"{page.name}:notebook"))
    return found


async def keep_trading(brokerage: Simulator) -> None:
    """Submit an order each second: a snippet that watches sees a change, however late its process starts."""
    async with brokerage.client() as client:
        while True:
            await client.orders.submit(brokerage.account_numbers[0], tickets.market(tickets.buy_to_open("AAPL", 1)))
            await asyncio.sleep(1)


@pytest.mark.parametrize("snippet", snippets())
async def test_snippets_run_as_they_stand(snippet: str, tmp_path: Path) -> None:
    if "brokerage_async.fleet" in snippet:
        pytest.importorskip("redis", reason="redis-py is not installed (extra [redis])")
    async with Simulator(environment="production", equities=600, equity_options=500, chain_rows=50) as brokerage:
        settings = {
            "BROKERAGE_BASE_URL": brokerage.base_url,
            "BROKERAGE_ENVIRONMENT": "production",
            "BROKERAGE_CLIENT_ID": brokerage.client_id,
            "BROKERAGE_CLIENT_SECRET": brokerage.client_secret,
            "BROKERAGE_REFRESH_TOKEN": brokerage.refresh_token,
            "BROKERAGE_ACCOUNT": brokerage.account_numbers[0],
            "PYTHONPATH": str(ROOT),
            "REDIS_URL": "redis://127.0.0.1:1/0",  # an engine that is away: a fleet works all the same
            "TOKEN_KEY": base64.urlsafe_b64encode(bytes(32)).decode(),
        }
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-c", snippet,
            cwd=tmp_path, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        trading = asyncio.create_task(keep_trading(brokerage))
        async with asyncio.timeout(60):
            output, _ = await program.communicate()
        trading.cancel()
        await asyncio.wait({trading})
    assert program.returncode == 0, output.decode()
    assert output.strip(), "a snippet shows something"


@pytest.mark.parametrize(("name", "needs"), [("main job", "brokerage-async demo"), ("tests", "nox -s tests")])
def test_commands_stand_under_their_comments(name: str, needs: str) -> None:
    block = re.search(
        rf"^<!-- command: {name} -->\n```sh\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert block is not None
    assert needs in block[1]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
def test_the_simulator_serves_the_snippets(tmp_path: Path) -> None:
    block = re.search(
        r"^<!-- snippet: simulator -->\n```sh\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert block is not None
    program = f"{sys.executable} -m brokerage_async"
    start = block[1].replace(".venv/bin/brokerage-async", program)
    done = subprocess.run(
        ["sh", "-c", f'{start}\n{program} orders list; echo "account $BROKERAGE_ACCOUNT"; kill $!'],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Orders" in done.stdout, done.stderr
    assert re.search(r"^account \w+$", done.stdout, re.MULTILINE)


def pages_with_links() -> list[Path]:
    """Return the Markdown pages that a person writes, each once."""
    written = {path for path in (ROOT / "docs").rglob("*.md") if not is_generated(path)}
    return sorted({*PAGES, *written, *ROOT.glob("*.md"), ROOT / "schema" / "README.md"})


def is_generated(path: Path) -> bool:
    """Return whether the documentation site makes this page itself."""
    name = Path(os.path.normpath(path)).relative_to(ROOT).as_posix()
    return name.startswith(("docs/_build/", *pages.GENERATED)) or name in copies.COPIES.values()


@pytest.mark.parametrize("page", pages_with_links(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        leads = page.parent / target if target else page
        assert leads.exists() or is_generated(leads), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", leads.read_text("utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}
