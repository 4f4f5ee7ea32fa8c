"""Validation of the options of a simulator, before anything is made with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import attrs

from .._generated.behaviours import BEHAVIOURS
from .market.catalogue import Sizes

__all__ = ["check_options"]

_ENVIRONMENTS = ("sandbox", "production")
_WIRES = ("observed", "documented")


def check_options(
    *,
    environment: object,
    seed: object,
    wire: object,
    sizes: Sizes,
    cash: object,
    rate_limit: object,
    prices: Mapping[str, Any] | None,
    without: Collection[object] = (),
) -> None:
    """Raise ValueError for the first option that is not valid."""
    if environment not in _ENVIRONMENTS:
        raise ValueError(f"environment must be sandbox or production, got {environment!r}")
    if not _is_integer(seed):
        raise ValueError(f"seed must be an integer, got {seed!r}")
    if wire not in _WIRES:
        raise ValueError(f"wire must be observed or documented, got {wire!r}")
    for name, size in attrs.asdict(sizes).items():
        if not _is_integer(size) or size < 0:
            raise ValueError(f"{name} must be a whole number of rows, got {size!r}")
    if not _is_amount(cash):
        raise ValueError(f"cash must be a finite number of dollars, got {cash!r}")
    if rate_limit not in (None, "published") and not (isinstance(rate_limit, int | float) and rate_limit >= 0):
        raise ValueError(f"rate_limit must be None, 'published' or a number of requests a second, got {rate_limit!r}")
    known = [name for name, behaviour in BEHAVIOURS.items() if behaviour.switch]
    for behaviour in without:
        if behaviour not in known:
            raise ValueError(f"without must name behaviours of {', '.join(known)}; got {behaviour!r}")
    for symbol, source in (prices or {}).items():
        if not callable(getattr(source, "quote", None)) or not callable(getattr(source, "next_change", None)):
            raise ValueError(f"prices[{symbol!r}] must be a source such as PricePath or RandomWalk, got {source!r}")


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_amount(value: object) -> bool:
    try:
        return Decimal(str(value)).is_finite()
    except InvalidOperation:
        return False
