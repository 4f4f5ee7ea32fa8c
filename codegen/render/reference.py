"""Renderer of four pages of ``docs/reference``: operations, recorded behaviour, types and life of an order."""

from collections.abc import Sequence
from typing import Any

from ..read.clients import request_of
from ..spec import Operation, Spec
from ..template import from_template
from .endpoints import PRIVATE_NAMESPACES


def render(spec: Spec, comparison: dict[str, Any]) -> dict[str, str]:
    """Return the pages as Markdown, by file name. ``comparison`` is what `load_clients` returns."""

    def made_by(operation: Operation) -> Sequence[str]:
        named: Sequence[str] = comparison["requests"].get(request_of(operation.method, operation.path), ())
        return named

    public = [each for each in spec.operations if each.namespace not in PRIVATE_NAMESPACES]
    pages: dict[str, dict[str, Any]] = {
        "operations.md": {
            **comparison,
            "shared": {name: sum(name in made_by(each) for each in public) for name in comparison["clients"]},
            "operations": public,
            "namespaces": spec.namespaces,
            "forms": {"many": "list of ", "bare_many": "list of ", "page": "pages of "},
            "made_by": made_by,
        },
        "behaviours.md": {"entries": spec.behaviours},
    }
    if statuses := spec.enums.get("OrderStatus"):
        pages["order-statuses.md"] = {"statuses": statuses.transitions}
    if kinds := spec.takes:
        pages["order-types.md"] = {"kinds": kinds.takes}
    return {name: from_template(name, values) for name, values in pages.items()}
