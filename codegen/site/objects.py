"""Pages of the objects: fields and enumeration values with their wire names, by the namespace that uses them first."""

from __future__ import annotations

from collections import defaultdict

from brokerage_async import models
from codegen.spec import Spec

from .markdown import page
from .operations import PROVENANCE, namespaces, type_cell

__all__ = ["SHARED", "by_namespace", "render"]

SHARED = "shared"
"""Page of objects that belong to no namespace, such as the block of pagination."""


def render(spec: Spec) -> dict[str, str]:
    """Return the pages by file name."""
    shown = {"models": spec.models, "enums": spec.enums, "provenance": PROVENANCE, "type": type_cell}
    return {
        f"{namespace}.md": page("objects.md", namespace=namespace, names=names, **shown)
        for namespace, names in by_namespace(spec).items()
        if names
    }


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
    for namespace in namespaces(spec):
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
