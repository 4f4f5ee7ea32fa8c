"""Redoc: the definition in its page shows the fields of every answer, rows included."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .results import LISTS, Result, properties_of, run_npm

#: Start of the definition that the page shows.
DEFINITION = "const __redoc_definition = "


def run(bundle: Path, tools: Path, folder: Path) -> list[Result]:
    page = folder / "redoc.html"
    run_npm(tools, "redocly", ["build-docs", bundle, "-o", page])
    shown = definition(page.read_text("utf-8"))
    operations = {each["operationId"]: each for item in shown["paths"].values() for each in item.values()}
    hidden = tuple(name for name, operation in operations.items() if not shows_fields(shown, name, operation))
    return [Result(tool="Redoc", check="answers with fields", total=len(operations), problems=hidden)]


def definition(page: str) -> Any:
    found, _ = json.JSONDecoder().raw_decode(page, page.index(DEFINITION) + len(DEFINITION))
    return found


def shows_fields(shown: Any, name: str, operation: Any) -> bool:
    """Return whether an answer, if it has a body, has fields at every level, and a list also its rows' fields."""
    answer = next(response for status, response in operation["responses"].items() if status[0] == "2")
    if "content" not in answer:
        return True
    levels = list(fields(shown, answer["content"]["application/json"]["schema"]))
    return all(levels) and (name not in LISTS or set(properties_of(LISTS[name])) in levels)


def fields(shown: Any, schema: Any) -> Iterator[set[str]]:
    schema = schema["items"] if schema.get("type") == "array" else schema
    if schema.get("type") == "string":
        return  # a list of identifiers
    if "$ref" in schema:
        schema = shown["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        for alternative in schema["anyOf"]:
            yield from fields(shown, alternative)
        return
    properties = schema.get("properties", {})
    yield set(properties)
    for key in ("data", "items"):
        inner = properties.get(key, {})
        inner = inner.get("items", inner)
        if "$ref" in inner:
            yield from fields(shown, inner)
