"""Summaries, descriptions and messages of the schema read as plain English and name their units."""

import re
from collections.abc import Iterator
from typing import Any

from tests.schema.sources import schema_files
from tests.tables import for_each

FILES = schema_files()
SCHEMAS: dict[str, dict[str, Any]] = {
    name: schema for content in FILES.values() for name, schema in content.get("schemas", {}).items()
}
PROPERTIES: dict[str, dict[str, Any]] = {
    f"{name}.{field}": node for name, schema in SCHEMAS.items() for field, node in schema.get("properties", {}).items()
}
OPERATIONS: dict[str, dict[str, Any]] = {
    operation["operationId"]: operation
    for file, content in FILES.items()
    if file != "openapi.yaml"
    for item in content.get("paths", {}).values()
    for method, operation in item.items()
    if not method.startswith("x-")
}

VERBS = {
    "Cancel", "Change", "Check", "Create", "Delete", "Estimate", "Exchange", "List", "Replace", "Request", "Return",
    "Search", "Submit",
}  # fmt: skip
CLAUSES = ("What", "When", "Where", "Which", "Who", "Whose", "Why", "How", "A ", "An ", "The ")
UNITS = r"(?i)\b(dollars|points|shares|contracts|units|fraction|factor|ratio|futures per|number of)\b"
UNNATURAL = (
    r"(?i)\bwhat (is|are|was|it|they|can|does|happens)\b|\b(told|tells?)\b|\b(whoever|nobody|somebody|everybody)\b"
    r"|\b(anew|meanwhile|lest)\b|\b(is|are|was|were|be) (no|none)\b|\btexts?\b|\bleft out\b|\bset(s)? off\b"
)


def strings(node: Any) -> Iterator[str]:
    """Yield every summary, description and message within a node."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("summary", "description", "message") and isinstance(value, str):
                yield value
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


def first_sentence(description: str) -> str:
    return description.partition(". ")[0]


@for_each("name", sorted(OPERATIONS))
def test_operation_summary_is_one_imperative_sentence(name: str) -> None:
    summary = OPERATIONS[name]["summary"]
    assert summary.split()[0] in VERBS
    assert len(summary.split()) <= 12
    assert re.fullmatch(r"[^.]+\.", summary)


@for_each("name", sorted(SCHEMAS))
def test_component_description_opens_with_a_noun_phrase_on_one_line(name: str) -> None:
    description = SCHEMAS[name]["description"]
    assert not description.startswith(CLAUSES)
    assert len(first_sentence(description)) <= 100


@for_each("name", sorted(PROPERTIES))
def test_property_description_is_a_noun_phrase(name: str) -> None:
    assert not PROPERTIES[name]["description"].startswith(CLAUSES)


@for_each(
    "name",
    sorted(
        name
        for name, node in PROPERTIES.items()
        if (node.get("format") == "decimal" or node.get("type") == "number") and "rate" not in name
    ),
)
def test_decimal_property_names_its_unit(name: str) -> None:
    assert re.search(UNITS, PROPERTIES[name]["description"])


@for_each("file", sorted(FILES))
def test_strings_avoid_unnatural_phrases(file: str) -> None:
    assert [value for value in strings(FILES[file]) if re.search(UNNATURAL, value)] == []


def test_strings_are_found() -> None:
    found = [value for content in FILES.values() for value in strings(content)]
    assert len(found) > 600
    assert sum(map(len, map(str.split, found))) > 4000


@for_each(
    "phrase", ["What is sent.", "It tells when.", "Nobody knows.", "There are none.", "A text.", "Default if left out."]
)
def test_unnatural_phrases_are_recognised(phrase: str) -> None:
    assert re.search(UNNATURAL, phrase)
