"""Answers without ``allOf``: one component for each envelope around a component, and for each list of them."""

from __future__ import annotations

from typing import Any

from ..read.document import Node
from ..read.operations import json_schema, read_envelope
from .properties import property_schema, reference

_ENVELOPES = {"one": "ItemEnvelope", "many": "ListEnvelope", "page": "PageEnvelope"}


class Answers:
    """Collector of the components that answers need beside the schema's."""

    def __init__(self, root: Node) -> None:
        self._root = root
        components = root.get("components")
        schemas = components.get("schemas") if components else None
        self._written: dict[str, Node] = dict(schemas.items()) if schemas else {}
        self.components: dict[str, dict[str, Any]] = {}

    def response(self, node: Node) -> dict[str, Any]:
        """Return a success response; its content is a component, or a union of the list and the item."""
        notes = {key: value for key, value in node.members.items() if key != "content"}
        schema = json_schema(node)
        if schema is None:
            return notes
        return {**notes, "content": {"application/json": {"schema": self._flat(schema)}}}

    def _flat(self, schema: Node) -> dict[str, Any]:
        if schema.component is not None:
            return reference(schema.component)
        if schema.string("type") == "array":
            return property_schema(schema, received=False)
        one_of = schema.get("oneOf")
        forms = [read_envelope(form) for form in (one_of.elements() if one_of else [schema])]
        # The list first: it requires items, while an item of optional fields would take any object.
        forms.sort(key=lambda form: form[0] == "one")
        names = [self._envelope(shape, str(component)) for shape, component in forms]
        return reference(names[0]) if len(names) == 1 else {"anyOf": [reference(name) for name in names]}

    def _envelope(self, shape: str, component: str) -> str:
        base = _ENVELOPES[shape]
        data = component if shape == "one" else self._list(component)
        return self._copy(base, f"{component}{base}", "data", reference(data), component)

    def _list(self, component: str) -> str:
        rows = {"type": "array", "items": reference(component)}
        return self._copy("ItemList", f"{component}List", "items", rows, component)

    def _copy(self, base: str, name: str, key: str, schema: dict[str, Any], component: str) -> str:
        """Add a copy of an envelope whose property ``key`` is required and typed; return its name."""
        if base not in self._written:
            self._root.problem(f"components.schemas must list {base!r}, used by answers with {component}")
        elif name not in self.components:
            node = self._written[base]
            properties = node.unresolved("properties")
            copied = {}
            for wire in properties.members if properties else ():
                written = properties.unresolved(wire) if properties else None
                if written is not None and wire == key:
                    copied[wire] = {**schema, "description": written.string("description")}
                elif written is not None:
                    copied[wire] = property_schema(written, received=True)
            notes = {note: value for note, value in node.members.items() if note not in ("description", "properties")}
            description = f"{node.string('description').rstrip('.')}: `{component}`."
            self.components[name] = {**notes, "description": description, "required": [key], "properties": copied}
        return name
