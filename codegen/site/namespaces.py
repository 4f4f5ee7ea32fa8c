"""Pages of the schema by namespace: its operations, and the objects that it needs first."""

import inspect
from collections import defaultdict

from brokerage_async import models
from brokerage_async._generated import endpoints
from codegen.naming import pascal
from codegen.render.endpoints import ERRORS, PRIVATE_NAMESPACES
from codegen.spec import Operation, Spec, Type
from codegen.template import from_template, reference

PROVENANCE = {
    "documented": "documented by the service",
    "recorded": "recorded from the service, not documented",
    "published": "published by the service, not recorded",
    "client": "known from other clients only",
}

SHARED = "shared"
"""Page of objects that belong to no namespace, such as the block of pagination."""


def public_namespaces(spec: Spec) -> list[str]:
    """Return the namespaces of a client that have operations."""
    used = {operation.namespace for operation in spec.operations}
    return [name for name in spec.namespaces if name in used and name not in PRIVATE_NAMESPACES]


def render(spec: Spec) -> dict[str, str]:
    """Return the pages by path: parameters, body, errors of operations, fields and values of objects, wire names."""
    shown = {"models": spec.models, "enums": spec.enums, "provenance": PROVENANCE, "type": type_cell}
    pages = {}
    for name in public_namespaces(spec):
        values = {
            "namespace": name,
            "description": spec.namespaces[name],
            "operations": [each for each in spec.operations if each.namespace == name],
            "errors": ERRORS,
            "signature": _signature,
        }
        pages[f"operations/{name}.md"] = from_template("namespace.md", shown | values)
    for name, names in by_namespace(spec).items():
        if names:
            pages[f"objects/{name}.md"] = from_template("objects.md", shown | {"namespace": name, "names": names})
    return pages


def by_namespace(spec: Spec) -> dict[str, list[str]]:
    """Return the names of all models and enumerations, each under the first namespace that needs it.

    Objects that only private namespaces use, such as tokens, are left out unless they are exported.
    """
    needed: defaultdict[str, set[str]] = defaultdict(set)
    for operation in spec.operations:
        for name in (operation.body, operation.result, *(each.type.name for each in operation.parameters)):
            _visit(name, spec, needed[operation.namespace])
    found: dict[str, list[str]] = {}
    taken: set[str] = set()
    for namespace in public_namespaces(spec):
        found[namespace] = sorted(needed.pop(namespace) - taken)
        taken.update(found[namespace])
    private = set().union(*needed.values()) - set(models.__all__)
    found[SHARED] = sorted({*spec.models, *spec.enums} - taken - private)
    return found


def _visit(name: str | None, spec: Spec, visited: set[str]) -> None:
    if name in visited or name not in {*spec.models, *spec.enums}:
        return
    visited.add(name)
    for field in spec.models[name].fields if name in spec.models else ():
        _visit(field.type.name, spec, visited)


def _signature(operation: Operation) -> str:
    """Return a directive that puts the method, with its real signature, into index and search."""
    method = getattr(getattr(endpoints, pascal(operation.namespace)), operation.python_name)
    signature = inspect.signature(method)
    own = signature.replace(parameters=list(signature.parameters.values())[1:])
    shown = str(own).replace("'", "").replace("builtins.", "")
    waits = ":async:\n" if inspect.iscoroutinefunction(method) else ""
    return f"```{{py:method}} client.{operation.name}{shown}\n{waits}:no-contents-entry:\n```"


def type_cell(type_: Type) -> str:
    """Return the type of an argument or a field, with its bounds and further wire forms."""
    python = {"identifier": "int or str", "object": "JSON object", "date-time": "datetime", "decimal": "Decimal"}
    name = reference(f"models.{type_.name}") if type_.name else python.get(type_.kind, type_.kind)
    shown = f"array of {name}" if type_.array else name
    bounds = {"at least": type_.minimum, "at most": type_.maximum, "items, at least": type_.min_items}
    limits = [f"{words} {bound}" for words, bound in bounds.items() if bound is not None]
    if type_.wire:
        limits.append(f"also {', '.join(type_.wire)}")
    return f"{shown} ({'; '.join(limits)})" if limits else shown
