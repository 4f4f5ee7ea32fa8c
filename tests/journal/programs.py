"""Programs on a durable journal, each in a separate process."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests.journal_servers import Durable

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path.cwd())}


def command_of(program: str, durable: Durable, *arguments: str) -> list[str]:
    """Return the command of a program, whose first arguments are kind, place and table of the journal."""
    source = textwrap.dedent(program)
    return [sys.executable, "-c", source, durable.kind, durable.where, durable.table, *arguments]


def start_together(program: str, durable: Durable, count: int) -> list[subprocess.Popen[str]]:
    """Start a program ``count`` times, and let all go on from their first line of input at the same moment."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    commands = [command_of(program, durable, f"p{number}") for number in range(count)]
    processes = [subprocess.Popen(command, **pipes) for command in commands]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return processes
