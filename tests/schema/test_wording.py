"""Summaries, descriptions and messages of the schema read as plain English and name their units."""

import re
from collections.abc import Iterator
from typing import Any

from tests.schema.sources import FILES, OPERATIONS, ROOT, SCHEMAS
from tests.tables import for_each

PROPERTIES: dict[str, dict[str, Any]] = {
    f"{name}.{field}": node for name, schema in SCHEMAS.items() for field, node in schema.get("properties", {}).items()
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
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("summary", "description", "message") and isinstance(value, str):
                yield value
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


@for_each("name", sorted(OPERATIONS))
def test_operation_summary_is_one_imperative_sentence(name: str) -> None:
    summary = OPERATIONS[name][1]["summary"]
    assert summary.split()[0] in VERBS
    assert len(summary.split()) <= 12
    assert re.fullmatch(r"[^.]+\.", summary)


@for_each("name", sorted(SCHEMAS))
def test_component_description_opens_with_a_noun_phrase_on_one_line(name: str) -> None:
    description = SCHEMAS[name]["description"]
    assert not description.startswith(CLAUSES)
    assert len(description.partition(". ")[0]) <= 100


@for_each("name, node", sorted(PROPERTIES.items()))
def test_property_description_is_a_noun_phrase_with_its_unit(name: str, node: dict[str, Any]) -> None:
    assert not node["description"].startswith(CLAUSES)
    is_decimal = node.get("format") == "decimal" or node.get("type") == "number"
    assert not is_decimal or "rate" in name or re.search(UNITS, node["description"])


def test_strings_avoid_unnatural_phrases() -> None:
    found = [value for content in (ROOT, *FILES.values()) for value in strings(content)]
    assert [value for value in found if re.search(UNNATURAL, value)] == []
    assert len(found) > 600
    assert sum(map(len, map(str.split, found))) > 4000
    phrases = ["What is sent.", "It tells when.", "Nobody knows.", "There are none.", "A text.", "Default if left out."]
    assert [phrase for phrase in phrases if not re.search(UNNATURAL, phrase)] == []
