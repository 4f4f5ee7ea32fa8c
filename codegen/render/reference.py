"""Renderer of four pages of ``docs/reference``: operations, recorded behaviour, types and life of an order."""

from __future__ import annotations

from typing import Any

from ..read.clients import Comparison, request_of
from ..spec import Spec
from ..template import from_template
from .endpoints import PRIVATE_NAMESPACES

__all__ = ["render"]


def render(spec: Spec, comparison: Comparison) -> dict[str, str]:
    """Return the pages as Markdown, by file name."""
    public = [each for each in spec.operations if each.namespace not in PRIVATE_NAMESPACES]
    pages: dict[str, dict[str, Any]] = {
        "operations.md": {
            "clients": [
                (client, sum(request_of(each.method, each.path) in client.requests for each in public))
                for client in comparison.clients
            ],
            "operations": public,
            "namespaces": spec.namespaces,
            "forms": {"many": "list of ", "bare_many": "list of ", "page": "pages of "},
            "request_of": request_of,
            "left_out": comparison.left_out,
        },
        "behaviours.md": {"entries": spec.behaviours},
    }
    if statuses := spec.enums.get("OrderStatus"):
        pages["order-statuses.md"] = {"statuses": statuses.transitions}
    if kinds := spec.takes:
        pages["order-types.md"] = {"kinds": kinds.takes}
    return {name: from_template(name, values) for name, values in pages.items()}
