"""Index of the schema: the lines of ``openapi.yaml`` that the files of the areas imply.

A path item with ``x-path`` and every component get a line at the end of their section, so that a new endpoint is
written into the file of its area alone. Existing lines stay unchanged, in their order.
"""

from pathlib import Path
from typing import Any

import yaml

from ..read.document import parse

INDEX = "openapi.yaml"
_PATHS_END = "\ncomponents:\n"


def render(folder: Path) -> str:
    """Return the content of the index with the lines that it lacks. The reader of the schema reports invalid YAML."""
    content = (folder / INDEX).read_text(encoding="utf-8")
    index = _parsed(content)
    sections = (index.get("paths") or {}, (index.get("components") or {}).get("schemas") or {})
    listed = {reference["$ref"] for section in sections for reference in section.values()}
    paths: list[str] = []
    components: list[str] = []
    for file in sorted(folder.glob("*.yaml")):
        area = {} if file.name == INDEX else _parsed(file.read_text(encoding="utf-8"))
        for name, item in (area.get("paths") or {}).items():
            if (target := f"{file.name}#/paths/{name}") not in listed and isinstance(item, dict) and "x-path" in item:
                paths.append(f'\n  {item["x-path"]}: {{$ref: "{target}"}}')
        targets = {name: f"{file.name}#/schemas/{name}" for name in area.get("schemas") or {}}
        components += [f'    {name}: {{$ref: "{each}"}}\n' for name, each in targets.items() if each not in listed]
    before, separator, after = content.partition(_PATHS_END)
    if not separator:
        return content
    listing = before.rstrip("\n")
    gap = before[len(listing) :]
    return "".join([listing, *paths, gap, separator, after, *components])


def _parsed(content: str) -> dict[str, Any]:
    try:
        found = parse(content)
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}
