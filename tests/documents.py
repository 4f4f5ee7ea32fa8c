"""Python blocks of the README and the pages in ``docs/``.

``python -m tests.documents FOLDER`` writes them as files, with settings for pyright.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted([README, *(ROOT / "docs").glob("*.md")])
TYPED = ("README.md", "order-entry.md", "programs.md", "synchronous.md", "watching.md")
"""Pages whose blocks pass pyright in strict mode; those of all pages pass ``mypy --strict``."""


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


def write(folder: Path) -> list[Path]:
    """Write the blocks that stand alone, and settings of pyright; return the files."""
    files = []
    for page in PAGES:
        for line, block in blocks(page) + blocks(page, "pytest"):
            files.append(folder / f"{module_of(page)}_line_{line}.py")
            files[-1].write_text(block, "utf-8")
    strict = [f"{module_of(page)}_line_*.py" for page in PAGES if page.name in TYPED]
    settings = {
        "typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(ROOT)], "include": strict,
    }  # fmt: skip
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    return files


def module_of(page: Path) -> str:
    """Return the name of a page as one of a module."""
    return page.stem.replace("-", "_")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
