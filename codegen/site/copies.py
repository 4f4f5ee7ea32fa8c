"""Pages that stand outside of ``docs/`` in the repository, with their links fitted to the site."""

import os
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

COPIES = {
    "schema/README.md": "docs/design/schema.md",
    "CONTRIBUTING.md": "docs/project/contributing.md",
    "CHANGELOG.md": "docs/project/changelog.md",
    "SECURITY.md": "docs/project/security.md",
    "CODE_OF_CONDUCT.md": "docs/project/conduct.md",
}
"""Files of the repository, and the pages that the site makes of them."""

_LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s#]+)(#[^()\s]*)?\)")


def render(sources: dict[str, str]) -> dict[str, str]:
    """Return the pages by path, made of the content of files by path."""
    return {page: relink(sources[source], source, page) for source, page in COPIES.items()}


def relink(content: str, source: str, page: str) -> str:
    """Return the content of a file with relative links that hold from its page.

    A link to a file that has no page becomes the name of the file.
    """

    def fitted(link: re.Match[str]) -> str:
        words, target, anchor = link[1], link[2], link[3] or ""
        if ":" in target:
            return link[0]
        file = os.path.normpath(PurePosixPath(source).parent / target).replace(os.sep, "/")
        found = COPIES.get(file, file)
        if not found.startswith("docs/"):
            return words if words.strip("`") == file else f"{words} (`{file}`)"
        relative = os.path.relpath(found, PurePosixPath(page).parent).replace(os.sep, "/")
        return f"[{words}]({relative}{anchor})"

    return _LINK.sub(fitted, content)


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
