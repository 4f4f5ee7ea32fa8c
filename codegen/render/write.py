"""Formats the rendered modules, compares them with the committed ones, writes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..spec import Spec
from . import converters, endpoints, models, operations, proof

HEADER = "# Written by `python -m codegen` from schema/; edit the schema and run it again, not this file."

ATTRIBUTES = "*.py linguist-generated=true\n"

INIT = '''"""What is generated from the schema: models, their converters, the operations and the endpoints."""

SCHEMA: str = "{digest}"
"""SHA-256 of the schema that all of this was written from: no change of it goes unnoticed, be it a remark."""
'''


def render(spec: Spec) -> dict[str, str]:
    """The content of every file of the package by name."""
    environment = _environment()
    return {
        ".gitattributes": ATTRIBUTES,
        "__init__.py": INIT.format(digest=spec.digest),
        "models.py": formatted(models.render(spec, f"{HEADER}\n# ruff: noqa: S105")),
        "converters.py": formatted(converters.render(spec, environment)),
        "operations.py": formatted(operations.render(spec, environment)),
        "endpoints.py": formatted(endpoints.render(spec, environment)),
    }


def render_proof(spec: Spec) -> dict[str, str]:
    """The content of the file that lets type checkers compare the types of all fields."""
    return {".gitattributes": f"every_field.py{ATTRIBUTES[4:]}", PROOF: formatted(proof.render(spec, _environment()))}


PROOF = "every_field.py"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["header"] = HEADER
    return environment


def formatted(source: str) -> str:
    """The source with its imports sorted and formatted by ruff, in the style of the project wherever it is run."""
    for arguments in (["check", "--fix-only", "--select", "I,F401"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--quiet", "--isolated", *_STYLE, "-"],
            input=source,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"ruff cannot read what was generated: {done.stderr.strip()}")
        source = done.stdout
    return source


_SETTINGS = ("line-length=120", "target-version='py311'", "lint.isort.known-first-party=['brokerage_async']")
_STYLE = (*(part for setting in _SETTINGS for part in ("--config", setting)), "--stdin-filename", "generated.py")


def stale(files: dict[str, str], folder: Path, *, whole_folder: bool = True) -> list[str]:
    """Names of the files in ``folder`` that differ from what they should be, are missing, or should not be there."""
    differing = [name for name, text in files.items() if _read(folder / name) != text]
    left_over = sorted(path.name for path in folder.glob("*.py") if path.name not in files) if whole_folder else []
    return differing + left_over


def write(files: dict[str, str], folder: Path, *, whole_folder: bool = True) -> list[str]:
    """Write what differs, remove what is no longer generated; the names of both."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = stale(files, folder, whole_folder=whole_folder)
    for name in changed:
        if name in files:
            (folder / name).write_text(files[name], encoding="utf-8", newline="\n")
        else:
            (folder / name).unlink()
    return changed


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
