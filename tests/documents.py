"""Blocks of code of the README and the pages in ``docs/``.

``python -m tests.documents FOLDER`` writes them as modules, to be checked: in ``FOLDER/strict`` by pyright as well.
"""

import re
import sys
from pathlib import Path
from typing import Self

import attrs

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted([README, *(ROOT / "docs").glob("*.md")])
STRICT = ("order_entry", "programs", "readme", "synchronous", "watching")
"""Pages whose blocks pass pyright in strict mode; those of all pages pass mypy in strict mode."""

NOTEBOOK = "notebook"
"""Mark of the cells of a notebook, which are not modules."""

THEIRS = "tastytrade"
"""Mark of programs with another client, which the interop session runs."""

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^>]+?) -->\n)?```(?P<language>\w+)\n(?P<source>.*?)^```$"
    r"(?=(?:\n(?:(?!```|#|<!--)[^\n]*\n){0,8}?```text\n(?P<shown>.*?)^```)?)",
    re.DOTALL | re.MULTILINE,
)
"""A block, and the output that stands below it, after at most eight lines of prose."""


@attrs.frozen
class Block:
    """Block of a page: its line, its code, and its output, with ``…`` for parts that differ from run to run."""

    line: int
    mark: str
    language: str
    source: str
    shown: str

    @classmethod
    def all_of(cls, page: Path, language: str | None = None) -> list[Self]:
        text = page.read_text("utf-8")
        found = [cls(text.count("\n", 0, each.start("source")), **each.groupdict("")) for each in _BLOCK.finditer(text)]
        return [block for block in found if language in (None, block.language)]


def blocks(page: Path, mark: str = "") -> list[tuple[int, str]]:
    """Return line and content of the Python blocks of a page under a mark, or of those without any."""
    return [(block.line, block.source) for block in Block.all_of(page, "python") if block.mark == mark]


def program(title: str) -> str:
    """Return the program under a heading of ``docs/programs.md``."""
    page = ROOT / "docs" / "programs.md"
    line = page.read_text("utf-8").splitlines().index(f"## {title}")
    return next(block for start, block in blocks(page) if start > line)


def modules() -> dict[str, str]:
    """Return the source of every block, cells of notebooks apart, by a name made of page and line."""
    return {
        f"{re.sub(r'[^a-z]', '_', page.stem.lower())}_line_{block.line}": block.source
        for page in PAGES
        for block in Block.all_of(page, "python")
        if block.mark not in (NOTEBOOK, THEIRS)
    }


def write(folder: Path) -> None:
    """Write the modules into the folder ``strict``, with a comment that asks pyright for that mode, or ``other``."""
    comments = {"strict": "\n# pyright: strict\n", "other": ""}
    for kind in comments:
        (folder / kind).mkdir()
    for name, source in modules().items():
        kind = "strict" if name.partition("_line_")[0] in STRICT else "other"
        (folder / kind / f"{name}.py").write_text(source + comments[kind], "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
