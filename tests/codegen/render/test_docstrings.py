"""Docstrings of generated code."""

from __future__ import annotations

import inspect
import pydoc

import pytest

from brokerage_async._generated.endpoints import Instruments
from codegen.render.docstrings import WIDTH, class_docstring, fill, with_provenance
from tests.codegen.support import Package


def test_fill_long_paragraph_is_wrapped_with_a_hanging_indent() -> None:
    lines = fill("word " * 60, "    ", "        ").splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= WIDTH
    assert lines[0].startswith("    word")
    assert all(line.startswith("        word") for line in lines[1:])


@pytest.mark.parametrize("word", ["`AAPL  260612C00110000`", "start-date"])
def test_fill_literals_and_wire_names_are_not_broken(word: str) -> None:
    for length in range(WIDTH - len(word), WIDTH + 1):
        assert word in fill(f"{'x' * length} {word} end")


def test_with_provenance_marks_observed_facts() -> None:
    assert with_provenance("Name of the bed.", observed=False) == "Name of the bed."
    assert with_provenance("Name of the bed.", observed=True) == "Name of the bed. Observed, not documented."


def test_class_docstring_first_sentence_is_the_summary() -> None:
    assert class_docstring("Bed of a garden. A bed holds plants. Many.", "Beds") == (
        "Bed of a garden.\n\nA bed holds plants. Many.\n\nSee section Beds of the service document."
    )
    assert class_docstring("Bed of a garden.", "Beds") == (
        "Bed of a garden.\n\nSee section Beds of the service document."
    )


def test_class_docstring_observed_class_and_values_are_marked() -> None:
    observed = "See section Beds of the service document. Observed on the wire, not described there."
    assert class_docstring("Bed.", "Beds", observed=True) == f"Bed.\n\n{observed}"
    assert class_docstring("Bed.", "Beds", observed=True, observed_values=("a",)) == f"Bed.\n\n{observed}"
    assert class_docstring("Bed.", "Beds", observed_values=("a", "b")) == (
        "Bed.\n\nObserved, not documented: `a`, `b`.\n\nSee section Beds of the service document."
    )


def test_examples_keep_their_blanks_in_help(garden: Package) -> None:
    """Two blanks are part of a symbol such as AAPL  260612C00110000: without one it is another."""
    for documented in (garden.endpoints.Garden.plants, garden.models.Plant):
        assert "`Rosa  canina`" in pydoc.render_doc(documented, renderer=pydoc.plaintext)
    assert "Name of the plant, such as `Rosa  canina`." in inspect.getsource(garden.models.Plant)
    assert "`AAPL  260612C00110000`" in pydoc.render_doc(Instruments.equity_options, renderer=pydoc.plaintext)
