"""Snippets of the documentation as modules: ``python -m tests.snippets FOLDER`` writes them to be checked."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def snippets() -> Iterator[tuple[str, str]]:
    """Yield the name of a module, made of page and line, and its source, for every snippet in Python."""
    for page in PAGES:
        text = page.read_text("utf-8")
        for match in SNIPPET.finditer(text):
            name = re.sub(r"\W", "_", page.stem)
            yield f"{name}_line_{text.count(chr(10), 0, match.start()) + 2}", match[1]


def write(folder: Path) -> list[Path]:
    """Write every snippet into ``folder`` and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, source in snippets():
        files.append(folder / f"{name}.py")
        files[-1].write_text(source, "utf-8")
    return files


if __name__ == "__main__":
    print(*write(Path(sys.argv[1])), sep="\n")
