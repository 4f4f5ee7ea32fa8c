"""Reader of ``codegen/clients.yaml``: the operations that other clients of the service support."""

import re
from pathlib import Path
from typing import Any

import yaml

from ..spec import Spec
from .document import SchemaError


def request_of(method: str, path: str) -> str:
    """Return ``GET /orders/{}`` for a method and a path template, whatever the names of its values."""
    return f"{method} {re.sub(r'{[^}]*}', '{}', path)}"


def load_clients(file: Path, spec: Spec) -> dict[str, Any]:
    """Return the content of the file, after a comparison with the operations of the schema.

    ``clients`` describes them by name, ``requests`` lists those that make a request, and ``left_out`` has the reason by
    request that the schema lacks on purpose.

    Raises:
        SchemaError: a request is neither an operation nor left out, or is both, or its client is unknown.
    """
    written: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    requests, left_out = written["requests"], written["left_out"]
    ours = {request_of(operation.method, operation.path) for operation in spec.operations}
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
    return written
