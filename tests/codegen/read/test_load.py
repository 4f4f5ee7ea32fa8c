# ruff: noqa: E501
"""What is wrong with a schema is said with file, JSON path and reason, everything at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.read.load import SchemaError, load
from tests.codegen.support import TOY, toy  # noqa: F401

PLANT = "$.schemas.Plant.properties"
OPERATION = "$.paths.Plants.get"

# (file, text to replace, replacement, the problem that must be told)
WRONG = [
    ("garden.yaml", "x-effect: read\n      x-scope: read\n      x-section: Beds", "x-scope: read\n      x-section: Beds",
     "garden.yaml: $.paths.Beds.get: has no x-effect"),
    ("garden.yaml", "x-effect: mutate", "x-effect: change", "x-effect is 'change', not one of read, preflight, mutate"),
    ("garden.yaml", "x-scope: read", "x-scopes: read", "garden.yaml: $.paths.Beds.get: unknown key 'x-scopes'"),
    ("garden.yaml", "operationId: garden.plants", "operationId: listPlants",
     f"garden.yaml: {OPERATION}: operationId 'listPlants' is not of the form namespace.method"),
    ("garden.yaml", "operationId: garden.plants", "operationId: garden.list", "operationId 'garden.list' is taken"),
    ("garden.yaml", "operationId: garden.plants", "operationId: orchard.plants",
     "openapi.yaml: $: tags: there is none for 'orchard'"),
    ("garden.yaml", "frost-days:", "frostDays:",
     f"garden.yaml: {PLANT}: the property 'frostDays' is not in lower case with its words joined by dashes"),
    ("garden.yaml", "#/schemas/Harvest", "#/schemas/Crop",
     f"garden.yaml: {PLANT}.harvests.items: $ref to '#/schemas/Crop': garden.yaml has no 'Crop' there"),
    ("garden.yaml", "common.yaml#/parameters", "commons.yaml#/parameters", "there is no file commons.yaml"),
    ("openapi.yaml", "    Harvest: {$ref: \"garden.yaml#/schemas/Harvest\"}\n", "",
     "components.schemas: 'Harvest', used by Plant, is not listed"),
    ("openapi.yaml", "    Harvest: {$ref", "    Yield: {$ref",
     "garden.yaml: $.schemas.Harvest: is listed in openapi.yaml as 'Yield'"),
    ("openapi.yaml", "garden.yaml#/paths/Bed\"", "garden.yaml#/paths/Beet\"", "garden.yaml has no 'Beet' there"),
    ("garden.yaml", "    x-open-enum: true\n", "", "garden.yaml: $.schemas.Season: needs x-open-enum: true"),
    ("garden.yaml", "[SPRING, HIGH_SUMMER, UNKNOWN]", "[SPRING, HIGH_SUMMER]", "x-enum-varnames has 2 names for 3 values"),
    ("garden.yaml", "    x-enum-varnames: [SPRING, HIGH_SUMMER, UNKNOWN]\n", "", "the value '?' gives no name"),
    ("garden.yaml", "x-observed: [\"?\"]", "x-observed: [Winter]", "x-observed names 'Winter', which is not in enum"),
    ("garden.yaml", "enum: [Spring,", "enum: [High Summer,", "the value 'High Summer' occurs twice"),
    ("garden.yaml", "x-wire: [date-text, empty]", "x-wire: [date-text, roman]", f"{PLANT}.sown: x-wire names 'roman'"),
    ("garden.yaml", "{type: integer, x-wire: [string]", "{type: integer, x-wire: [nan]",
     f"{PLANT}.rows: x-wire ['nan'] does not go with a field of kind integer"),
    ("garden.yaml", "x-wire: [mapping], description: \"Days", "x-wire: [empty], description: \"Days",
     "x-wire ['empty'] does not go with an array of date"),
    ("garden.yaml", "{type: integer, x-wire", "{type: float, x-wire", f"{PLANT}.rows: type 'float' is not one of"),
    ("garden.yaml", "format: date, x-wire: [date-text", "format: day, x-wire: [date-text",
     f"{PLANT}.sown: format 'day' is not one of decimal, date, date-time, password"),
    ("garden.yaml", "name: {type: string, description: \"Its name.\"}\n      season: {$ref: \"#/schemas/Season\", x-wire",
     "name: {type: string}\n      season: {$ref: \"#/schemas/Season\", x-wire",
     f"garden.yaml: {PLANT}.name: has no description"),
    ("garden.yaml", "labels: {type: object,", "labels: {type: object, properties: {a: {type: string}},",
     "describes an object in place; make it a component of its own"),
    ("garden.yaml", "rows: {type: integer", "extra: {type: integer", "would be called 'extra'"),
    ("garden.yaml", "rows: {type: integer", "date: {type: integer", "would be called 'date'"),
    ("garden.yaml", "required: [text]", "required: [words]", "required names 'words', which is no property"),
    ("garden.yaml", "require: [sown]", "require: [sowed]",
     "garden.yaml: $.schemas.NewPlant.x-rules[0]: names 'sowed', which is not there"),
    ("garden.yaml", "require: [sown]", "require: [sown], forbid: [weight]", "needs exactly one of require"),
    ("garden.yaml", "require: [sown], message: \"In spring say when it is sown.\"", "require: [sown]",
     "$.schemas.NewPlant.x-rules[0]: has no message"),
    ("garden.yaml", "require: [sown]", "positive: [weigth]", "x-rules[0]: names 'weigth', which is not there"),
    ("garden.yaml", "require: [sown]", "not-negative: [weigth]", "x-rules[0]: names 'weigth', which is not there"),
    ("garden.yaml", "months: 3", "month: 3", "$.paths.Plants.get.x-rules[0]: span is not written as it should be"),
    ("garden.yaml", "        \"204\": {description: \"It is gone.\"}", "        \"404\": {description: \"Gone.\"}",
     "needs exactly one answer of success, has 0"),
    ("garden.yaml", "      x-paginated: true\n", "", "x-paginated: true and PageEnvelope go together"),
    ("garden.yaml", "      x-result: many\n", "", "has alternatives; x-result: one or many must say what is returned"),
    ("garden.yaml", "- {name: sown-after, in: query", "- {name: sown-after, in: header", "in: 'header' is not path or query"),
    ("garden.yaml", "name: \"season[]\"", "name: season", "an array is named with brackets at its end"),
    ("garden.yaml", "    delete:\n", "    trace:\n", "'trace' is not one of get, post, put, patch, delete"),
    ("openapi.yaml", "/beds/{bed_number}:", "/beds/{bed}:", "'bed' stands in the path /beds/{bed} or among its parameters"),
    ("garden.yaml", "schemas:\n  Season:", "schemas:\n  season: {}\n  Season:", "'season' cannot be the name of a class"),
    ("garden.yaml", "  Bed:\n    patch:", "  Bed:\n    patch: {}\n    patch:", "the key 'patch' occurs twice"),
    ("garden.yaml", "description: A bed.\n", "description: A bed.\n    x-shared: true\n",
     "garden.yaml: $.schemas.Bed: x-shared: true goes with plain fields only"),
    ("garden.yaml", "minimum: 1,", "minimum: 1.5,", "minimum: 1.5: only integers have bounds"),
    ("garden.yaml", "minimum: 1,", "exclusiveMinimum: 0,", "exclusiveMinimum: 0: only integers have bounds, minimum and"),
    ("garden.yaml", "format: decimal, description: \"Weight", "format: decimal, minimum: 0, description: \"Weight",
     f"{PLANT}.weight: minimum: 0: only integers have bounds"),
    ("garden.yaml", "#/schemas/Season\", x-wire", "#/schemas/Loop\", x-wire", "has no 'Loop' there"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "problem"), WRONG, ids=[case[3][:60] for case in WRONG])
def test_a_mistake_is_told_with_its_place(file: str, old: str, new: str, problem: str, toy: Path) -> None:  # noqa: F811
    text = (toy / file).read_text()
    assert old in text
    (toy / file).write_text(text.replace(old, new, 1))
    with pytest.raises(SchemaError) as caught:
        load(toy)
    assert problem in str(caught.value)


def test_all_mistakes_are_told_at_once(toy: Path) -> None:  # noqa: F811
    garden = toy / "garden.yaml"
    text = garden.read_text().replace("x-effect: mutate", "x-effect: change").replace("x-scope: read", "x-power: read")
    garden.write_text(text.replace("frost-days:", "frostDays:"))
    with pytest.raises(SchemaError) as caught:
        load(toy)
    assert len(caught.value.problems) == 3 + 2 + 1
    assert all(problem.startswith("garden.yaml: $.") for problem in caught.value.problems)


def test_references_that_lead_in_a_circle_are_told(toy: Path) -> None:  # noqa: F811
    garden = toy / "garden.yaml"
    garden.write_text(garden.read_text().replace("schemas:\n", 'schemas:\n  Loop: {$ref: "#/schemas/Loop"}\n', 1))
    with pytest.raises(SchemaError, match=r"\$ref to '#/schemas/Loop' leads back to itself"):
        load(toy)


@pytest.mark.parametrize(
    "text", ["", "[]", "just text", "paths: 3", "paths: {/a: {get: 5}}", "components: {schemas: 1}"]
)
def test_anything_that_is_no_schema_is_told_somehow(text: str, tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").write_text(text)
    try:
        assert not load(tmp_path).operations
    except SchemaError as error:
        assert error.problems  # noqa: PT017


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"there is no openapi\.yaml in this folder"):
        load(tmp_path)


def test_rule_of_the_library_is_marked(toy: Path) -> None:  # noqa: F811
    garden = toy / "garden.yaml"
    rule = "{positive: [weight], x-provenance: library"
    garden.write_text(garden.read_text().replace("{when: {season: [Spring]}, require: [sown]", rule, 1))
    (marked, unmarked) = load(toy).models["NewPlant"].rules
    assert marked.arguments[:2] == (("positive", ("weight",)), ("library", True))
    assert "library" not in dict(unmarked.arguments)


def test_what_is_read(tmp_path: Path) -> None:
    spec = load(TOY)
    assert list(spec.models) == ["Pagination", "Bed", "Plant", "Harvest", "NewPlant", "NewLabel", "BedEdit"]
    by_name = {operation.name: operation for operation in spec.operations}
    assert {name: (each.shape, each.result) for name, each in by_name.items()} == {
        "garden.plants": ("page", "Plant"),
        "garden.plant": ("bare", "Plant"),
        "garden.edit_bed": ("one", "Bed"),
        "garden.remove": ("none", None),
        "garden.list": ("many", "Bed"),
    }
    assert [model.name for model in spec.request_models()] == ["NewLabel", "NewPlant", "BedEdit"]
    plant = {field.wire: field for field in spec.models["Plant"].fields}
    assert plant["frost-days"].type.array
    assert plant["sown"].type.wire == ("date-text", "empty")
    assert plant["secret-recipe"].type.secret
    assert by_name["garden.plant"].production_only
    assert by_name["garden.edit_bed"].observed
    assert by_name["garden.edit_bed"].errors == (404,)
