# ruff: noqa: E501
"""Operations: shapes, bodies and parameters, and problems with their places."""

from pathlib import Path

import pytest

from codegen.read.load import load
from codegen.render.write import render
from tests.codegen.support import TOY, edit, problems_of

PLANTS = "garden.yaml: $.paths.Plants.get"
BEDS = "garden.yaml: $.paths.Beds.get"


def test_read_operations_follow_paths_responses_and_extensions() -> None:
    assert [operation.name for operation in load(TOY).operations] == [
        "garden.plants", "garden.plant", "garden.edit_bed", "garden.remove", "garden.list",
    ]  # fmt: skip
    assert {each.name: (each.status, each.shape, each.result) for each in load(TOY).operations} == {
        "garden.plants": (200, "page", "Plant"),
        "garden.plant": (201, "bare", "Plant"),
        "garden.edit_bed": (200, "one", "Bed"),
        "garden.remove": (204, "none", None),
        "garden.list": (200, "many", "Bed"),
    }
    by_name = {operation.name: operation for operation in load(TOY).operations}
    plant, edit_bed = by_name["garden.plant"], by_name["garden.edit_bed"]
    assert (plant.method, plant.path) == ("POST", "/beds/{bed_number}/plants")
    assert (plant.effect, plant.scope) == ("mutate", "trade")
    assert (plant.body, plant.body_name, plant.body_required) == ("NewPlant", "plant", True)
    assert (plant.production_only, plant.provenance, plant.flatten_body) == (True, "documented", False)
    assert (edit_bed.production_only, edit_bed.provenance, edit_bed.flatten_body) == (False, "recorded", True)
    assert edit_bed.errors == (404,)
    [plants] = [operation for operation in load(TOY).operations if operation.name == "garden.plants"]
    assert [(each.name, each.wire, each.location, each.required) for each in plants.parameters] == [
        ("bed_number", "bed_number", "path", True),
        ("seasons", "season[]", "query", False),
        ("sown_after", "sown-after", "query", False),
        ("sown_before", "sown-before", "query", False),
        ("rows", "rows", "query", False),
        ("colours", "colours", "query", False),
    ]
    assert [each.wire for each in plants.parameters if each.joined] == ["colours"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("x-effect: read\n      x-scope: read\n      x-section: Beds", "x-scope: read\n      x-section: Beds", f"{BEDS}: x-effect is missing"),
        ("      summary: List the beds.\n", "", f"{BEDS}: summary is missing"),
        ("operationId: garden.plants", "operationId: listPlants", f"{PLANTS}: operationId must have the form namespace.method, got 'listPlants'"),
        ("operationId: garden.plants", "operationId: garden.list", f"{BEDS}: duplicate operationId 'garden.list'"),
        ("    delete:\n", "    trace:\n", "garden.yaml: $.paths.Bed: method must be one of get, post, put, patch, delete, got 'trace'"),
        ("- {name: sown-after, in: query", "- {name: sown-after, in: header", f"{PLANTS}.parameters[2]: in must be path or query, got 'header'"),
        ("name: \"season[]\"", "name: season", f"{PLANTS}.parameters[1]: name must end in [] for an array with a repeated key, and for nothing else"),
        ("style: form, explode: false, schema: {type: array, items: {type: string}}", "explode: false, schema: {type: string}", f"{PLANTS}.parameters[5]: explode: false requires an array in the query"),
        ("{name: rows, in: query, schema: {type: integer, minimum: 1, maximum: 40},", "{name: rows, in: query,", f"{PLANTS}.parameters[4]: schema is missing"),
        ("schema: {type: integer, minimum: 1, maximum: 40}, description: \"Only plants with this number of rows.\"", "schema: {type: integer}", f"{PLANTS}.parameters[4]: description is missing"),
        ("schema: {type: integer, minimum: 1, maximum: 40}", "schema: {type: object}", f"{PLANTS}.parameters[4].schema: unsupported kind object for a parameter"),
        ("        \"204\": {description: \"Bed removed.\"}", "        \"404\": {description: \"Gone.\"}", "garden.yaml: $.paths.Bed.delete: must have a success response"),
        ("        \"204\": {description: \"Bed removed.\"}", "        \"200\": {description: \"Bed removed.\", content: {}}\n        \"204\": {description: \"Bed removed.\"}", "garden.yaml: $.paths.Bed.delete: success responses must have the same content"),
        ("        \"204\": {description: \"Bed removed.\"}", "        \"200\": {description: \"Beds.\", content: {application/json: {schema: {type: array, items: {type: integer}}}}}", "schema: items must be a $ref to a component, or of type string"),
        ("      summary: List the beds.\n", "      summary: List the beds.\n      x-host: shed\n", f"{BEDS}: x-host must be listed in x-hosts of openapi.yaml, got 'shed'"),
        ("  Beds:\n", "  Beds:\n    x-path: /bed\n", "garden.yaml: $.paths.Beds: x-path must be '/beds', the path in openapi.yaml, got '/bed'"),
        ("      x-paginated: true\n", "", f"{PLANTS}: x-paginated and PageEnvelope must be used together"),
        ("      x-result: many\n", "", f"{BEDS}: x-result is missing: choose one or many for a response with alternatives"),
        ("properties: {data: {$ref: \"#/schemas/Bed\"}}\n  Bed:", "properties: {data: {$ref: \"#/schemas/Plant\"}}\n  Bed:", f"{BEDS}.responses.200.content.application/json.schema: alternatives must contain the same model"),
        ("requestBody: {required: true, content: {application/json: {schema: {$ref: \"#/schemas/NewPlant\"}}}}", "requestBody: {required: true, content: {application/json: {schema: {type: object}}}}",
         "garden.yaml: $.paths.Plants.post.requestBody: content.application/json.schema must be a $ref to a component"),
        ("{schema: {$ref: \"#/schemas/BedEdit\"}}", "{schema: {$ref: \"#/schemas/NewPlant\"}}", "garden.yaml: $.paths.Bed.patch: x-flatten-body requires optional fields only: NewPlant has required ones"),
        ("content: {application/json: {schema: {$ref: \"#/schemas/Plant\"}}}", "content: {application/json: {schema: {type: object}}}",
         "schema: must be a component, or allOf one of ItemEnvelope, ListEnvelope, PageEnvelope with properties.data"),
        ("{data: {properties: {items: {items: {$ref: \"#/schemas/Plant\"}}}}}", "{data: {properties: {items: {items: {type: string}}}}}", "data must contain a $ref to a component"),
    ],
)  # fmt: skip
def test_read_operations_invalid_operation_is_a_problem(old: str, new: str, problem: str, toy: Path) -> None:
    edit(toy / "garden.yaml", old, new)
    problems = problems_of(toy)
    assert [found for found in problems if problem in found], problems


REMOVED = '"204": {description: "Bed removed."}'


@pytest.mark.parametrize(
    ("items", "result", "annotation"),
    [('{$ref: "#/schemas/Bed"}', "Bed", "models.Bed"), ("{type: string}", "str", "str")],
)
def test_read_operations_bare_array_is_a_list(items: str, result: str, annotation: str, toy: Path) -> None:
    body = (
        f'"200": {{description: "Rest.", content: {{application/json: {{schema: {{type: array, items: {items}}}}}}}}}'
    )
    edit(toy / "garden.yaml", REMOVED, body)
    spec = load(toy)
    [remove] = [operation for operation in spec.operations if operation.name == "garden.remove"]
    assert (remove.status, remove.shape, remove.result) == (200, "bare_many", result)
    source = render(spec)["operations.py"]
    assert f"GARDEN_REMOVE: Operation[list[{annotation}]] = Operation(" in source
    assert f"shape=Shape.BARE_MANY,\n    result={annotation}," in source


def test_read_operations_several_successes_with_the_same_content_are_one(toy: Path) -> None:
    edit(toy / "garden.yaml", REMOVED, f'{REMOVED}\n        "202": {{description: "Bed will be removed."}}')
    [remove] = [operation for operation in load(toy).operations if operation.name == "garden.remove"]
    assert (remove.status, remove.shape) == (204, "none")


def test_read_operations_host_is_one_of_those_listed(toy: Path) -> None:
    edit(toy / "openapi.yaml", "tags:\n", "x-hosts: {shed: Host of the tools.}\ntags:\n")
    edit(toy / "garden.yaml", "      summary: List the beds.\n", "      summary: List the beds.\n      x-host: shed\n")
    spec = load(toy)
    assert {each.name: each.host for each in spec.operations if each.host} == {"garden.list": "shed"}
    files = render(spec)
    assert files["operations.py"].count('host="shed"') == 1
    assert "``GET /beds`` on host ``shed``" in files["endpoints.py"]
    assert "errors.ConfigurationError: host shed missing in the environment; nothing was sent." in files["endpoints.py"]


def test_read_operations_path_and_parameters_must_agree(toy: Path) -> None:
    edit(toy / "openapi.yaml", "/beds/{bed_number}:", "/beds/{bed}:")
    assert problems_of(toy) == [
        f"garden.yaml: $.paths.Bed.{method}: {name!r} must be both in the path /beds/{{bed}} and among its parameters"
        for method in ("delete", "patch")
        for name in ("bed", "bed_number")
    ]


def test_read_operations_models_in_use_must_be_listed(toy: Path) -> None:
    edit(toy / "openapi.yaml", '    Bed: {$ref: "garden.yaml#/schemas/Bed"}\n', "")
    edit(toy / "openapi.yaml", '    Harvest: {$ref: "garden.yaml#/schemas/Harvest"}\n', "")
    assert problems_of(toy) == [
        "openapi.yaml: $: components.schemas must list 'Bed', used by garden.edit_bed",
        "openapi.yaml: $: components.schemas must list 'Bed', used by garden.list",
        "openapi.yaml: $: components.schemas must list 'Harvest', used by Plant",
    ]
