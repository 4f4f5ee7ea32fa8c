"""Pages of the operations, one per namespace: parameters, body, wire form, errors, provenance."""

from __future__ import annotations

import inspect

from brokerage_async._generated import endpoints
from codegen.naming import pascal
from codegen.render.endpoints import ERRORS, PRIVATE_NAMESPACES
from codegen.spec import Operation, Spec, Type

from .markdown import page, reference

__all__ = ["PROVENANCE", "namespaces", "render", "type_cell"]

PROVENANCE = {
    "documented": "documented by the service",
    "recorded": "recorded from the service, not documented",
    "published": "published by the service, not recorded",
    "client": "known from other clients only",
}


def namespaces(spec: Spec) -> list[str]:
    """Return the namespaces of a client that have operations."""
    used = {operation.namespace for operation in spec.operations}
    return [name for name in spec.namespaces if name in used and name not in PRIVATE_NAMESPACES]


def render(spec: Spec) -> dict[str, str]:
    """Return the pages by file name."""
    return {
        f"{name}.md": page(
            "operations.md",
            namespace=name,
            description=spec.namespaces[name],
            operations=[each for each in spec.operations if each.namespace == name],
            models=spec.models,
            errors=ERRORS,
            provenance=PROVENANCE,
            signature=_signature,
            type=type_cell,
        )
        for name in namespaces(spec)
    }


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
