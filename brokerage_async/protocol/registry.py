"""Models of generated packages beside the own one: decoded, encoded and validated like all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._generated.converters import WIRES
from .._generated.operations import REQUEST_MODELS
from .._wire import Wire
from ..operation import RequestModel

__all__ = ["register"]


def register(wires: Mapping[type[Any], type[Wire]], request_models: Mapping[type[Any], RequestModel]) -> None:
    """Add the models of another generated package, which calls this when it is imported."""
    WIRES.update(wires)
    REQUEST_MODELS.update(request_models)
