"""The models and enumerations of the service, and the converter between them and plain JSON values.

``converter`` is a cattrs converter that knows every model::

    order = models.converter.structure({"id": "7", "order-type": "Limit"}, models.Order)
    models.converter.unstructure(order)            # {"id": "7", "order-type": "Limit"}

Fractions in ``extra`` are Decimals on both sides, which ``json.dumps`` does not take: ``order.to_json()`` writes JSON.
It is made when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._generated import models as _models
from ._generated.models import *  # noqa: F403
from .operation import Page, Pager

if TYPE_CHECKING:
    import cattrs

    converter: cattrs.Converter
    """Converter between every model and plain JSON values."""

__all__ = ["Page", "Pager", "converter"]
__all__ += _models.__all__


def __getattr__(name: str) -> Any:
    if name != "converter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .protocol.decoding.cattrs_converter import make_converter

    made = globals()["converter"] = make_converter()
    return made
