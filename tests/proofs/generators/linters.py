"""The linters of Redocly and Spectral, with their recommended rules: no error."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .results import Result

#: Severity of an error in the output of Spectral.
_ERROR = 0


def run(bundle: Path, tools: Path, folder: Path) -> list[Result]:
    """Lint the bundle."""
    ruleset = folder / "spectral.yaml"
    ruleset.write_text('extends: ["spectral:oas"]\n', "utf-8")
    redocly = _output(tools, "redocly", ["lint", str(bundle), "--format", "json", "--max-problems", "1000"])
    spectral = _output(tools, "spectral", ["lint", str(bundle), "-r", str(ruleset), "-f", "json", "-q"])
    errors = {
        "@redocly/cli lint": tuple(redocly_errors(redocly)),
        "@stoplight/spectral-cli lint": tuple(spectral_errors(spectral)),
    }
    return [Result(tool=tool, check="without errors", total=1, problems=found) for tool, found in errors.items()]


def redocly_errors(output: Any) -> Iterator[str]:
    """Yield every error in the output of Redocly."""
    for problem in output["problems"]:
        if problem["severity"] == "error":
            pointer = problem["location"][0].get("pointer", "")
            yield f"{problem['ruleId']}: {problem['message']} at {pointer}"


def spectral_errors(output: Any) -> Iterator[str]:
    """Yield every error in the output of Spectral."""
    for problem in output:
        if problem["severity"] == _ERROR:
            yield f"{problem['code']}: {problem['message']} at {'/'.join(map(str, problem['path']))}"


def _output(tools: Path, name: str, arguments: list[str]) -> Any:
    program = tools / "node_modules" / ".bin" / name
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=300)
    return json.loads(done.stdout)
