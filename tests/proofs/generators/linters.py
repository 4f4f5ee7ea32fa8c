"""The linters of Redocly and Spectral, with their recommended rules: no error."""

import subprocess
from pathlib import Path

from .results import Result


def run(bundle: Path, tools: Path, folder: Path) -> list[Result]:
    ruleset = folder / "spectral.yaml"
    ruleset.write_text('extends: ["spectral:oas"]\n', "utf-8")
    commands = {
        "@redocly/cli lint": ["redocly", "lint", bundle],
        "@stoplight/spectral-cli lint": ["spectral", "lint", bundle, "-r", ruleset, "--fail-severity", "error"],
    }
    results = []
    for tool, (name, *arguments) in commands.items():
        command = [tools / "node_modules" / ".bin" / name, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        problems = (done.stdout + done.stderr,) if done.returncode else ()
        results.append(Result(tool=tool, check="without errors", total=1, problems=problems))
    return results
