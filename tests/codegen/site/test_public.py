"""Every public name has a docstring, and a page of the reference that lists it."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from types import ModuleType

import attrs
import pytest

from codegen.site import public
from codegen.site.__main__ import main
from codegen.site.pages import ROOT


def test_public_names_and_fields_are_documented() -> None:
    assert public.undocumented() == public.unexplained() == []
    assert len(public.names()) > 450


def use_module(monkeypatch: pytest.MonkeyPatch, **names: object) -> None:
    """Let the public names be those of one new module."""
    module = ModuleType("brokerage_async.new")
    vars(module).update(names, __all__=list(names), __file__=__file__)
    monkeypatch.setattr(public, "modules", lambda: [module])


def test_what_public_attributes_give_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    assert public.hidden() == []
    inner = type("Inner", (), {"__module__": "brokerage_async.new"})
    outer = type("Outer", (), {"__annotations__": {"inner": list[inner]}, "__module__": "brokerage_async.new"})  # type: ignore[valid-type]
    use_module(monkeypatch, Outer=outer)
    assert public.hidden() == ["brokerage_async.new.Outer: Inner"]


def test_field_that_the_docstring_leaves_out_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    made = attrs.make_class("Pair", ["a", "b", "c"])
    made.__doc__ = "Pair.\n\n    Attributes:\n        a, b: both of them.\n"
    use_module(monkeypatch, Pair=made)
    assert public.unexplained() == ["brokerage_async.new.Pair.c"]


def test_every_public_module_has_a_page_of_the_reference() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    shown = set(re.findall(r"^\.\. automodule:: (\S+)$", pages, re.MULTILINE))
    assert shown == {module.__name__ for module in public.modules()}


def test_docstrings_of_constants_are_found_where_they_are_made() -> None:
    found = {each.full: each.doc for each in public.names()}
    assert (found["brokerage_async.__version__"] or "").startswith("Version")  # in another module
    assert (found["brokerage_async.models.converter"] or "").startswith("Converter")  # under TYPE_CHECKING
    assert "brokerage_async.client.Client.with_options" in found


def test_name_without_docstring_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    use_module(monkeypatch, LIMIT=3, Bare=type("Bare", (), {"__module__": "brokerage_async.new"}))
    assert public.undocumented() == ["brokerage_async.new.Bare", "brokerage_async.new.LIMIT"]
    assert public.missing(frozenset({"brokerage_async.new.LIMIT"})) == ["brokerage_async.new.Bare"]


def inventory(folder: Path, names: list[str]) -> Path:
    lines = "".join(f"{name} py:class 1 page.html#$ -\n" for name in names) + "start std:doc -1 start.html Start\n"
    head = b"# Sphinx inventory version 2\n# Project: x\n# Version: 1\n# compressed with zlib\n"
    (folder / "objects.inv").write_bytes(head + zlib.compress(lines.encode()))
    return folder / "objects.inv"


def test_command_fails_for_a_name_that_the_site_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert public.inventory(inventory(tmp_path, ["a.B", "a.C"])) == {"a.B", "a.C"}
    every = [each.full for each in public.names()]
    inventory(tmp_path, every)
    assert main([str(tmp_path)]) == 0
    inventory(tmp_path, [name for name in every if name != "brokerage_async.bulk.Bulk"])
    assert main([str(tmp_path)]) == 1
    assert "missing from the reference: 1\n  brokerage_async.bulk.Bulk" in capsys.readouterr().out
    assert public.missing(frozenset(every) - {"brokerage_async.Client"}) == []  # an alias of a listed object
