"""Rendering: endpoints, converters, docstrings, index and bundle of the schema. See also the golden sample."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codegen.bundle import document
from codegen.bundle.examples import with_examples
from codegen.read.document import Document
from codegen.read.load import load
from codegen.render.docstrings import WIDTH, fill
from codegen.render.index import INDEX, render
from codegen.render.write import formatted
from tests.codegen.support import TOY, Package, edit, imported, problems_of
from tests.tables import for_each
from tests.vectors.exchange import Recorder


@for_each("given, known", [(None, False), (5, False), ("Spring", True), ("Monsoon", True)])
async def test_flattened_enumeration_is_made_of_any_string_alone(given: Any, known: bool, garden: Package) -> None:
    recorder = Recorder()
    await garden.endpoints.Endpoints(recorder).garden.edit_bed(7, season=given)
    season = recorder.calls[0].body.season
    assert (season, isinstance(season, garden.models.Season)) == (given, known)


def test_build_keeps_digits_aliases_and_one_object_for_equal_values(garden: Package) -> None:
    wires, models = garden.converters, garden.models
    bed = msgspec.json.decode(b'{"width": 12345678901234567890.10}', type=wires.BedWire).build()
    assert str(bed.width) == "12345678901234567890.10"
    assert msgspec.json.encode(wires.BedWire.of(bed)) == b'{"width":"12345678901234567890.10"}'
    bed = msgspec.json.decode(b'{"width": "NaN"}', type=wires.BedWire).build()
    assert (bed.width, bed.extra) == (None, {"width": "NaN"})
    by_alias = msgspec.convert({"crop": [{"name": "Rose"}]}, wires.BedWire).build()
    assert by_alias == models.Bed(plants=[models.Plant(name="Rose")])
    assert wires.BedWire.of(by_alias).plants[0].name == "Rose"
    both = msgspec.convert({"crop": [{"name": "Rye", "rows": 2}], "plants": []}, wires.BedWire).build()
    assert both.plants == ()
    assert both.extra == {"crop": [{"name": "Rye", "rows": 2}]}
    bed = msgspec.convert({"labels": {"a": [1]}, "notes": [{"b": 2}]}, wires.BedWire).build()
    assert bed == models.Bed(labels={"a": [1]}, notes=[{"b": 2}])
    assert hash(bed) == hash(models.Bed())
    with pytest.raises(TypeError, match="immutable"):
        bed.labels["a"] = 3
    rows = [{"day": "2026-03-01", "pickers": [{"name": name}]} for name in ("Ada", "Ada", "Eve")]
    first, second, other = msgspec.convert(rows, list[wires.HarvestWire])
    assert first.build() is second.build()
    assert first.build() != other.build()
    plant = models.Plant(name="Rose", secret_recipe="hush", extra={"token": "hush"})
    assert repr(plant) == "Plant(name='Rose', secret_recipe=..., extra=...)"


def test_of_number_is_written_as_a_number(toy: Path, tmp_path: Path) -> None:
    edit(toy / "garden.yaml", "width: {type: string, format: decimal, x-wire: [number, nan],", "width: {type: number,")
    with imported(toy, tmp_path) as package:
        decoder = msgspec.json.Decoder(package.converters.BedWire, float_hook=Decimal)  # as `Plan` makes them
        bed = decoder.decode(b'{"width": 1.20, "number": "7"}').build()
        assert (str(bed.width), bed.number) == ("1.20", "7")
        written = msgspec.json.Encoder(decimal_format="number").encode(package.converters.BedWire.of(bed))
    assert written == b'{"number":"7","width":1.20}'


def test_build_without_class_swap_returns_an_equal_model(garden: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = msgspec.convert({"name": "Rose", "harvests": [{"kilograms": "1"}], "price": ""}, garden.converters.PlantWire)
    swapped = wire.build()
    monkeypatch.setattr("brokerage_async._values.CLASS_SWAP", False)
    made = wire.build()
    assert (made, type(made)) == (swapped, type(swapped))


SHED = """
paths:
  Sheds:
    x-path: /sheds
    get:
      {operationId: garden.shed, summary: Get the shed., x-effect: read, x-section: Sheds, responses: {"204": {}}}
schemas:
  Shed: {type: object, description: Shed., x-section: Sheds, properties: {width: {type: integer, description: W.}}}
"""


def test_render_new_path_and_component_get_a_line_at_the_end_of_their_section(toy: Path) -> None:
    (toy / "sheds.yaml").write_text(SHED)
    before = (toy / INDEX).read_text().splitlines()
    made = render(toy)
    assert [line for line in made.splitlines() if line not in before] == [
        '  /sheds: {$ref: "sheds.yaml#/paths/Sheds"}',
        '    Shed: {$ref: "sheds.yaml#/schemas/Shed"}',
    ]
    (toy / INDEX).write_text(made)
    assert render(toy) == made
    spec = load(toy)
    assert (spec.operations[-1].path, list(spec.models)[-1]) == ("/sheds", "Shed")


def test_render_invalid_file_is_left_to_the_reader(toy: Path) -> None:
    edit(toy / "garden.yaml", "paths:\n", "paths: [\n")
    assert render(toy) == (TOY / INDEX).read_text()
    assert problems_of(toy)


@for_each("word", ["`AAPL  260612C00110000`", "start-date"])
def test_fill_literals_and_wire_names_are_not_broken(word: str) -> None:
    for length in range(WIDTH - len(word), WIDTH + 1):
        lines = fill(f"{'x' * length} {word} end", "    ", "        ").splitlines()
        assert [line for line in lines if word in line]
        assert all(line.startswith("        ") for line in lines[1:])


def test_formatted_ignores_settings_and_rejects_invalid_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 40\n")
    monkeypatch.chdir(tmp_path)
    line = "x = [" + ", ".join(f'"{number}"' for number in range(15)) + "]\n"
    assert formatted(f"import os\n\n{line}") == line
    with pytest.raises(RuntimeError, match="ruff rejected the generated code: "):
        formatted("def broken(:\n")


def test_bundle_shares_what_operations_refer_to_and_types_what_stands_for_a_missing_value() -> None:
    garden = document.bundle(Document(TOY))
    assert json.loads(document.render(Document(TOY))) == garden
    assert list(garden) == ["openapi", "info", "tags", "paths", "components"]
    bed, schemas = garden["paths"]["/beds/{bed_number}"], garden["components"]["schemas"]
    assert bed["patch"]["parameters"] == bed["delete"]["parameters"] == [{"$ref": "#/components/parameters/BedNumber"}]
    assert bed["patch"]["responses"]["404"] == {"$ref": "#/components/responses/NotFound"}
    assert bed["delete"]["responses"]["204"] == {"description": "Bed removed."}
    assert {"ItemEnvelope", "ListEnvelope", "PageEnvelope", "ItemList"} & schemas.keys() == set()
    crop, plant = schemas["Bed"]["properties"]["crop"], schemas["Plant"]["properties"]
    assert (crop["x-alias-of"], crop["description"]) == ("plants", "Another key of `plants`.")
    words = [{"type": "string", "enum": [word]} for word in ("NaN", "")]
    assert plant["sown"]["anyOf"] == [{"type": "string"}, words[1], {"type": "null"}]
    assert plant["price"]["anyOf"][1:] == [*words, {"type": "null"}]


def test_examples_end_where_a_component_is_within_itself_and_integers_are_positive() -> None:
    plant, nothing = {"$ref": "#/components/schemas/Plant"}, {"type": "null"}
    properties: dict[str, dict[str, Any]] = {
        "parent": {"anyOf": [plant, nothing]},
        "children": {"type": "array", "items": plant},
        "rows": {"type": "integer", "minimum": 0},
        "width": {"type": "integer", "minimum": 5},
    }
    made = with_examples({"Plant": {"type": "object", "properties": properties}}, {})
    assert made["Plant"]["examples"] == [{"children": [], "rows": 1, "width": 5}]
