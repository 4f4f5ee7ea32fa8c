"""The linters of Redocly and Spectral, with their recommended rules: no error."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .results import Result, run_npm


def run(bundle: Path, tools: Path, folder: Path) -> list[Result]:
    ruleset = folder / "spectral.yaml"
    ruleset.write_text('extends: ["spectral:oas"]\n', "utf-8")
    redocly = run_npm(tools, "redocly", ["lint", bundle, "--format", "json", "--max-problems", "1000"], check=False)
    spectral = run_npm(tools, "spectral", ["lint", bundle, "-r", ruleset, "-f", "json", "-q"], check=False)
    errors = {
        "@redocly/cli lint": tuple(redocly_errors(json.loads(redocly))),
        "@stoplight/spectral-cli lint": tuple(spectral_errors(json.loads(spectral))),
    }
    return [Result(tool=tool, check="without errors", total=1, problems=found) for tool, found in errors.items()]


def redocly_errors(output: Any) -> Iterator[str]:
    for problem in output["problems"]:
        if problem["severity"] == "error":
            pointer = problem["location"][0].get("pointer", "")
            yield f"{problem['ruleId']}: {problem['message']} at {pointer}"


def spectral_errors(output: Any) -> Iterator[str]:
    for problem in output:
        if problem["severity"] == 0:  # an error
            yield f"{problem['code']}: {problem['message']} at {'/'.join(map(str, problem['path']))}"
