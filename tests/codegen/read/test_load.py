# ruff: noqa: E501
"""A schema folder as a Spec: models and enumerations, and all problems at once."""

from pathlib import Path

import pytest

from codegen.read.load import SchemaError, load
from codegen.spec import Restatement
from tests.codegen.support import TOY, edit, problems_of
from tests.tables import for_each

PLANT = "garden.yaml: $.schemas.Plant"
SEASON = "garden.yaml: $.schemas.Season"


def test_load_models_follow_the_list_of_components() -> None:
    spec = load(TOY)
    assert list(spec.models) == ["Pagination", "Bed", "Gardener", "Plant", "Harvest", "NewPlant", "NewLabel", "BedEdit"]
    assert spec.namespaces == {"garden": "Plants and beds."}
    plant = {field.wire: field for field in spec.models["Plant"].fields}
    assert (plant["frost-days"].name, plant["frost-days"].type.array) == ("frost_days", True)
    assert plant["sown"].type.wire == ("date-text", "empty")
    assert plant["secret-recipe"].type.secret
    assert [field.wire for field in plant.values() if field.provenance != "documented"] == ["frozen-at", "harvests"]
    assert [name for name, model in spec.models.items() if model.shared] == ["Gardener", "Harvest"]
    assert {field.wire for field in spec.models["NewPlant"].fields if field.required} == {"name", "labels"}
    assert spec.models["BedEdit"].restates == Restatement(sources=("Plant", "NewPlant"), names=("season",))
    [season] = load(TOY).enums.values()
    assert season.members == (("SPRING", "Spring"), ("HIGH_SUMMER", "High Summer"), ("UNKNOWN", "?"))
    assert season.observed_values == ("?",)
    fields = {field.wire: field.description for field in load(TOY).models["BedEdit"].fields}
    assert fields["season"] == "Season of the bed."


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("garden.yaml", "operationId: garden.plants", "operationId: orchard.plants", "openapi.yaml: $: tags must list 'orchard', the namespace of orchard.plants"),
        ("openapi.yaml", "    Harvest: {$ref", "    Yield: {$ref", "garden.yaml: $.schemas.Harvest: must be listed in openapi.yaml under its own name, got 'Yield'"),
        ("garden.yaml", "    description: Season of growth.\n", "", f"{SEASON}: description is missing"),
        ("garden.yaml", "    x-section: Plants\n    x-open-enum", "    x-open-enum", f"{SEASON}: x-section is missing: name the section of the service document"),
        ("garden.yaml", "    x-open-enum: true\n", "", f"{SEASON}: x-open-enum must be true: the service may send values that are not listed"),
        ("garden.yaml", "[SPRING, HIGH_SUMMER, UNKNOWN]", "[SPRING, HIGH_SUMMER]", f"{SEASON}: x-enum-varnames must have 3 names, got 2"),
        ("garden.yaml", "    x-enum-varnames: [SPRING, HIGH_SUMMER, UNKNOWN]\n", "", f"{SEASON}: value '?' does not yield a Python name: add x-enum-varnames"),
        ("garden.yaml", "x-observed: [\"?\"]", "x-observed: [Winter]", f"{SEASON}: x-observed must list values of enum, got 'Winter'"),
        ("garden.yaml", "enum: [Spring,", "enum: [High Summer,", f"{SEASON}: duplicate value 'High Summer'"),
        ("garden.yaml", "enum: [Spring, High Summer,", "x-ignore-case: true\n    enum: [HIGH summer, High Summer,", f"{SEASON}: duplicate value 'high summer'"),
        ("garden.yaml", "[SPRING, HIGH_SUMMER,", "[SPRING, SPRING,", f"{SEASON}: duplicate name 'SPRING'"),
        ("garden.yaml", "name: {type: string, description: \"Name of the plant, such as `Rosa  canina`.\"}", "name: {type: string}", f"{PLANT}.properties.name: description is missing"),
        ("garden.yaml", "rows: {type: integer, x-wire", "extra: {type: integer, x-wire", f"{PLANT}: a property yields the Python name 'extra', which the generated classes reserve"),
        ("garden.yaml", "rows: {type: integer, x-wire", "date: {type: integer, x-wire", f"{PLANT}: a property yields the Python name 'date', which the generated classes reserve"),
        ("garden.yaml", "required: [text]", "required: [words]", "garden.yaml: $.schemas.NewLabel: required must list properties, got 'words'"),
        ("garden.yaml", "many plants.\n", "many plants.\n    x-shared: true\n", "garden.yaml: $.schemas.Bed: x-shared requires fields without aliases, mappings, objects and decimals that may be numbers"),
        ("garden.yaml", "    x-provenance: client\n    x-shared: true\n", "    x-provenance: client\n", "openapi.yaml: $: x-shared of Harvest requires that the models in it are shared"),
        ("openapi.yaml", "{name: garden,", "{name: plant, description: \"Clash.\"}\n  - {name: garden,", "openapi.yaml: $: component 'Plant' has the name of the class of namespace 'plant'"),
        ("garden.yaml", "rows: {type: integer, ", "rows: {type: integer, x-always: true, ", f"{PLANT}.properties.rows: x-always requires a string that is neither required nor has aliases"),
        ("garden.yaml", "x-identity: [name, sown]", "x-identity: [name, number]", f"{PLANT}: x-identity must list scalar properties, got ['name', 'number']"),
        ("garden.yaml", "x-identity: [name, sown]", "x-identity: [neighbours]", f"{PLANT}: x-identity must list scalar properties, got ['neighbours']"),
        ("garden.yaml", "x-identity: [name, sown]", "x-identity: [{}]", f"{PLANT}: x-identity must list scalar properties, got [{{}}]"),
        ("garden.yaml", "x-identity: [name, sown]", "x-identity: name", f"{PLANT}: x-identity must list scalar properties, got 'name'"),
        ("garden.yaml", "    x-identity: [name, sown]\n", "", "garden.yaml: $.paths.Plants.get: Plant needs x-identity, because its lists come in pages: [] if nothing identifies a row"),
        ("garden.yaml", "fields: [season]", "names: [season]", "garden.yaml: $.schemas.BedEdit: x-restates must have the keys from and fields, got "),
        ("garden.yaml", "fields: [season]", "fields: [height]", "garden.yaml: $.schemas.BedEdit: x-restates must list properties, got 'height'"),
        ("garden.yaml", "fields: [season]", "fields: [width]", "openapi.yaml: $: x-restates of BedEdit: Plant has no width of that type"),
        ("garden.yaml", "from: [Plant, NewPlant]", "from: [Stone]", "openapi.yaml: $: x-restates of BedEdit: Stone has no season of that type"),
        ("garden.yaml", "  NewLabel:\n    type: object", "  NewLabel:\n    type: string", "garden.yaml: $.schemas.NewLabel: must be an enumeration or an object with properties"),
        ("garden.yaml", "#/schemas/Season\", x-wire", "#/schemas/Loop\", x-wire", f"{PLANT}.properties.season: $ref '#/schemas/Loop': 'Loop' not found in garden.yaml"),
        ("garden.yaml", "minimum: 1,", "minimum: 1.5,", "garden.yaml: $.paths.Plants.get.parameters[4].schema: unsupported bound minimum: 1.5"),
    ],
)  # fmt: skip
def test_load_invalid_schema_names_file_path_and_reason(file: str, old: str, new: str, problem: str, toy: Path) -> None:
    edit(toy / file, old, new)
    problems = problems_of(toy)
    assert [found for found in problems if found.startswith(problem)], problems


def test_load_several_mistakes_are_all_reported_at_once(toy: Path) -> None:
    garden = toy / "garden.yaml"
    content = garden.read_text().replace("x-effect: mutate", "x-effect: change")
    garden.write_text(content.replace("x-scope: read", "x-power: read").replace("frost-days:", "frostDays:"))
    edit(toy / "common.yaml", "description: Position of a page in a list.", "x-note: 1")
    with pytest.raises(SchemaError) as caught:
        load(toy)
    problems = caught.value.problems
    places = [" ".join(problem.split(": ")[:2]) for problem in problems]
    assert places == [
        "common.yaml $.schemas.Pagination",
        "common.yaml $.schemas.Pagination",
        "garden.yaml $.paths.Bed.delete",
        "garden.yaml $.paths.Bed.patch",
        "garden.yaml $.paths.Beds.get",
        "garden.yaml $.paths.Plants.get",
        "garden.yaml $.paths.Plants.post",
        "garden.yaml $.schemas.Plant.properties",
    ]


@pytest.mark.parametrize("name", ["frost-days", "frost_days", "class", "class-"])
def test_load_properties_with_one_python_name_are_a_problem(name: str, toy: Path) -> None:
    other = {"frost-days": "frost--days", "frost_days": "frost-days", "class": "class-", "class-": "class"}[name]
    properties = "".join(f'      {each}: {{type: string, description: "One."}}\n' for each in (name, other))
    edit(toy / "garden.yaml", "    properties:\n      text:", f"    properties:\n{properties}      text:")
    python = name.strip("-").replace("-", "_") + ("_" if "class" in name else "")
    assert f"garden.yaml: $.schemas.NewLabel: two properties yield the Python name {python!r}" in problems_of(toy)


@for_each(
    "content, problems",
    [
        ("", []),
        ("{}", []),
        ("just a string", ["openapi.yaml: $: must be an object, got 'just a string'"]),
        ("paths: 3", ["openapi.yaml: $.paths: must be an object, got 3"]),
        ("tags: 3", ["openapi.yaml: $.tags: must be an array, got 3"]),
        ("components: {schemas: 1}", ["openapi.yaml: $.components.schemas: must be an object, got 1"]),
    ],
)
def test_load_other_content_is_a_problem_or_an_empty_schema(content: str, problems: list[str], tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").write_text(content)
    assert problems_of(tmp_path) == problems
    if not problems:
        assert load(tmp_path).operations == ()
