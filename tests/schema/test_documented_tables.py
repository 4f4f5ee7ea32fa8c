"""The schema matches the service's documentation: every field, type, value, parameter, status and rule.

`documented.yaml` is typed by hand from the documentation and says how to read it. Everything else in the schema has
another ``x-provenance``, on its own or on the component or operation that holds it.
"""

from pathlib import Path
from typing import Any

from codegen.read.document import parse
from tests.schema.sources import OPERATIONS, SCHEMAS, resolved
from tests.tables import for_each

DOCUMENTED = parse((Path(__file__).parent / "documented.yaml").read_text("utf-8"))
TABLES: dict[str, list[list[str]]] = {
    name: [row.split() for row in rows.split(", ") if row] for name, rows in DOCUMENTED["components"].items()
}
ENUMS: dict[str, str] = DOCUMENTED["enumerations"]
ENDPOINTS: dict[str, dict[str, Any]] = DOCUMENTED["endpoints"]
RULES: dict[str, list[dict[str, Any]]] = DOCUMENTED["rules"]

SECTIONS = {
    "Common conventions", "Order", "Complex order", "Placed-order response", "Watchlist", "Quote alert",
    "Equity instrument", "Equity option instrument", "Future option instrument", "Warrant", "Corporate-event items",
    "Holiday calendar", "Session timings", "Margin reports", "States and transitions", "Token", "Market time",
    "Market metrics", "Instruments", "Orders", "Transactions", "Margin", "Watchlists", "Quote alerts",
    "Pagination and sorting", "Authentication", "Errors",
}  # fmt: skip


WORDS = {"bool": "boolean", "int": "integer", "numeric": "decimal", "numeric-string": "string"}
READINGS = {"decimal", "date-time"}  # readings of a documented string, besides enumerations


def table(name: str) -> dict[str, str]:
    """Return the fields and documented types of a table, without the stars of required fields."""
    return {field.rstrip("*"): word for field, word in TABLES[name]}


def expected(word: str) -> str:
    """Return the schema type of a documented type."""
    word = word.removeprefix("?").rpartition(":")[2]
    return WORDS.get(word, word)


def actual(node: dict[str, Any]) -> str:
    """Return the type of a property or parameter, as written in the tables."""
    if "$ref" in node:
        return str(node["$ref"]).rpartition("/")[2]
    if node.get("type") == "array":
        return f"[{actual(node['items'])}]"
    kind = str(node.get("format") or node.get("type", "any"))
    return "string" if kind == "password" else kind


def documented(name: str) -> dict[str, str]:
    """Return the documented properties of a component, with their types."""
    properties = SCHEMAS[name]["properties"].items()
    return {field: actual(node) for field, node in properties if is_documented(node, SCHEMAS[name])}


def is_documented(node: dict[str, Any], owner: dict[str, Any] | None = None) -> bool:
    """Return whether the documentation contains a node: by its own provenance, else by its owner's."""
    inherited = "documented" if owner is None else owner.get("x-provenance", "documented")
    return bool(node.get("x-provenance", inherited) == "documented")


def answer(schema: dict[str, Any]) -> str:
    """Return the content of a success body, as written in the endpoint table."""
    if "$ref" in schema or schema.get("type") == "array":
        return actual(schema)
    if "oneOf" in schema:
        return " or ".join(sorted(map(answer, schema["oneOf"]), key=lambda form: form.startswith("[")))
    envelope = actual(schema["allOf"][0])
    data = schema["properties"]["data"]
    if envelope == "ItemEnvelope":
        return actual(data)
    item = actual(data["properties"]["items"]["items"])
    return {"ListEnvelope": f"[{item}]", "PageEnvelope": f"pages of {item}"}[envelope]


def json_schema(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["content"]["application/json"]["schema"]
    return found


def bare(rule: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in rule.items() if key != "message"}


def test_documented_components_operations_rules_and_sections_are_those_of_the_tables() -> None:
    present = {name for name, schema in SCHEMAS.items() if is_documented(schema)}
    assert present == (set(TABLES) | set(ENUMS))
    present = {name for name, (_, operation) in OPERATIONS.items() if is_documented(operation)}
    assert present == set(ENDPOINTS)
    restricted = {name for name, (_, operation) in OPERATIONS.items() if "x-environments" in operation}
    assert {name for name in restricted if name in ENDPOINTS} == {"margin.dry_run", "margin.requirements"}
    holders = {**SCHEMAS, **{name: operation for name, (_, operation) in OPERATIONS.items()}}
    assert {name for name, holder in holders.items() if "x-rules" in holder and is_documented(holder)} == set(RULES)
    holders = [*SCHEMAS.values(), *(operation for _, operation in OPERATIONS.values())]
    assert {holder["x-section"] for holder in holders if "x-section" in holder} == SECTIONS


@for_each("name", TABLES)
def test_fields_their_order_types_and_readings(name: str) -> None:
    fields, rows = documented(name), table(name)
    assert fields == {field: expected(word) for field, word in rows.items()}
    if name != "MarginDryRun":  # documented in prose, without an order
        assert list(fields) == list(rows)
    read_as = {word.partition(":")[2] for word in rows.values() if word.startswith("string:")}
    assert read_as <= READINGS | set(ENUMS)
    starred = [field[:-1] for field, _ in TABLES[name] if field.endswith("*")]
    assert sorted(SCHEMAS[name].get("required", [])) == sorted(starred)


@for_each("name, count", DOCUMENTED["counts"].items())
def test_number_of_documented_fields(name: str, count: int) -> None:
    assert len(documented(name)) == count


@for_each("name", ENUMS)
def test_documented_values(name: str) -> None:
    schema = SCHEMAS[name]
    assert [value for value in schema["enum"] if value not in schema.get("x-observed", ())] == ENUMS[name].split(", ")


@for_each("place, values", DOCUMENTED["request-values"].items())
def test_values_that_a_request_may_carry(place: str, values: str) -> None:
    name, field = place.split()
    holder = "NewOrderLeg" if field.startswith("legs[].") else name
    enum = SCHEMAS[actual(SCHEMAS[holder]["properties"][field.removeprefix("legs[].")])]["enum"]
    refusals = [rule["when"] for rule in rules_of(SCHEMAS[name]) if rule.get("forbid") == [field] and "when" in rule]
    refused = {value for when in refusals if list(when) == [field] for value in when[field]}
    assert set(enum) - refused == set(values.split(", "))


@for_each("name, row", ENDPOINTS.items())
def test_call_success_errors_body_and_parameters(name: str, row: dict[str, Any]) -> None:
    call, operation = OPERATIONS[name]
    responses = {int(status): content for status, content in operation["responses"].items()}
    (success,) = [status for status in responses if status // 100 == 2]
    body = json_schema(operation["requestBody"]) if "requestBody" in operation else None
    assert (call, success) == (row["call"], row["status"])
    assert answer(json_schema(responses.pop(success))) == row["answer"]
    assert (actual(body) if body else None) == row.get("body")
    errors = {status for status, content in responses.items() if is_documented(resolved(content))}
    assert errors == {int(status) for status in row["errors"].split()} | general_errors(name)
    kinds = {"['integer', 'string']": "integer"}  # documented as integers, any `str` is accepted too
    parameters = {
        each["name"] + "*" * each.get("required", False): kinds.get(actual(each["schema"]), actual(each["schema"]))
        for each in map(resolved, operation.get("parameters", ()))
        if is_documented(each)
    }
    assert parameters == dict(each.split(":") for each in row.get("parameters", "").split(", ") if each)


def general_errors(name: str) -> set[int]:
    """Return the errors that the documentation has for all endpoints, as far as they can occur at one."""
    _, operation = OPERATIONS[name]
    errors = {406}
    errors |= {403} if "x-scope" in operation else set()  # a token that does not cover the operation
    errors |= {404} if "{account_number}" in ENDPOINTS[name]["call"] else set()  # an unknown account
    query = [one for one in map(resolved, operation.get("parameters", ())) if one["in"] == "query"]
    kinds = {one["schema"].get("type") for one in query}
    errors |= {400} if kinds & {"integer", "boolean"} else set()  # a malformed page or filter value
    # A missing parameter, or parameters that contradict each other.
    errors |= {422} if any(one.get("required") for one in query) or "x-rules" in operation else set()
    return errors


def rules_of(holder: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rules of a body or an operation, with nested lists flattened."""
    return [rule for listed in holder["x-rules"] for rule in (listed if isinstance(listed, list) else [listed])]


@for_each("name", RULES)
def test_documented_rules(name: str) -> None:
    holder = OPERATIONS[name][1] if name in OPERATIONS else SCHEMAS[name]
    present = [bare(rule) for rule in rules_of(holder) if rule.get("x-provenance", "documented") == "documented"]
    assert sorted(present, key=str) == sorted(RULES[name], key=str)
