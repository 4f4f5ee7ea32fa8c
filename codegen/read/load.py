"""Reads the schema folder into a Spec, or says everything that is wrong with it at once."""

from __future__ import annotations

from pathlib import Path

from ..naming import constant, snake
from ..spec import Enum, Field, Model, Spec
from .document import Document, Node, SchemaError
from .operations import read_operations
from .rules import read_rules
from .types import read_type
from .vocabulary import check_words

__all__ = ["SchemaError", "load"]

#: What surrounds the resources of an answer; the codec knows these shapes, no class is made of them.
ENVELOPES = ("ItemEnvelope", "ListEnvelope", "PageEnvelope", "ItemList", "ErrorEnvelope")

#: Names that the generated classes need for themselves: the type of another field, say.
RESERVED = {
    "any",
    "attrs",
    "bool",
    "build",
    "date",
    "datetime",
    "dict",
    "extra",
    "int",
    "list",
    "of",
    "self",
    "str",
    "tuple",
}


def load(folder: Path) -> Spec:
    """The schema in ``folder``. Raises SchemaError with one line per problem: file, JSON path, reason."""
    document = Document(folder)
    if document.problems:
        raise SchemaError(document.problems)
    check_words(document)
    models: dict[str, Model] = {}
    enums: dict[str, Enum] = {}
    root = document.root()
    for listed, schema in (root.get("components") or root).items():
        if listed == "schemas":
            for name, component in schema.items():
                _read_component(name, component, models, enums)
    operations = read_operations(root, models, enums)
    tags = root.get("tags")
    namespaces = {tag.text("name"): tag.text("description") for tag in tags.elements()} if tags else {}
    for operation in operations:
        if operation.namespace not in namespaces:
            root.problem(f"tags: there is none for {operation.namespace!r}, the namespace of {operation.name}")
    if document.problems:
        raise SchemaError(sorted(document.problems))
    return Spec(models=models, enums=enums, operations=operations, namespaces=namespaces, digest=document.digest)


def _read_component(name: str, node: Node, models: dict[str, Model], enums: dict[str, Enum]) -> None:
    if node.component not in (name, None):
        node.problem(f"is listed in openapi.yaml as {name!r}; list it under its own name")
    if name in ENVELOPES:
        return
    if not node.text("description"):
        node.problem("has no description")
    if not node.text("x-section"):
        node.problem("has no x-section, the part of the service document that it follows")
    if "enum" in node.members:
        enums[name] = _read_enum(name, node)
    elif node.members.get("type") == "object" and "properties" in node.members:
        models[name] = _read_model(name, node)
    else:
        node.problem("is neither an enumeration nor an object with properties")


def _read_enum(name: str, node: Node) -> Enum:
    if node.members.get("x-open-enum") is not True:
        node.problem("needs x-open-enum: true; the service may send values that are not listed")
    values = [str(value) for value in node.value["enum"]]
    names = node.members.get("x-enum-varnames") or [constant(value) for value in values]
    if len(names) != len(values):
        node.problem(f"x-enum-varnames has {len(names)} names for {len(values)} values")
    for value, member in zip(values, names, strict=False):
        if not str(member).isidentifier():
            node.problem(f"the value {value!r} gives no name; add x-enum-varnames")
    for what, entries in (("value", values), ("name", names)):
        for entry in {entry for entry in entries if entries.count(entry) > 1}:
            node.problem(f"the {what} {entry!r} occurs twice")
    seen_only = tuple(node.members.get("x-observed", ()))
    for value in seen_only:
        if value not in values:
            node.problem(f"x-observed names {value!r}, which is not in enum")
    return Enum(
        name=name,
        description=node.text("description"),
        section=node.text("x-section"),
        members=tuple(zip(map(str, names), values, strict=False)),
        seen_only=seen_only,
        observed=node.members.get("x-provenance") == "observed",
    )


def _read_model(name: str, node: Node) -> Model:
    required = node.members.get("required", [])
    fields = []
    properties = node.raw("properties")
    for wire, _ in properties.items() if properties else ():
        written = properties.raw(wire) if properties else None
        if written is not None:
            fields.append(_read_field(wire, written, wire in required))
    wires = {field.wire for field in fields}
    for wire in required:
        if wire not in wires:
            node.problem(f"required names {wire!r}, which is no property")
    names = [field.name for field in fields]
    for repeated in sorted({name for name in names if names.count(name) > 1}):
        node.problem(f"two properties would be called {repeated!r}")
    for reserved in sorted(RESERVED & set(names)):
        node.problem(f"a property would be called {reserved!r}, which would hide what every model has or uses")
    shared = bool(node.members.get("x-shared"))
    if shared and any(field.type.array or field.aliases or field.type.kind in ("model", "object") for field in fields):
        node.problem("x-shared: true goes with plain fields only")
    return Model(
        name=name,
        description=node.text("description"),
        section=node.text("x-section"),
        fields=tuple(fields),
        rules=read_rules(node, wires),
        shared=shared,
        observed=node.members.get("x-provenance") == "observed",
    )


def _read_field(wire: str, written: Node, required: bool) -> Field:
    node = written.resolved()
    description = " ".join(str(written.members.get("description", node.text("description"))).split())
    if "description" not in written.members:
        written.problem("has no description")
    return Field(
        name=snake(wire),
        wire=wire,
        type=read_type(written),
        description=description,
        required=required,
        observed=written.members.get("x-provenance") == "observed",
        aliases=tuple(written.members.get("x-aliases", ())),
    )
