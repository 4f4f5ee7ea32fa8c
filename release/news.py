"""Fragments of the changelog: one file per change, which towncrier assembles."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

__all__ = ["START", "fragment_problems", "upcoming"]

START = "<!-- the newest release follows -->\n"
"""Line of CHANGELOG.md under which towncrier writes a release."""
MAX_LINES = 6

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\.(added|changed|fixed)\.md")
_TEMPLATE = "template.md.jinja"


def fragment_problems(folder: Path) -> list[str]:
    """Return the problems of the fragments in ``folder``."""
    problems = []
    for path in sorted(folder.iterdir()) if folder.exists() else []:
        if path.name == _TEMPLATE:
            continue
        if not _NAME.fullmatch(path.name):  # towncrier leaves a file with an unknown kind out without a word
            problems.append(f"a fragment must be named TOPIC.added.md, .changed.md or .fixed.md, got {path.name}")
            continue
        lines = path.read_text("utf-8").strip().splitlines()
        if not 1 <= len(lines) <= MAX_LINES:
            problems.append(f"{path.name} must have 1 to {MAX_LINES} lines, got {len(lines)}")
        elif lines[0].startswith(("-", "*", "#")):
            problems.append(f"{path.name} must be a sentence, without a bullet or a heading, got {lines[0]!r}")
    return problems


def upcoming(root: Path, version: str, day: str = "unreleased") -> str:
    """Return the section of CHANGELOG.md that the fragments would make; empty if there are none.

    Raises:
        subprocess.CalledProcessError: Towncrier cannot render them.
    """
    if not any((root / "changelog.d").glob("*.*.md")):
        return ""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", version, "--date", day]
    run = subprocess.run(command, cwd=root, capture_output=True, check=True, encoding="utf-8")  # noqa: S603
    return run.stdout
