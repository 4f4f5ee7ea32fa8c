"""Router: matches a request to one of the generated operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

import attrs

from ...operation import Operation

__all__ = ["Router", "request_target", "split_target"]


def split_target(url: str) -> tuple[str, str]:
    """Return path and query, still encoded, of an absolute address or a request target."""
    if not url.startswith("/"):
        _, _, rest = url.partition("://")
        url = "/" + rest.partition("/")[2]
    path, _, query = url.partition("?")
    return path, query


def request_target(url: str) -> str:
    """Return the request target (path and query) of an absolute address."""
    path, query = split_target(url)
    return f"{path}?{query}" if query else path


@attrs.frozen
class _Route:
    operation: Operation[Any]
    segments: tuple[str, ...]
    names: tuple[tuple[int, str], ...]

    def matches(self, segments: list[str]) -> bool:
        return all(own == given or own.startswith("{") for own, given in zip(self.segments, segments, strict=True))


class Router:
    """Operations by method and path.

    Fixed segments win over variables (``/orders/live`` over ``/orders/{id}``). Operations of another host have its name
    as their first segment.
    """

    def __init__(self, operations: Iterable[Operation[Any]]) -> None:
        self._routes: dict[tuple[str, int], list[_Route]] = {}
        for operation in operations:
            path = operation.path if operation.host is None else f"/{operation.host}{operation.path}"
            segments = tuple(path.strip("/").split("/"))
            names = tuple((n, name[1:-1]) for n, name in enumerate(segments) if name.startswith("{"))
            self._routes.setdefault((operation.method, len(segments)), []).append(_Route(operation, segments, names))
        for routes in self._routes.values():
            routes.sort(key=lambda route: [segment.startswith("{") for segment in route.segments])

    def find(self, method: str, path: str) -> tuple[Operation[Any], Mapping[str, str]] | None:
        """Return the operation of an encoded path and its decoded path values, or None."""
        segments = path.strip("/").split("/")
        for route in self._routes.get((method, len(segments)), ()):
            if route.matches(segments):
                return route.operation, {name: unquote(segments[n]) for n, name in route.names}
        return None

    def methods(self, path: str) -> list[str]:
        """Return the methods that an encoded path supports, sorted; none for an unknown path."""
        return sorted(
            method for method in {method for method, _ in self._routes} if self.find(method, path) is not None
        )
