"""Source files of the schema, parsed once for all tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codegen.read.document import Document

FOLDER = Path(__file__).parents[2] / "schema"
DOCUMENT = Document(FOLDER)

FILES: dict[str, dict[str, Any]] = DOCUMENT.files | {}
RECORDED: dict[str, dict[str, Any]] = FILES.pop("behaviours.yaml")["behaviours"]
"""Recorded behaviours, a list beside the OpenAPI document."""
ROOT = FILES.pop("openapi.yaml")

SCHEMAS: dict[str, dict[str, Any]] = {
    name: schema for content in FILES.values() for name, schema in content["schemas"].items()
}

OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    operation.value["operationId"]: (f"{method.upper()} {path}", operation.value)
    for path, item in DOCUMENT.root().items("paths")
    for method, operation in item.items()
    if not method.startswith("x-")
}
"""All operations, with method and path."""


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter or response, behind its reference if it is one."""
    return DOCUMENT.resolve(DOCUMENT.root(), node["$ref"]).members if "$ref" in node else node


def walk(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping within a node, itself included."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)
