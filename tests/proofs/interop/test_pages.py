"""Every call of another client on the pages for its users is one that the interop session makes or resolves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents import THEIRS, every_block

from .pages import PAGES, PLACES, SCRIPT, called, theirs, unresolved


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_call_of_theirs_is_made_or_resolved(page: Path) -> None:
    names = theirs(page)
    assert len(names) > 15
    assert [name for name in names if name not in called() | PLACES.keys() | SCRIPT] == []


def test_names_without_arguments_are_read_from_the_first_column(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("| Theirs | Ours |\n|---|---|\n| `new A({...})`, `b.c(x, y=...)` | `d` |\n| `E` with one | `f` |\n")
    assert theirs(page) == ["A", "b.c", "E"]


def test_name_that_a_package_lacks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLACES, "here", "pathlib:Path.exists")
    monkeypatch.setitem(PLACES, "gone", "pathlib:Path.vanish")
    monkeypatch.setitem(PLACES, "absent", "no_such_package:Path")
    assert [line.partition(":")[0] for line in unresolved(["here", "gone", "absent"])] == ["gone", "absent"]


def test_a_program_of_theirs_stands_beside_ours() -> None:
    page = PAGES[0]
    assert [mark for _, mark, _ in every_block(page)] == [THEIRS, "", "", ""]
