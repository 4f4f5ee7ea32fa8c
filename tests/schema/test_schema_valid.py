"""The schema is valid OpenAPI and follows the conventions that the generator does not check itself."""

import re
from collections import Counter
from typing import Any

from openapi_spec_validator import validate
from openapi_spec_validator.readers import read_from_filename

from codegen.read.rules import _referenced_fields
from tests.schema.sources import FILES, FOLDER, OPERATIONS, ROOT, SCHEMAS, resolved, target, walk
from tests.tables import for_each

OBJECTS = {name: schema for name, schema in SCHEMAS.items() if "properties" in schema}
ENUMS = {name: schema for name, schema in SCHEMAS.items() if "enum" in schema}
PROPERTIES = {(name, field): value for name, schema in OBJECTS.items() for field, value in schema["properties"].items()}


def parameters(operation: dict[str, Any]) -> list[dict[str, Any]]:
    return [resolved(each) for each in operation.get("parameters", ())]


def body_name(operation: dict[str, Any]) -> str | None:
    if "requestBody" not in operation:
        return None
    return str(operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]).rpartition("/")[2]


def components_within(name: str) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += [ref.rpartition("/")[2] for node in walk(SCHEMAS[name]) if (ref := node.get("$ref"))]
    return found


BODIES = {body for _, operation in OPERATIONS.values() if (body := body_name(operation))}
REQUESTS = set().union(*map(components_within, BODIES)) - set(ENUMS)
RULES = [
    (owner, rule)
    for owner, holder in [*SCHEMAS.items(), *((name, op) for name, (_, op) in OPERATIONS.items())]
    for listed in (*holder.get("x-rules", ()), *holder.get("x-service-rules", ()))
    for rule in (listed if isinstance(listed, list) else [listed])
]

by_component = for_each("name", sorted(SCHEMAS))
by_object = for_each("name", sorted(OBJECTS))
by_operation = for_each("name", sorted(OPERATIONS))
by_rule = for_each("owner, rule", RULES)


def test_schema_is_valid_openapi() -> None:
    content, base_uri = read_from_filename(str(FOLDER / "openapi.yaml"))
    validate(content, base_uri=base_uri)


def test_root_lists_the_components_and_paths_of_all_areas() -> None:
    listed = {name: reference["$ref"] for name, reference in ROOT["components"]["schemas"].items()}
    assert listed == {name: f"{file}#/schemas/{name}" for file, content in FILES.items() for name in content["schemas"]}
    assert [n for n, times in Counter(n for c in FILES.values() for n in c["schemas"]).items() if times > 1] == []
    listed = [item["$ref"] for item in ROOT["paths"].values()]
    present = [f"{file}#/paths/{name}" for file, content in FILES.items() for name in content.get("paths", ())]
    assert sorted(listed) == sorted(present)
    assert {item["$ref"]: path for path, item in ROOT["paths"].items()} == {
        reference: target(reference)["x-path"] for reference in listed
    }
    assert extensions(ROOT) == ROOT_KEYS
    fields = {field for _, field in PROPERTIES}
    used = set().union(*(extensions(node) for content in [ROOT, *FILES.values()] for node in walk(content))) - fields
    assert used <= VOCABULARY
    assert VOCABULARY - used == set(), "unused: remove it from the vocabulary"
    listed = re.findall(r"^\| `(x-[a-z-]+)` \|", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(VOCABULARY)
    marked = [node for content in FILES.values() for node in walk(content) if "x-provenance" in node]
    sources = {"documented", "recorded", "published", "client"}
    assert {node["x-provenance"] for node in marked if "message" not in node} <= sources
    assert {node["x-provenance"] for node in marked} <= {*sources, "library"}


@for_each("file", sorted(FILES))
def test_files_have_their_two_parts(file: str) -> None:
    parts = {"common.yaml": ["schemas", "parameters", "responses"], **{name: ["schemas"] for name in STREAMS}}
    assert [part for part in FILES[file] if part not in ("x-caps", "x-keys")] == parts.get(file, ["paths", "schemas"])


STREAMS = {
    "account_events.yaml": {"ExternalTransaction", "OrderChain", "UnderlyingYearGainSummary"},
    "market_events.yaml": {name for name, schema in SCHEMAS.items() if "eventSymbol" in schema.get("properties", ())},
}
"""Files of stream messages, with the components that are whole messages."""


@by_component
def test_components_are_used_described_and_named(name: str) -> None:
    reference = re.compile(rf'#/schemas/{name}"')
    uses = sum(len(reference.findall(path.read_text("utf-8"))) for path in FOLDER.glob("*.yaml"))
    assert uses >= 2 or name in set.union(*STREAMS.values()), "only the list of components references it"
    schema = SCHEMAS[name]
    assert ("enum" in schema) != ("properties" in schema)
    assert all(schema["type"] == "string" and isinstance(value, str) for value in schema.get("enum", ()))
    assert schema["description"].endswith(".")
    assert extensions(schema) <= (ENUM_KEYS if name in ENUMS else OBJECT_KEYS)


@by_object
def test_objects_of_answers_require_nothing_and_are_described(name: str) -> None:
    properties = SCHEMAS[name]["properties"]
    assert name in REQUESTS or "required" not in SCHEMAS[name]
    descriptions = {field: value.get("description", "") for field, value in properties.items()}
    assert [field for field, line in descriptions.items() if not re.fullmatch(r".+\.", line)] == []
    assert set().union(*map(extensions, properties.values())) <= PROPERTY_KEYS
    assert "documented" not in {value.get("x-provenance") for value in properties.values()}


def test_only_bodies_of_tokens_of_other_hosts_and_market_events_have_other_property_names() -> None:
    others = {file: content["x-keys"] for file, content in FILES.items() if "x-keys" in content}
    assert others == {"oauth.yaml": "underscores", "backtests.yaml": "camel-case", "market_events.yaml": "camel-case"}


@by_operation
def test_operations_are_described_with_known_extensions(name: str) -> None:
    call, operation = OPERATIONS[name]
    found = parameters(operation)
    assert re.fullmatch(r"[A-Z][^\n]*\.", operation["summary"])
    assert operation["description"].endswith(".")
    assert all(p["description"].endswith(".") for p in found)
    assert extensions(operation) <= OPERATION_KEYS
    assert set().union(*map(extensions, found)) <= PARAMETER_KEYS
    namespace, _, method = name.partition(".")
    assert method.isidentifier()
    assert operation["tags"] == [namespace]
    assert operation.get("x-scope") in ({None} if name == "oauth.token" else {"read", "trade"})
    assert operation["x-effect"] == "read" or operation["x-scope"] == "trade"
    assert operation.get("x-environments", ["production"]) == ["production"]
    assert [p["name"] for p in found if p["in"] == "path"] == re.findall(r"{(\w+)}", call)
    assert all(p["required"] for p in found if p["in"] == "path")
    ways = [key for key in ("x-body-name", "x-flatten-body") if key in operation]
    assert len(ways) == ("requestBody" in operation)


@for_each("name", sorted(FILES["common.yaml"]["responses"]))
def test_error_responses_are_described(name: str) -> None:
    response = FILES["common.yaml"]["responses"][name]
    assert response["description"].endswith(".")
    assert response["content"]["application/json"]["schema"] == {"$ref": "#/schemas/ErrorEnvelope"}


@for_each("file", sorted(FILES))
def test_no_defaults(file: str) -> None:
    assert [node for node in walk(FILES[file]) if "default" in node] == []


OPERATION_KEYS = {
    "x-effect", "x-scope", "x-section", "x-provenance", "x-paginated", "x-result", "x-environments", "x-body-name",
    "x-flatten-body", "x-host", "x-rules", "x-service-rules", "x-version", "x-page-size", "x-default-start",
}  # fmt: skip
PARAMETER_KEYS = {"x-python-name", "x-provenance"}
OBJECT_KEYS = {
    "x-identity", "x-personal", "x-provenance", "x-restates", "x-rules", "x-section", "x-service-rules", "x-shared",
}  # fmt: skip
ENUM_KEYS = {
    "x-section", "x-provenance", "x-open-enum", "x-ignore-case", "x-enum-varnames", "x-observed", "x-transitions",
}  # fmt: skip
PROPERTY_KEYS = {"x-always", "x-provenance", "x-wire", "x-aliases"}
FILE_KEYS = {"x-caps", "x-keys", "x-path"}
ROOT_KEYS = {"x-every-response", "x-examples", "x-hosts", "x-links"}
VOCABULARY = ROOT_KEYS | FILE_KEYS | OPERATION_KEYS | PARAMETER_KEYS | OBJECT_KEYS | ENUM_KEYS | PROPERTY_KEYS


def extensions(node: dict[str, Any]) -> set[str]:
    return {key for key in node if isinstance(key, str) and key.startswith("x-")}


@for_each("name, field", sorted(key for key, value in PROPERTIES.items() if "x-aliases" in value))
def test_aliases_are_not_fields_themselves(name: str, field: str) -> None:
    assert not set(PROPERTIES[name, field]["x-aliases"]) & set(SCHEMAS[name]["properties"])


@by_operation
def test_parameters_give_a_python_signature(name: str) -> None:
    _, operation = OPERATIONS[name]
    found = parameters(operation)
    required = [p.get("required", False) for p in found]
    assert required == sorted(required, reverse=True), "required parameters are positional and come first"
    names = [p.get("x-python-name", p["name"].replace("-", "_")) for p in found]
    assert all(n.isidentifier() for n in names)
    assert len(set(names)) == len(names)
    for p in found:
        is_array = p["schema"].get("type") == "array"
        assert p["name"].endswith("[]") == (is_array and p["explode"])
        assert ("style" in p, "explode" in p) == (is_array,) * 2


@by_operation
def test_pages_and_alternatives(name: str) -> None:
    _, operation = OPERATIONS[name]
    names = {p["name"] for p in parameters(operation)}
    responses = str(operation["responses"])
    paged = {p["name"] for p in parameters(operation) if "x-provenance" not in p} | (
        names if operation.get("x-paginated") else set()
    )  # a list documented as unpaginated may be paginated on the wire. Then both parameters are observed
    assert (
        ({"page-offset", "per-page"} <= paged) == operation.get("x-paginated", False) == ("PageEnvelope" in responses)
    )
    assert ("page-offset" in names) == ("per-page" in names)
    assert ("oneOf" in responses) == ("x-result" in operation)
    assert operation.get("x-result", "one") in {"one", "many"}


def field_schema(owner: str, field: str) -> dict[str, Any]:
    """Return the schema of a field of a rule: a property of a request body or a parameter."""
    if owner in OPERATIONS:
        return next(p["schema"] for p in parameters(OPERATIONS[owner][1]) if p["name"] == field)
    if "[]." in field:
        array, _, field = field.partition("[].")
        owner = SCHEMAS[owner]["properties"][array]["items"]["$ref"].rpartition("/")[2]
    found: dict[str, Any] = SCHEMAS[owner]["properties"][field]
    return found


@by_rule
def test_rules_name_fields_and_values_that_exist(owner: str, rule: dict[str, Any]) -> None:
    assert rule["message"].endswith(".")
    assert owner in REQUESTS or owner in OPERATIONS
    assert all(field_schema(owner, field) for field in _referenced_fields(rule))
    for part in ("when", "unless", "require-value"):
        for field, values in rule.get(part, {}).items():
            enum = SCHEMAS[field_schema(owner, field)["$ref"].rpartition("/")[2]]
            assert values
            assert set(values) <= set(enum["enum"])
