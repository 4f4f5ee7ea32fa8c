"""A function is given the code of a mutant while it lives; what cannot be swapped says so."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutation.mutant import Mutant
from tests.mutation.swap import Finder, live_functions, swap

SOURCE = """\
LIMIT = 3


class Base:
    def price(self) -> int:
        return 1


class Order(Base):
    @property
    def total(self) -> int:
        return LIMIT + 1

    def price(self) -> int:
        return super().price() + 1
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (tmp_path / "swapped.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "swapped", raising=False)
    return importlib.import_module("swapped")


def mutant(function: str, before: str, after: str) -> tuple[Mutant, str]:
    line = SOURCE[: SOURCE.index(before)].count("\n") + 1
    change = Mutant("swapped.py", 0, line, line, line, line, function, before, after, 1)
    return change, SOURCE.replace(before, after)


def test_swap_changes_a_decorated_method_in_place(module: ModuleType) -> None:
    order = module.Order()
    assert swap(*mutant("Order.total", "LIMIT + 1", "LIMIT - 1"), live_functions())
    assert (order.total, order.price()) == (2, 2)


def test_swap_of_a_method_that_no_longer_calls_super_is_left_to_a_new_import(module: ModuleType) -> None:
    assert not swap(*mutant("Order.price", "super().price() + 1", "None"), live_functions())
    assert module.Order().price() == 2


def test_swap_of_a_function_that_nothing_keeps_is_left_to_a_new_import(module: ModuleType) -> None:
    assert not swap(*mutant("Order.total", "LIMIT + 1", "LIMIT - 1"), {})
    assert module.Order().total == 4


def test_finder_gives_the_module_another_source(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "swapped")
    Finder("swapped.py", SOURCE.replace("LIMIT = 3", "LIMIT = 4")).install()
    changed = importlib.import_module("swapped")
    assert (changed.Order().total, module.Order().total) == (5, 4)
    assert changed.__file__ == module.__file__
