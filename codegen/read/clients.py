"""Reader of ``codegen/clients.yaml``: the operations that other clients of the service support."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs
import yaml

from ..spec import Spec
from .document import SchemaError

__all__ = ["Comparison", "LeftOut", "OtherClient", "load_clients", "request_of"]


@attrs.frozen(kw_only=True)
class OtherClient:
    """Another client, in one version, and its requests as `request_of` writes them."""

    name: str
    registry: str
    version: str
    description: str
    requests: frozenset[str]


@attrs.frozen(kw_only=True)
class LeftOut:
    """Request that the schema lacks on purpose, and the clients that make it."""

    request: str
    reason: str
    clients: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Comparison:
    """Other clients, and the requests that the schema leaves out."""

    clients: tuple[OtherClient, ...]
    left_out: tuple[LeftOut, ...]


def request_of(method: str, path: str) -> str:
    """Return ``GET /orders/{}`` for a method and a path template, whatever the names of its values."""
    return f"{method} {re.sub(r'{[^}]*}', '{}', path)}"


def load_clients(file: Path, spec: Spec) -> Comparison:
    """Read the file and compare it with the operations of the schema.

    Raises:
        SchemaError: a request is neither an operation nor left out, or is both, or its client is unknown.
    """
    written: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    requests: dict[str, list[str]] = written["requests"]
    ours = {request_of(operation.method, operation.path) for operation in spec.operations}
    left_out: dict[str, str] = written["left_out"]
    problems = [
        *(f"{each}: add the operation, or a reason to left_out" for each in requests if each not in {*ours, *left_out}),
        *(f"{each}: remove it from left_out, the schema has it" for each in left_out if each in ours),
        *(
            f"{each}: client must be listed under clients, got {name!r}"
            for each, names in requests.items()
            for name in names
            if name not in written["clients"]
        ),
    ]
    if problems:
        raise SchemaError([f"{file.name}: {problem}" for problem in problems])
    return Comparison(
        clients=tuple(
            OtherClient(name=name, requests=frozenset(each for each in requests if name in requests[each]), **about)
            for name, about in written["clients"].items()
        ),
        left_out=tuple(
            LeftOut(request=each, reason=reason, clients=tuple(requests.get(each, ())))
            for each, reason in left_out.items()
        ),
    )
