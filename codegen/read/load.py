"""Entry point of the reader: a schema folder becomes a Spec, or one error lists all problems."""

import re
from pathlib import Path
from typing import Any

import attrs
import msgspec

from ..naming import constant, pascal, snake
from ..spec import SCALARS, Enum, Field, Model, RecordedBehaviour, Restatement, Spec, Transition
from .document import Document, Node, SchemaError
from .operations import read_operations
from .rules import read_rules
from .types import read_type
from .vocabulary import check_section, check_vocabulary, provenance_of

#: Envelopes of responses. The codec handles these shapes, so they have no generated class.
ENVELOPES = ("ItemEnvelope", "ListEnvelope", "PageEnvelope", "ItemList", "ErrorEnvelope")

#: Python names used inside the generated classes, for annotations or members. Fields cannot have them.
RESERVED = {
    "any", "attrs", "bool", "build", "build_all", "build_new", "date", "datetime", "dict", "extra", "int", "list", "of",
    "self", "str", "tuple",
}  # fmt: skip


def load(folder: Path) -> Spec:
    """Read the schema in ``folder``.

    Raises:
        SchemaError: the schema is invalid. All problems are listed.
    """
    return read(Document(folder))


def read(document: Document) -> Spec:
    """Return the schema in the files of a folder. Raises the same as `load`."""
    if document.problems:
        raise SchemaError(document.problems)
    check_vocabulary(document)
    models: dict[str, Model] = {}
    enums: dict[str, Enum] = {}
    root = document.root()
    sections = (root.get("components") or root).items()
    for name, node in (each for section, schema in sections if section == "schemas" for each in schema.items()):
        if node.component not in (name, None):
            node.problem(f"must be listed in openapi.yaml under its own name, got {name!r}")
        if name in ENVELOPES:
            continue
        if not node.string("description"):
            node.problem("description is missing")
        check_section(node)
        if "enum" in node.members:
            enums[name] = _read_enum(name, node)
        elif node.members.get("type") == "object" and "properties" in node.members:
            models[name] = _read_model(name, node)
        else:
            node.problem("must be an enumeration or an object with properties")
    _check_restatements(root, models)
    _check_takes(root, models, enums)
    operations = read_operations(root, models, enums)
    namespaces = {tag.string("name"): tag.string("description") for tag in root.elements("tags")}
    for operation in operations:
        if operation.namespace not in namespaces:
            root.problem(f"tags must list {operation.namespace!r}, the namespace of {operation.name}")
    for namespace in namespaces:
        if pascal(namespace) in (models.keys() | enums.keys()):
            root.problem(f"component {pascal(namespace)!r} has the name of the class of namespace {namespace!r}")
    recorded = document.root("behaviours.yaml").items("behaviours")
    behaviours = tuple(entry for name, node in recorded if (entry := _read_behaviour(name, node)))
    switches = {each.id for each in behaviours if each.switch}
    for model in models.values():
        nested = [field.type.name for field in model.fields if field.type.kind == "model"]
        if model.shared and not all(models[name].shared for name in nested if name in models):
            root.problem(f"x-shared of {model.name} requires that the models in it are shared")
        for rule in (*model.rules, *model.service_rules):
            named = rule.get("behaviour")
            if named is not None and named not in switches:
                root.problem(f"behaviour of a rule of {model.name} must be an entry with a switch, got {named!r}")
    if document.problems:
        raise SchemaError(sorted(document.problems))
    return Spec(
        models=models,
        enums=enums,
        operations=operations,
        namespaces=namespaces,
        digest=document.digest,
        behaviours=behaviours,
        stream_caps=document.root("market_events.yaml").members.get("x-caps", {}),
    )


def _read_enum(name: str, node: Node) -> Enum:
    if node.members.get("x-open-enum") is not True:
        node.problem("x-open-enum must be true: the service may send values that are not listed")
    values = [str(value) for value in node.value["enum"]]
    names = node.members.get("x-enum-varnames") or [constant(value) for value in values]
    if len(names) != len(values):
        node.problem(f"x-enum-varnames must have {len(values)} names, got {len(names)}")
    for value, member in zip(values, names, strict=False):
        if not str(member).isidentifier():
            node.problem(f"value {value!r} does not yield a Python name: add x-enum-varnames")
    ignores_case = bool(node.members.get("x-ignore-case"))
    compared = [value.casefold() for value in values] if ignores_case else values
    for what, entries in (("value", compared), ("name", names)):
        for entry in {entry for entry in entries if entries.count(entry) > 1}:
            node.problem(f"duplicate {what} {entry!r}")
    observed_values = tuple(node.members.get("x-observed", ()))
    for value in observed_values:
        if value not in values:
            node.problem(f"x-observed must list values of enum, got {value!r}")
    return Enum(
        name=name,
        description=node.string("description"),
        section=node.string("x-section"),
        members=tuple(zip(map(str, names), values, strict=False)),
        observed_values=observed_values,
        ignores_case=ignores_case,
        provenance=provenance_of(node),
        takes=node.members.get("x-takes", {}),
        transitions=_read_transitions(node, values),
    )


def _read_transitions(node: Node, values: list[str]) -> dict[str, Any]:
    """Return ``x-transitions`` as written, after a look at every `Transition`."""
    written: dict[str, Any] = node.members.get("x-transitions", {})
    try:
        transitions = msgspec.convert(written, dict[str, Transition])
    except msgspec.ValidationError as error:
        node.problem(f"x-transitions: {error}")
        return {}
    if transitions and set(transitions) != set(values):
        node.problem("x-transitions must have an entry for each value of enum")
    for value, entry in transitions.items():
        if not set(entry.followed_by) <= set(values) - {value}:
            node.problem(f"x-transitions of {value!r} must name other values of enum")
        if (entry.phase == "terminal") == bool(entry.followed_by):
            node.problem(f"x-transitions of {value!r} must be terminal or followed by another value")
    return written


def _read_model(name: str, node: Node) -> Model:
    required = node.members.get("required", [])
    fields = [_read_field(wire, each, node, wire in required) for wire, each in node.children("properties")]
    wires = {field.wire for field in fields}
    for wire in required:
        if wire not in wires:
            node.problem(f"required must list properties, got {wire!r}")
    names = [field.name for field in fields]
    for repeated in sorted({name for name in names if names.count(name) > 1}):
        node.problem(f"two properties yield the Python name {repeated!r}")
    for reserved in sorted(RESERVED & set(names)):
        node.problem(f"a property yields the Python name {reserved!r}, which the generated classes reserve")
    shared = bool(node.members.get("x-shared"))
    if shared and any(
        field.aliases or field.type.kind == "object" or not {"mapping", "number"}.isdisjoint(field.type.wire)
        for field in fields
    ):  # their structs are hashed, where True is equal to 1
        node.problem("x-shared requires fields without aliases, mappings, objects and decimals that may be numbers")
    return Model(
        name=name,
        description=node.string("description"),
        section=node.string("x-section"),
        fields=tuple(fields),
        rules=read_rules(node, wires),
        service_rules=read_rules(node, wires, "x-service-rules"),
        identity=_read_identity(node, fields),
        shared=shared,
        restates=_read_restatement(node, wires),
        provenance=provenance_of(node),
    )


def _read_identity(node: Node, fields: list[Field]) -> tuple[str, ...] | None:
    """Return the fields of ``x-identity``, None without it."""
    written = node.members.get("x-identity")
    if written is None:
        return None
    single = (field for field in fields if not field.type.array)
    scalars = {field.wire: field.name for field in single if field.type.kind in (*SCALARS, "enum")}
    if not isinstance(written, list) or any(wire not in list(scalars) for wire in written):
        node.problem(f"x-identity must list scalar properties, got {written!r}")
        return ()
    return tuple(scalars[wire] for wire in written)


def _read_restatement(node: Node, wires: set[str]) -> Restatement | None:
    written = node.members.get("x-restates")
    if written is None:
        return None
    if not isinstance(written, dict) or set(written) != {"from", "fields"}:
        node.problem(f"x-restates must have the keys from and fields, got {written!r}")
        return None
    for wire in set(written["fields"]) - wires:
        node.problem(f"x-restates must list properties, got {wire!r}")
    return Restatement(sources=tuple(written["from"]), names=tuple(map(snake, written["fields"])))


def _check_restatements(root: Node, models: dict[str, Model]) -> None:
    """Record fields that a model restates but that one of its sources does not have, or has with another type."""
    for model in models.values():
        if (restated := model.restates) is None:
            continue
        fields = [field for field in model.fields if field.name in restated.names]
        for source in restated.sources:
            known = models[source].fields if source in models else ()
            theirs = {each.name: (each.type.kind, each.type.name) for each in known}
            for field in fields:
                if theirs.get(field.name) != (field.type.kind, field.type.name) or field.type.array:
                    root.problem(f"x-restates of {model.name}: {source} has no {field.wire} of that type")


def _check_takes(root: Node, models: dict[str, Model], enums: dict[str, Enum]) -> None:
    """Record values, keys and terms of ``x-takes`` that do not exist."""
    for enum in enums.values():
        owners = [model for model in models.values() if any(field.type.name == enum.name for field in model.fields)]
        known = {field.wire for model in owners for field in model.fields}
        for value, row in enum.takes.items():
            where = f"x-takes of {enum.name}: {value!r}"
            if value not in dict(enum.members).values():
                root.problem(f"{where} must be a value of enum")
            if set(row) != {"terms", "meaning"} or not known.issuperset(row["terms"]):
                root.problem(f"{where} must have a meaning, and terms that are fields beside {enum.name}, got {row}")


def _read_field(wire: str, written: Node, owner: Node, required: bool) -> Field:
    node = written.resolved()
    type_ = read_type(written)
    if "description" not in written.members:
        written.problem("description is missing")
    always = bool(written.members.get("x-always"))
    if always and (type_.kind != "string" or type_.array or required or "x-aliases" in written.members):
        written.problem("x-always requires a string that is neither required nor has aliases")
    return Field(
        name=snake(wire),
        wire=wire,
        type=attrs.evolve(type_, secret=True) if owner.members.get("x-personal") else type_,
        description=node.string("description"),
        required=required,
        always=always,
        provenance=provenance_of(written, owner),
        aliases=tuple(written.members.get("x-aliases", ())),
    )


def _read_behaviour(name: str, node: Node) -> RecordedBehaviour | None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        node.problem(f"id must be lower-case words joined by underscores, got {name!r}")
    if "id" in node.members:
        node.problem("unknown key 'id': the key of the entry is its id")
    try:
        read = msgspec.convert({**node.members, "id": name}, RecordedBehaviour)
    except msgspec.ValidationError as error:
        node.problem(str(error))
        return None
    if not (node.document.folder.parent / read.test.partition("::")[0]).is_file():
        node.problem(f"test must name a file and, after '::', a function, got {read.test!r}")
    return read
