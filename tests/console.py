"""Console blocks of the documentation: each ``sh`` block, and the output that stands below it.

``python -m tests.console [PAGE...]`` runs them, page by page, in a shell against a simulator. Blocks under a mark,
such as ``<!-- start: install -->``, are run by the test of that mark.
"""

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

from brokerage_async.simulator import Simulator

from .documents import PAGES, ROOT, Block

MARKS = {
    "command: main job": ".ci/run",
    "command: tests": ".ci/run",
    "snippet: simulator": "tests/test_documents.py",
    "start": "tests/test_documents.py",
}
"""Marks of blocks that something else runs."""

NOT_RUN = "not run"
"""Mark of blocks that cannot run, with the reason after a colon."""

SECONDS = 45
"""Longest time of a command that runs until Ctrl-C; it is stopped soon after its first line."""

_PROGRAM = """\
#!/bin/sh
if [ "$1" != watch ]; then exec "{python}" -m brokerage_async "$@"; fi
out=$(mktemp -p .) ; n=0
"{python}" -m brokerage_async "$@" > "$out" 2>&1 & pid=$!
until [ -s "$out" ] || [ $n -ge {seconds} ]; do sleep 1; n=$((n+1)); done
sleep 5; kill $pid; wait $pid; cat "$out"
"""


def blocks(page: Path) -> list[Block]:
    return Block.all_of(page, "sh")


def runs_elsewhere(block: Block) -> bool:
    return block.mark in MARKS or block.mark.partition(":")[0] in MARKS


def cannot_run(block: Block) -> bool:
    """Return whether the block is one that only a reader can complete."""
    return block.mark.startswith(NOT_RUN)


def missing(shown: str, output: str) -> list[str]:
    """Return the shown lines that the output lacks, from the first one that is not found in order."""
    rest = re.sub(r"\s+", " ", output)
    lines = [line.strip() for line in shown.splitlines() if line.strip() not in ("", "…")]
    for number, line in enumerate(lines):
        pattern = "[^\\n]*?".join(re.escape(re.sub(r"\s+", " ", part).strip()) for part in line.split("…"))
        found = re.search(pattern, rest)
        if found is None:
            return lines[number:]
        rest = rest[found.end() :]
    return []


async def run_page(page: Path) -> list[str]:
    """Run the blocks of a page one after another, and return their problems."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bin").mkdir()
        program = folder / "bin" / "brokerage-async"
        program.write_text(_PROGRAM.format(seconds=SECONDS, python=sys.executable))
        program.chmod(0o755)
        async with Simulator(environment="production", equities=600, control_port=0) as simulator:
            environ = {
                **{key: value for key, value in os.environ.items() if not key.startswith("BROKERAGE_")},
                **simulator.environ,
                "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "110",
                "HOME": name, "BROKERAGE_JOURNAL": str(folder / "orders.journal"),
            }  # fmt: skip
            for block in blocks(page):
                if not runs_elsewhere(block) and not cannot_run(block):
                    problems += await _run(block, folder, environ, page.name)
    return problems


async def _run(block: Block, folder: Path, environ: dict[str, str], page: str) -> list[str]:
    shell = await asyncio.create_subprocess_exec(
        "bash", "-c", 'yes | bash -ec "$0"', f"{block.source}\njobs -p | xargs -r kill",
        cwd=folder, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    raw, _ = await asyncio.wait_for(shell.communicate(), 180)
    output = raw.decode()
    where = f"{page}:{block.line}"
    print(f"{where}: exit code {shell.returncode}, {len(output.splitlines())} lines", flush=True)
    if shell.returncode:
        return [f"{where}: exit code {shell.returncode}\n{output}"]
    return [f"{where}: not in the output: {line}\n{output}" for line in missing(block.shown, output)[:1]]


def main(names: list[str]) -> int:
    """Run the command. Return 1 if a block fails or prints something else than its page shows."""
    pages = [page for page in PAGES if not names or page.name in names]
    problems = [problem for page in pages if blocks(page) for problem in asyncio.run(run_page(page))]
    print(*problems, sep="\n")
    found = [block for page in pages for block in blocks(page)]
    elsewhere, nowhere = sum(map(runs_elsewhere, found)), sum(map(cannot_run, found))
    python, here = sum(len(Block.all_of(page, "python")) for page in pages), len(found) - elsewhere - nowhere
    print(f"{python} Python and {elsewhere} console blocks are run by the tests, {here} here, {nowhere} nowhere")
    print(f"blocks with a problem: {len(problems)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
