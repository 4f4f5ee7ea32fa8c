"""Every public name has a docstring, and a page of the reference that lists it."""

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
    assert public.undocumented() == public.unexplained() == public.hidden() == []
    found = {each.full: each.doc for each in public.names()}
    assert len(found) > 450
    assert (found["brokerage_async.__version__"] or "").startswith("Version")  # in another module
    assert (found["brokerage_async.models.converter"] or "").startswith("Converter")  # under TYPE_CHECKING
    assert "brokerage_async.client.Client.with_options" in found


def test_names_without_docstring_field_or_page_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"__module__": "brokerage_async.new"}
    bare, inner = type("Bare", (), here), type("Inner", (), here)
    outer = type("Outer", (), {"__doc__": "Outer.", "__annotations__": {"inner": list[inner]}} | here)  # type: ignore[valid-type]
    pair = attrs.make_class("Pair", ["a", "b", "c"])
    pair.__doc__ = "Pair.\n\n    Attributes:\n        a, b: both of them.\n"
    names = {"LIMIT": 3, "Bare": bare, "Outer": outer, "Pair": pair}
    module = ModuleType("brokerage_async.new")
    vars(module).update(names, __all__=list(names), __file__=__file__)
    monkeypatch.setattr(public, "modules", lambda: [module])
    assert public.hidden() == ["brokerage_async.new.Outer: Inner"]
    assert public.unexplained() == ["brokerage_async.new.Pair.c"]
    assert public.undocumented() == ["brokerage_async.new.Bare", "brokerage_async.new.LIMIT"]
    listed = frozenset(f"brokerage_async.new.{name}" for name in ("LIMIT", "Outer", "Pair"))
    assert public.missing(listed) == ["brokerage_async.new.Bare"]


def test_every_public_module_has_a_page_of_the_reference() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    shown = set(re.findall(r"^\.\. automodule:: (\S+)$", pages, re.MULTILINE))
    assert shown == {module.__name__ for module in public.modules()}


def test_command_fails_for_a_name_that_the_site_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write_inventory(names: list[str]) -> None:
        lines = "".join(f"{name} py:class 1 page.html#$ -\n" for name in names) + "start std:doc -1 start.html Start\n"
        head = b"# Sphinx inventory version 2\n# Project: x\n# Version: 1\n# compressed with zlib\n"
        (tmp_path / "objects.inv").write_bytes(head + zlib.compress(lines.encode()))

    every = [each.full for each in public.names()]
    write_inventory(every)
    assert main([str(tmp_path)]) == 0
    write_inventory([name for name in every if name != "brokerage_async.bulk.Bulk"])
    assert main([str(tmp_path)]) == 1
    assert "missing from the reference: 1\n  brokerage_async.bulk.Bulk" in capsys.readouterr().out
    assert public.missing(frozenset(every) - {"brokerage_async.Client"}) == []  # an alias of a listed object
