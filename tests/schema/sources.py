"""Source files of the schema, parsed once for all tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codegen.read.document import parse

FOLDER = Path(__file__).parents[2] / "schema"


FILES: dict[str, dict[str, Any]] = {
    path.name: parse(path.read_text("utf-8"))
    for path in FOLDER.glob("*.yaml")
    if path.name != "behaviours.yaml"  # a list beside the OpenAPI document
}
ROOT = FILES.pop("openapi.yaml")


SCHEMAS: dict[str, dict[str, Any]] = {
    name: schema for content in FILES.values() for name, schema in content["schemas"].items()
}


def target(reference: str) -> Any:
    """Return the target of an absolute reference such as ``orders.yaml#/paths/AccountOrders``."""
    file, _, pointer = reference.partition("#/")
    section, name = pointer.split("/")
    return FILES[file][section][name]


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter or response, behind its reference if it is one."""
    found: dict[str, Any] = target(node["$ref"]) if "$ref" in node else node
    return found


def walk(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping within a node, itself included."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)


OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    operation["operationId"]: (f"{method.upper()} {path}", operation)
    for path, item in ROOT["paths"].items()
    for method, operation in target(item["$ref"]).items()
    if not method.startswith("x-")
}
"""All operations, with method and path."""
