"""Wire structs of all models, and the models of generated packages beside the own one."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from .._generated.operations import REQUEST_MODELS
from .._wire import Wire
from ..operation import RequestModel


@functools.cache
def wires() -> dict[type[Any], type[Wire]]:
    """Return the wire struct of each model.

    Their module is a sixth of the time that the import of a client takes. It is loaded here, when a client is made or a
    body is first decoded.
    """
    from .._generated.converters import WIRES

    return dict(WIRES)


def register(own: Mapping[type[Any], type[Wire]], request_models: Mapping[type[Any], RequestModel]) -> None:
    """Add the models of another generated package, which calls this when it is imported."""
    wires().update(own)
    REQUEST_MODELS.update(request_models)
