"""The schema is valid OpenAPI and keeps its conventions; recorded behaviours have tests and switches that are read."""

import re
from pathlib import Path
from typing import Any

from openapi_spec_validator import validate
from openapi_spec_validator.readers import read_from_filename

from brokerage_async._generated import operations as generated
from brokerage_async._generated.behaviours import BEHAVIOURS, SWITCHES
from brokerage_async.simulator import Simulator
from codegen.read.vocabulary import EXTENSIONS
from tests.protocol.values import raised
from tests.schema.sources import FILES, FOLDER, OPERATIONS, RECORDED, ROOT, SCHEMAS, resolved, walk

OBJECTS = {name: schema for name, schema in SCHEMAS.items() if "properties" in schema}
PROPERTIES = {(name, field): value for name, schema in OBJECTS.items() for field, value in schema["properties"].items()}
PARAMETERS = {name: [resolved(each) for each in op.get("parameters", ())] for name, (_, op) in OPERATIONS.items()}
UNITS = r"(?i)\b(dollars|points|shares|contracts|units|fraction|factor|ratio|futures per|number of)\b"


def components_within(node: Any) -> set[str]:
    """Return the components that a node refers to, also through others."""
    found: set[str] = set()
    pending = [node]
    while pending:
        names = {ref.rpartition("/")[2] for each in walk(pending.pop()) if (ref := each.get("$ref"))} - found
        found |= names
        pending += [SCHEMAS[name] for name in names]
    return found


REQUESTS = components_within([op.get("requestBody") for _, op in OPERATIONS.values()]) & OBJECTS.keys()
RULES = [
    (owner, rule)
    for owner, holder in [*SCHEMAS.items(), *((name, op) for name, (_, op) in OPERATIONS.items())]
    for listed in (*holder.get("x-rules", ()), *holder.get("x-service-rules", ()))
    for rule in (listed if isinstance(listed, list) else [listed])
]


def test_schema_is_valid_openapi_with_a_listed_vocabulary() -> None:
    content, base_uri = read_from_filename(str(FOLDER / "openapi.yaml"))
    validate(content, base_uri=base_uri)
    listed = re.findall(r"^\| `(x-[a-z-]+)` \|", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(EXTENSIONS)


MESSAGES = {"ExternalTransaction", "OrderChain", "UnderlyingYearGainSummary"}
"""Components that are whole messages of a stream, beside those with ``eventSymbol``."""


def test_components_are_used_and_those_of_answers_require_nothing() -> None:
    text = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.yaml"))
    unused = {name for name in SCHEMAS if text.count(f'#/schemas/{name}"') < 2}  # once in the list of components
    events = {name for name, schema in OBJECTS.items() if "eventSymbol" in schema["properties"]}
    assert unused <= MESSAGES | events
    assert {name for name, schema in OBJECTS.items() if "required" in schema} <= REQUESTS
    aliased = {key: set(value["x-aliases"]) for key, value in PROPERTIES.items() if "x-aliases" in value}
    assert [key for key, aliases in aliased.items() if aliases & OBJECTS[key[0]]["properties"].keys()] == []
    assert [node for content in FILES.values() for node in walk(content) if "default" in node] == []


def test_words_are_sentences_and_amounts_have_units() -> None:
    words = [node[key] for content in (ROOT, *FILES.values()) for node in walk(content)
             for key in ("summary", "description", "message") if isinstance(node.get(key), str)]  # fmt: skip
    assert [line for line in words if not line.endswith(".")] == []
    summaries = [operation["summary"] for _, operation in OPERATIONS.values()]
    assert [each for each in summaries if len(each.split()) > 12 or not re.fullmatch(r"[A-Z][^.]+\.", each)] == []
    amounts = {key: value for key, value in PROPERTIES.items() if value.get("format") == "decimal"}
    amounts |= {key: value for key, value in PROPERTIES.items() if value.get("type") == "number"}
    unitless = [key for key, value in amounts.items() if not re.search(UNITS, value["description"])]
    assert [key for key in unitless if "rate" not in ".".join(key)] == []


def test_operations_have_a_python_signature() -> None:
    for name, (_, operation) in OPERATIONS.items():
        namespace, _, method = name.partition(".")
        assert operation["tags"] == [namespace], name
        assert method.isidentifier(), name
        assert operation.get("x-environments", ["production"]) == ["production"], name
        ways = [key for key in ("x-body-name", "x-flatten-body") if key in operation]
        assert len(ways) == ("requestBody" in operation), name
        found = PARAMETERS[name]
        required = [each.get("required", False) for each in found]
        assert required == sorted(required, reverse=True), f"{name}: required parameters are positional and come first"
        assert all(each["required"] for each in found if each["in"] == "path"), name
        names = [each.get("x-python-name", each["name"].replace("-", "_")) for each in found]
        assert all(each.isidentifier() for each in names), name
        assert len(set(names)) == len(names), name
        arrays = [each["schema"].get("type") == "array" for each in found]
        assert [("style" in each, "explode" in each) for each in found] == [(array, array) for array in arrays], name
        paged = {each["name"] for each in found} & {"page-offset", "per-page"}
        assert len(paged) == 2 or not (paged or operation.get("x-paginated")), name


def field_schema(owner: str, field: str) -> dict[str, Any]:
    """Return the schema of a field of a rule: a property of a request body or a parameter."""
    if owner in OPERATIONS:
        return next(each["schema"] for each in PARAMETERS[owner] if each["name"] == field)
    if "[]." in field:
        array, _, field = field.partition("[].")
        owner = SCHEMAS[owner]["properties"][array]["items"]["$ref"].rpartition("/")[2]
    found: dict[str, Any] = SCHEMAS[owner]["properties"][field]
    return found


def test_rules_are_those_of_requests_and_name_values_that_exist() -> None:
    assert {owner for owner, _ in RULES} <= REQUESTS | OPERATIONS.keys()
    for owner, rule in RULES:
        for part in ("when", "unless", "require-value"):
            for field, values in rule.get(part, {}).items():
                enum = SCHEMAS[field_schema(owner, field)["$ref"].rpartition("/")[2]]
                assert set() < set(values) <= set(enum["enum"]), (owner, rule)


def test_behaviours_name_tests_that_exist_and_switches_that_the_simulator_reads() -> None:
    for name, entry in RECORDED.items():
        file, _, function = entry["test"].partition("::")
        assert not function or f"def {function}(" in (FOLDER.parent / file).read_text("utf-8"), name
    holders = [*generated.REQUEST_MODELS.values(), *generated.OPERATIONS.values()]
    rules = [rule for holder in holders for rule in (*holder.rules, *holder.service_rules)]
    used = {rule.behaviour for rule in rules}
    simulator = Path(generated.__file__).parents[1] / "simulator"
    source = "".join(path.read_text("utf-8") for path in simulator.rglob("*.py"))
    assert [name for name in SWITCHES if name not in used and f'"{name}"' not in source] == []


def test_simulator_without_unknown_behaviour_is_refused() -> None:
    for name in ("no_such_thing", *(BEHAVIOURS.keys() - SWITCHES)):
        raised(ValueError, Simulator, without=[name], match="without must name behaviours")
