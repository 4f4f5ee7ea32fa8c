"""The bundled schema suits other tools: flat answers, typed rows, wire forms as unions, valid examples."""

import json
import re
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from openapi_spec_validator import validate

from brokerage_async._generated.converters import WIRES
from brokerage_async._generated.operations import OPERATIONS, REQUEST_MODELS
from brokerage_async.operation import Shape
from brokerage_async.protocol.decoding.fields import WireField, wire_fields
from tests.schema import bundle
from tests.schema.sources import walk
from tests.tables import for_each

MODELS = {model.__name__: wire for model, wire in WIRES.items()}
RECEIVED = sorted(MODELS.keys() - {model.__name__ for model in REQUEST_MODELS})


@cache
def validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator({**json.loads(schema), "components": bundle.BUNDLE["components"]})


def misfit(schema: dict[str, Any], value: Any) -> str | None:
    """Return why a value does not fit a schema, None if it does."""
    error = best_match(validator(json.dumps(schema)).iter_errors(value))
    return None if error is None else f"{error.json_path}: {error.message}"


def test_bundle_is_valid_and_complete_with_valid_examples() -> None:
    references = {node["$ref"] for node in walk(bundle.BUNDLE) if isinstance(node.get("$ref"), str)}
    assert {reference.split("/")[0] for reference in references} == {"#"}
    assert all(bundle.resolved({"$ref": reference}) for reference in references)
    assert [key for key in ('"allOf"', '"oneOf"', ".yaml#") if key in bundle.SOURCE] == []
    assert bundle.OPERATIONS.keys() == OPERATIONS.keys()
    for name, operation in bundle.OPERATIONS.items():
        statuses = {"401", "406", "429", "5XX"} | ({"403"} if OPERATIONS[name].scope else set())
        assert statuses <= operation["responses"].keys(), name
    for name, schema in bundle.SCHEMAS.items():
        [example] = schema["examples"]
        assert example, name
        assert misfit({"$ref": f"#/components/schemas/{name}"}, example) is None, name
    assert takes(bundle.SCHEMAS["Order"]["properties"]["status"], "On Hold")
    assert not takes(bundle.SCHEMAS["NewOrder"]["properties"]["order-type"], "On Hold")
    decimals = [node for node in walk(bundle.SCHEMAS) if node.get("format") == "decimal"]
    assert len(decimals) > 300
    assert all("pattern" in node for node in decimals)
    price = bundle.SCHEMAS["NewOrder"]["properties"]["price"]
    assert all(takes(price, value) for value in ("1.25", "-0.5", "10", "1e3"))
    assert not any(takes(price, value) for value in ("", "1_000", "NaN", ".5", 1.25, None))
    assert len([*bundle.answers()]) > 140
    assert len([*bundle.requests()]) > 25
    validate(bundle.BUNDLE)


@for_each("name", sorted(OPERATIONS))
def test_answer_is_a_component_whose_rows_have_properties(name: str) -> None:
    operation = OPERATIONS[name]
    rows = bundle.row_components(name)
    is_list = operation.shape in (Shape.MANY, Shape.PAGE, Shape.BARE_MANY)
    assert not is_list or operation.result not in WIRES or rows
    assert operation.result is None or all(row == operation.result.__name__ for row in rows)
    answer = bundle.success_schema(name)
    assert (answer is None) == (operation.shape is Shape.NONE)
    components = [bundle.resolved(each) for each in bundle.alternatives(answer or {}) if "$ref" in each]
    for component in (*components, *(bundle.SCHEMAS[row] for row in rows)):
        assert component["type"] == "object"
        assert component["properties"]
    assert components or is_list or answer is None


def takes(schema: dict[str, Any], value: Any) -> bool:
    return misfit(schema, value) is None


#: A value of each scalar that a wire struct decodes, and of each wire form that the schema declares.
SCALARS = {"decimal": "1.5", "int": 7, "bool": True, "date": "2026-06-12", "datetime": "2026-06-12T14:30:00Z"}
FORMS = {
    "integer": 7, "number": 7.5, "nan": "NaN", "non-finite": "-Infinity", "empty": "", "epoch-ms": 1773068402125,
    "epoch-day": 20455, "zero": 0, "minus-one": -1, "loose": "2026-03-02 14:35:00+00",
    "date-text": "2026-06-12 and later", "mapping": {"AAPL": {}},
}  # fmt: skip


def wire_values(field: WireField, declared: list[str]) -> list[Any]:
    """Return a value of each JSON form of a field, but for enumerations and raw objects."""
    if field.child is not None:
        return [[{}]] if field.many else [{}]
    word = "7" if "int" in field.scalars else "true" if "bool" in field.scalars else "x"
    scalars = {**SCALARS, "str": word}
    if "datetime" in field.scalars and not {"epoch-ms", "zero", "minus-one"} & set(declared):
        del scalars["int"]  # decoded by the struct of every loose date-time
    forms = [scalars[scalar] for scalar in field.scalars if scalar in scalars]
    forms = [[form] for form in forms] if field.many else forms
    return [*forms, *(FORMS[form] for form in declared if form in FORMS and not (field.many and form == "integer"))]


def letters(key: str) -> str:
    return re.sub("[-_]", "", key).lower()


def test_no_inline_union_is_named_like_a_component() -> None:
    """Generators name it by its place: `status` of `Order` would be `OrderStatus`, a union of itself."""
    titled = {f"{name}.{key}": each["title"] for name, schema in bundle.SCHEMAS.items()
              for key, each in schema.get("properties", {}).items() if "title" in each}  # fmt: skip
    assert titled == {
        "Backtest.status": "BacktestStatusOrOther",
        "ComplexOrder.type": "ComplexOrderTypeOrOther",
        "Order.status": "OrderStatusOrOther",
        "TimeAndSale.type": "TimeAndSaleTypeOrOther",
    }


@for_each("name", RECEIVED)
def test_every_wire_form_of_a_received_property_is_in_its_union(name: str) -> None:
    """Compare with the forms that the generated wire structs decode, the other reader of ``x-wire``."""
    properties = bundle.SCHEMAS[name]["properties"]
    fields, shown = wire_fields(MODELS[name]), {letters(key) for key in properties}
    # Generators give no separate name to an alias that differs only in case, dashes and underscores.
    fields = {key: field for key, field in fields.items() if key in properties or letters(key) not in shown}
    assert properties.keys() == fields.keys()
    for key, field in fields.items():
        schema = properties[key]
        values = wire_values(field, schema.get("x-wire", []))
        assert [value for value in [None, *values] if not takes(schema, value)] == [], key
        assert not takes(schema, [[]]), key


@for_each("body", [*bundle.answers(), *bundle.requests()])
def test_body_of_a_vector_is_valid(body: Any) -> None:
    assert misfit(body.schema, json.loads(body.source)) is None
