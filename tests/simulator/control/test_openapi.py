import json

from openapi_spec_validator import validate

from brokerage_async.simulator.control.api import CONTROL_ROUTES, description


def test_description_is_valid_and_complete() -> None:
    document = json.loads(description())
    validate(document)
    found = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert found == {(route.method, route.path) for route in CONTROL_ROUTES}
    for path, item in document["paths"].items():
        for operation in item.values():
            assert path.count("{") == len(operation["parameters"])
            assert set(operation["responses"]) == {"200", "401", "403", "404", "422"}
    fill = document["paths"]["/orders/{order_id}/fill"]["post"]["requestBody"]["content"]["application/json"]
    assert fill["schema"] == {"$ref": "#/components/schemas/FillOrder"}
