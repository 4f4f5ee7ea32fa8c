"""Console blocks of the documentation are found, each with the output that its page shows."""

from pathlib import Path

from tests.tables import for_each

from .console import MARKS, blocks, cannot_run, missing, runs_elsewhere
from .documents import PAGES, ROOT

PAGE = """\
# Page

```sh
first
```

```text
shown
```

<!-- start: install -->
```sh
second
```

It prints this, as here:

```text
more
```
"""


def test_console_blocks_are_found_and_show_output(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    first, second = blocks(page)
    assert (first.line, first.mark, first.script, first.shown) == (3, "", "first\n", "shown\n")
    assert (second.mark, second.shown, runs_elsewhere(second)) == ("start: install", "more\n", True)
    for page in PAGES:
        text = page.read_text("utf-8")
        found = blocks(page)
        assert len(found) == text.count("```sh\n"), page
        if not any(runs_elsewhere(block) for block in found):
            assert sum(bool(block.shown) for block in found) == text.count("```text\n"), page
    every = [block for page in PAGES for block in blocks(page)]
    here = [block for block in every if not runs_elsewhere(block) and not cannot_run(block)]
    assert len(here) > 6
    assert [block.script for block in here if not block.shown] == []
    assert sum(map(cannot_run, every)) == 3  # an address of a repository, a login at the service, a program that stays
    assert all((ROOT / path).exists() for path in MARKS.values())


@for_each(
    "shown, lacks",
    [
        ("one two", []),
        ("three\n…\nfive", []),
        ("one … two\nfour", []),
        ("five\nthree", ["three"]),
        ("six", ["six"]),
        ("one … nine", ["one … nine"]),
    ],
)
def test_missing_lines_are_those_that_do_not_follow_in_order(shown: str, lacks: list[str]) -> None:
    assert missing(shown, "one   two\nthree\nfour 4\nfive\n") == lacks
