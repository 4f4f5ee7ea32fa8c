"""Pages of the objects: fields and enumeration values with their wire names, by the namespace that uses them first."""

from __future__ import annotations

from collections import defaultdict

from brokerage_async import models
from codegen.read.operations import SCALAR_RESULTS
from codegen.spec import Enum, Field, Model, Spec

from .markdown import cell, code, table
from .operations import PROVENANCE, namespaces, type_cell

__all__ = ["SHARED", "by_namespace", "render"]

SHARED = "shared"
"""Page of objects that belong to no namespace, such as the block of pagination."""


def render(spec: Spec) -> dict[str, str]:
    """Return the pages by file name."""
    return {f"{name}.md": _page(name, names, spec) for name, names in by_namespace(spec).items() if names}


def by_namespace(spec: Spec) -> dict[str, list[str]]:
    """Return the names of all models and enumerations, each under the first namespace that needs it.

    Objects that only private namespaces use, such as tokens, are left out unless they are exported.
    """
    needed: defaultdict[str, set[str]] = defaultdict(set)
    for operation in spec.operations:
        for name in (operation.body, operation.result, *(each.type.name for each in operation.parameters)):
            if name is not None and name not in SCALAR_RESULTS.values():
                _visit(name, spec, needed[operation.namespace])
    found: dict[str, list[str]] = {}
    taken: set[str] = set()
    for namespace in namespaces(spec):
        found[namespace] = sorted(needed.pop(namespace) - taken)
        taken.update(found[namespace])
    private = set().union(*needed.values()) - set(models.__all__)
    found[SHARED] = sorted({*spec.models, *spec.enums} - taken - private)
    return found


def _visit(name: str, spec: Spec, visited: set[str]) -> None:
    if name in visited:
        return
    visited.add(name)
    if name in spec.models:
        for field in spec.models[name].fields:
            if field.type.name is not None:
                _visit(field.type.name, spec, visited)


def _page(namespace: str, names: list[str], spec: Spec) -> str:
    title = "Objects of all namespaces" if namespace == SHARED else f"Objects of client.{namespace}"
    head = (
        f"# {title}\n\nFields are attributes in Python and keys in JSON. All names are in `brokerage_async.models`.\n"
    )
    sections = (_enum(spec.enums[name]) if name in spec.enums else _model(spec.models[name]) for name in names)
    return "\n".join([head, *sections])


def _autoclass(name: str, members: str = "") -> str:
    option = f":members: {members}" if members else ":no-members:"
    options = f"{option}\n   :no-inherited-members:"
    return f"```{{eval-rst}}\n.. autoclass:: brokerage_async.models.{name}\n   {options}\n```"


def _model(model: Model) -> str:
    rows = (
        (code(each.name), ", ".join(map(code, (each.wire, *each.aliases))), type_cell(each.type), _meaning(model, each))
        for each in model.fields
    )
    fields = table(("Attribute", "JSON key", "Type", "Meaning"), rows)
    directive = _autoclass(model.name, "of" if model.restates else "")
    return f"## {model.name}\n\n{directive}\n\n{fields}"


def _meaning(model: Model, field: Field) -> str:
    required = "Required. " if field.required else ""
    source = "" if field.provenance in (model.provenance, "documented") else f" ({PROVENANCE[field.provenance]})"
    return required + cell(field.description) + source


def _enum(enum: Enum) -> str:
    rows = (
        (code(member), code(value), "not documented" if value in enum.observed_values else "")
        for member, value in enum.members
    )
    return f"## {enum.name}\n\n{_autoclass(enum.name)}\n\n{table(('Member', 'Value on the wire', ''), rows)}"
