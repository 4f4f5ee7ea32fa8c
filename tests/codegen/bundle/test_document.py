"""The bundle of the toy schema: one document, with components for its answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.bundle.document import bundle, render
from codegen.read.document import Document, SchemaError
from tests.codegen.support import TOY, edit


@pytest.fixture(scope="module")
def garden() -> dict[str, Any]:
    return bundle(Document(TOY))


def test_bundle_is_whole_shared_and_typed(garden: dict[str, Any]) -> None:
    assert render(Document(TOY)) == render(Document(TOY))
    assert json.loads(render(Document(TOY))) == bundle(Document(TOY))
    assert ".yaml" not in json.dumps(garden)
    assert list(garden) == ["openapi", "info", "tags", "paths", "components"]
    bed = garden["paths"]["/beds/{bed_number}"]
    assert bed["patch"]["parameters"] == bed["delete"]["parameters"] == [{"$ref": "#/components/parameters/BedNumber"}]
    assert bed["patch"]["responses"]["404"] == {"$ref": "#/components/responses/NotFound"}
    assert garden["components"]["responses"]["NotFound"] == {"description": "Resource not found."}
    names = garden["components"]["schemas"].keys()
    assert {"BedItemEnvelope", "BedListEnvelope", "BedList", "PlantPageEnvelope", "PlantList"} <= names
    assert {"ItemEnvelope", "ListEnvelope", "PageEnvelope", "ItemList"} & names == set()
    properties = garden["components"]["schemas"]["Bed"]["properties"]
    assert properties["crop"]["items"] == properties["plants"]["items"]
    assert {key: properties["crop"][key] for key in ("type", "x-alias-of", "description")} == {
        "type": ["array", "null"],
        "x-alias-of": "plants",
        "description": "Another key of `plants`.",
    }
    assert "x-aliases" not in properties["crop"]
    schemas = garden["components"]["schemas"]
    assert schemas["NewPlant"]["properties"]["season"]["$ref"] == "#/components/schemas/Season"
    assert schemas["NewLabel"]["properties"]["text"]["type"] == "string"
    assert {"type": "string"} in schemas["Plant"]["properties"]["season"]["anyOf"]
    assert schemas["Harvest"]["properties"]["kilograms"]["type"] == ["string", "null"]


def test_bundle_adds_the_responses_that_every_operation_has(toy: Path) -> None:
    edit(toy / "openapi.yaml", "tags:", 'x-every-response: {"418": {$ref: "common.yaml#/responses/NotFound"}}\ntags:')
    operations = [each for item in bundle(Document(toy))["paths"].values() for each in item.values()]
    assert len(operations) == 5
    assert all(each["responses"]["418"] == {"$ref": "#/components/responses/NotFound"} for each in operations)


def test_bundle_rejects_a_component_with_the_name_of_an_answer(toy: Path) -> None:
    for path in (toy / "openapi.yaml", toy / "garden.yaml"):
        path.write_text(path.read_text().replace("Harvest", "PlantList"))
    with pytest.raises(SchemaError, match="component 'PlantList' has the name of the component of an answer"):
        bundle(Document(toy))


def test_bundle_rejects_different_parameters_of_one_name(toy: Path) -> None:
    other = "parameters:\n  BedNumber: {name: bed_number, in: path, required: true, schema: {type: string}}\n"
    edit(toy / "garden.yaml", "paths:\n", f"{other}paths:\n")
    edit(toy / "garden.yaml", "common.yaml#/parameters/BedNumber", "#/parameters/BedNumber")
    with pytest.raises(SchemaError, match="another file has different parameters of that name"):
        bundle(Document(toy))


def test_bundle_rejects_an_example_for_an_unknown_property(toy: Path) -> None:
    edit(toy / "openapi.yaml", "tags:", "x-examples: {name: Rosa, Plant.colour: red}\ntags:")
    problem = r"x-examples must list properties, components and parameters, got 'Plant.colour'"
    with pytest.raises(SchemaError, match=problem):
        bundle(Document(toy))


def test_bundle_rejects_references_to_components_that_are_not_listed(toy: Path) -> None:
    described = 'NotFound: {description: "Resource not found."'
    content = 'content: {application/json: {schema: {$ref: "garden.yaml#/schemas/Frost"}}}'
    edit(toy / "common.yaml", f"{described}}}", f"{described}, {content}}}")
    with pytest.raises(SchemaError, match=r"components.schemas must list 'Frost', which the schema refers to"):
        bundle(Document(toy))


def test_operation_on_another_host_has_a_server_of_its_own(toy: Path) -> None:
    edit(toy / "garden.yaml", "operationId: garden.list", "operationId: garden.list\n      x-host: nursery")
    [server] = bundle(Document(toy))["paths"]["/beds"]["get"]["servers"]
    assert server["variables"]["base_url"]["default"] == "https://nursery.invalid"
