"""Generated pages of the site, by their paths."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from brokerage_async import __version__, errors
from codegen.read.load import load
from codegen.spec import Spec

from . import copies, messages, objects, operations

__all__ = ["GENERATED", "START", "render", "upcoming", "write"]

ROOT = Path(__file__).resolve().parents[2]
ERRORS = frozenset({*errors.__all__, *messages.HOMES})
GENERATED = ("docs/reference/messages.md", "docs/reference/operations/", "docs/reference/objects/", "docs/project/")
"""Where the generated pages are; git ignores them, and the copies of `copies.COPIES`."""
START = "<!-- the newest release follows -->\n"
"""Line of CHANGELOG.md under which towncrier writes a release."""


def render(spec: Spec) -> dict[str, str]:
    """Return every generated page by its path in the repository."""
    pages = {f"docs/reference/operations/{name}": page for name, page in operations.render(spec).items()}
    pages |= {f"docs/reference/objects/{name}": page for name, page in objects.render(spec).items()}
    sources = {source: (ROOT / source).read_text("utf-8") for source in copies.COPIES}
    sources["CHANGELOG.md"] = sources["CHANGELOG.md"].replace(START, upcoming(ROOT, __version__))
    pages |= copies.render(sources)
    return {**pages, "docs/reference/messages.md": messages.render(ROOT / "brokerage_async", ERRORS)}


def write() -> None:
    """Write the pages that changed, and remove generated pages that are no longer made."""
    pages = {ROOT / path: page for path, page in render(load(ROOT / "schema")).items()}
    for folder in GENERATED:
        for stale in set((ROOT / folder).glob("*.md")) - set(pages):
            stale.unlink()
    for path, page in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != page:
            path.write_text(page, "utf-8")


def upcoming(root: Path, version: str, day: str = "unreleased") -> str:
    """Return the section of CHANGELOG.md that the fragments would make. Empty without fragments.

    Raises:
        subprocess.CalledProcessError: Towncrier cannot render them.
    """
    if not any((root / "changelog.d").glob("*.*.md")):
        return ""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", version, "--date", day]
    run = subprocess.run(command, cwd=root, capture_output=True, check=True, encoding="utf-8")
    return run.stdout
