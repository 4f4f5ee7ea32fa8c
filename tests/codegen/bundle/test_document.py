"""The bundle of the toy schema: one document, with components for its answers. `tests/schema` tries the real one."""

import json
from pathlib import Path

from codegen.bundle.document import bundle, render
from codegen.read.document import Document
from tests.codegen.support import TOY, edit


def test_bundle_shares_what_operations_refer_to_and_names_their_answers() -> None:
    garden = bundle(Document(TOY))
    assert json.loads(render(Document(TOY))) == garden
    assert list(garden) == ["openapi", "info", "tags", "paths", "components"]
    bed, beds = garden["paths"]["/beds/{bed_number}"], garden["paths"]["/beds"]
    assert bed["patch"]["parameters"] == bed["delete"]["parameters"] == [{"$ref": "#/components/parameters/BedNumber"}]
    assert bed["patch"]["responses"]["404"] == {"$ref": "#/components/responses/NotFound"}
    assert bed["delete"]["responses"]["204"] == {"description": "Bed removed."}
    schema = beds["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert [each["$ref"].rpartition("/")[2] for each in schema["anyOf"]] == ["BedListEnvelope", "BedItemEnvelope"]
    schemas = garden["components"]["schemas"]
    assert {"ItemEnvelope", "ListEnvelope", "PageEnvelope", "ItemList"} & schemas.keys() == set()
    assert schemas["BedItemEnvelope"]["required"] == ["data"]
    assert schemas["PlantList"]["required"] == ["items"]
    crop = schemas["Bed"]["properties"]["crop"]
    assert (crop["x-alias-of"], crop["description"]) == ("plants", "Another key of `plants`.")
    assert "x-aliases" not in crop
    assert schemas["NewPlant"]["properties"]["season"]["$ref"] == "#/components/schemas/Season"
    plant = schemas["Plant"]["properties"]
    assert plant["secret-recipe"]["format"] == "password"
    words = [{"type": "string", "enum": [word]} for word in ("NaN", "")]
    assert plant["sown"]["anyOf"] == [{"type": "string"}, words[1], {"type": "null"}]
    assert plant["price"]["anyOf"][1:] == [*words, {"type": "null"}]


def test_bundle_adds_common_responses_links_and_the_server_of_another_host(toy: Path) -> None:
    value = "/data/items/0/number"
    link = f"{{from: garden.list, value: {value}, parameter: bed_number, to: [garden.remove]}}"
    common = '{"418": {$ref: "common.yaml#/responses/NotFound"}}'
    edit(
        toy / "openapi.yaml", "tags:", f"x-every-response: {common}\nx-links: [{link}]\nx-hosts: {{nursery: N.}}\ntags:"
    )
    edit(toy / "garden.yaml", "operationId: garden.list", "operationId: garden.list\n      x-host: nursery")
    paths = bundle(Document(toy))["paths"]
    operations = [each for item in paths.values() for each in item.values()]
    assert [each["responses"]["418"] for each in operations] == [{"$ref": "#/components/responses/NotFound"}] * 5
    parameters = {"bed_number": f"$response.body#{value}"}
    listed = paths["/beds"]["get"]
    links = {"garden.remove": {"operationId": "garden.remove", "parameters": parameters}}
    assert listed["responses"]["200"]["links"] == links
    assert listed["servers"][0]["variables"]["base_url"]["default"] == "https://nursery.invalid"
