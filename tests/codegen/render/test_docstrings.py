"""Docstrings of generated code."""

import inspect
import pydoc

from brokerage_async._generated.endpoints import Instruments
from codegen.render.docstrings import WIDTH, class_docstring, fill, source, with_provenance
from tests.codegen.support import Package
from tests.tables import for_each


@for_each("word", ["`AAPL  260612C00110000`", "start-date"])
def test_fill_literals_and_wire_names_are_not_broken(word: str) -> None:
    for length in range(WIDTH - len(word), WIDTH + 1):
        assert word in fill(f"{'x' * length} {word} end")


def test_docstrings_name_section_provenance_and_observed_values(garden: Package) -> None:
    assert with_provenance("Name.", "documented") == "Name."
    assert with_provenance("Name.", "recorded") == "Name. Recorded, not documented."
    assert with_provenance("Name.", "published", "recorded") == "Name. Published, not recorded."
    assert with_provenance("Name.", "client") == "Name. Known from other clients only."
    assert with_provenance("Name.", "client", "client") == "Name."
    request = "``GET /beds``"
    assert source("Beds", "documented", request) == "``GET /beds``: section Beds of the service document."
    assert source("Beds", "published", request).endswith("Published by the service, not described there.")
    assert source("", "recorded", request) == ("``GET /beds``: recorded from the service, not in the service document.")
    assert class_docstring("Bed of a garden. A bed holds plants. Many.", "Beds") == (
        "Bed of a garden.\n\nA bed holds plants. Many.\n\nSee section Beds of the service document."
    )
    assert class_docstring("Bed of a garden.", "Beds") == (
        "Bed of a garden.\n\nSee section Beds of the service document."
    )
    recorded = "See section Beds of the service document. Recorded from the service, not described there."
    assert class_docstring("Bed.", "Beds", provenance="recorded") == f"Bed.\n\n{recorded}"
    assert class_docstring("Bed.", "Beds", provenance="recorded", observed_values=("a",)) == f"Bed.\n\n{recorded}"
    assert class_docstring("Bed.", "", provenance="client") == (
        "Bed.\n\nKnown from other clients, not in the service document."
    )
    assert class_docstring("Bed.", "Beds", observed_values=("a", "b")) == (
        "Bed.\n\nNot in the service document: `a`, `b`.\n\nSee section Beds of the service document."
    )
    # Two blanks are part of a symbol such as AAPL  260612C00110000: without one it is another.
    for documented in (garden.endpoints.Garden.plants, garden.models.Plant):
        assert "`Rosa  canina`" in pydoc.render_doc(documented, renderer=pydoc.plaintext)
    assert "Name of the plant, such as `Rosa  canina`." in inspect.getsource(garden.models.Plant)
    assert "`AAPL  260612C00110000`" in pydoc.render_doc(Instruments.equity_options, renderer=pydoc.plaintext)
    lines = fill("word " * 60, "    ", "        ").splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= WIDTH
    assert lines[0].startswith("    word")
    assert all(line.startswith("        word") for line in lines[1:])
