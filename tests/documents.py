"""Python blocks of the README and the pages in ``docs/``.

``python -m tests.documents FOLDER`` writes those that have strict types as files, with settings for pyright.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted([README, *(ROOT / "docs").glob("*.md")])
TYPED = ("programs.md", "synchronous.md")
"""Pages whose blocks pass ``mypy --strict`` and pyright in strict mode."""


def blocks(page: Path, mark: str = "") -> list[tuple[int, str]]:
    """Return line and content of the Python blocks of a page under a mark, or of those without any."""
    text = page.read_text("utf-8")
    found = re.finditer(r"^(?:<!-- (\w+) -->\n)?```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, block.start(2)), block[2]) for block in found if (block[1] or "") == mark]


def program(title: str) -> str:
    """Return the program under a heading of ``docs/programs.md``."""
    page = ROOT / "docs" / "programs.md"
    line = page.read_text("utf-8").splitlines().index(f"## {title}")
    return next(block for start, block in blocks(page) if start > line)


def write(folder: Path) -> None:
    """Write the typed blocks, and settings of pyright."""
    for name in TYPED:
        for line, block in blocks(ROOT / "docs" / name):
            (folder / f"{Path(name).stem}_line_{line}.py").write_text(block, "utf-8")
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(ROOT)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
