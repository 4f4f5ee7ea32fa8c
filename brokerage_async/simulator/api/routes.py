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
    """Path with its variables, and its operations by method."""

    segments: tuple[str, ...]
    names: tuple[tuple[int, str], ...]
    operations: dict[str, Operation[Any]] = attrs.field(factory=dict)

    @classmethod
    def of(cls, path: str) -> _Route:
        segments = tuple(path.strip("/").split("/"))
        return cls(segments, tuple((n, name[1:-1]) for n, name in enumerate(segments) if name.startswith("{")))

    def matches(self, segments: list[str]) -> bool:
        return all(own == given or own.startswith("{") for own, given in zip(self.segments, segments, strict=True))


class Router:
    """Operations by path and method.

    Fixed segments win over variables (``/orders/live`` over ``/orders/{id}``). Operations of another host have its name
    as their first segment.
    """

    def __init__(self, operations: Iterable[Operation[Any]]) -> None:
        self._routes: dict[int, list[_Route]] = {}
        found: dict[str, _Route] = {}
        for operation in operations:
            path = operation.path if operation.host is None else f"/{operation.host}{operation.path}"
            if path not in found:
                found[path] = route = _Route.of(path)
                self._routes.setdefault(len(route.segments), []).append(route)
            found[path].operations[operation.method] = operation
        for routes in self._routes.values():
            routes.sort(key=lambda route: [segment.startswith("{") for segment in route.segments])

    def find(self, method: str, path: str) -> tuple[Operation[Any], Mapping[str, str]] | None:
        """Return the operation of an encoded path and its decoded path values, or None."""
        segments = path.strip("/").split("/")
        for route in self._routes.get(len(segments), ()):
            if method in route.operations and route.matches(segments):
                return route.operations[method], {name: unquote(segments[n]) for n, name in route.names}
        return None

    def methods(self, path: str) -> list[str]:
        """Return the methods of the path that fits best, sorted; none for an unknown path."""
        segments = path.strip("/").split("/")
        for route in self._routes.get(len(segments), ()):
            if route.matches(segments):
                return sorted(route.operations)
        return []
