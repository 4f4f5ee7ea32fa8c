"""Generated pages are written, and removed when they are no longer made."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.site import copies, pages
from codegen.spec import Spec


def test_every_page_is_made_and_ignored_by_git(spec: Spec) -> None:
    ignored = (pages.ROOT / ".gitignore").read_text("utf-8").splitlines()
    generated = [name for name in pages.GENERATED if not name.startswith("docs/project")]
    assert {f"/{name}" for name in [*generated, "docs/project/"]} <= set(ignored)
    assert all(f"/{page}" in ignored or page.startswith("docs/project/") for page in copies.COPIES.values())
    made = pages.render(spec)
    assert {"docs/reference/messages.md", "docs/reference/operations/orders.md", "docs/project/changelog.md"} <= set(
        made
    )
    assert all(page.startswith("# ") for page in made.values())


def test_write_changes_only_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = pages.GENERATED[1]
    made = {f"{folder}a.md": "a", f"{folder}b.md": "b"}
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "load", lambda folder: folder)
    monkeypatch.setattr(pages, "render", lambda _: made)
    pages.write()
    before = (tmp_path / folder / "a.md").stat().st_mtime_ns
    made.pop(f"{folder}b.md")
    pages.write()
    assert [path.name for path in (tmp_path / folder).iterdir()] == ["a.md"]
    assert (tmp_path / folder / "a.md").stat().st_mtime_ns == before
