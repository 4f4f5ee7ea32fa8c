"""Source files of the schema, parsed once for all tests."""

from functools import cache
from pathlib import Path
from typing import Any

from codegen.read.document import parse

__all__ = ["FOLDER", "schema_files"]

FOLDER = Path(__file__).parents[2] / "schema"


def schema_files() -> dict[str, dict[str, Any]]:
    """Return the content of every file by name, in a new dict that the caller may change."""
    return dict(_parsed())


@cache
def _parsed() -> dict[str, dict[str, Any]]:
    return {
        path.name: parse(path.read_text("utf-8"))
        for path in FOLDER.glob("*.yaml")
        if path.name != "behaviours.yaml"  # a list beside the OpenAPI document
    }
