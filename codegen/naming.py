"""From names on the wire to names in Python."""

from __future__ import annotations

import keyword
import re

_DASHERIZED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_UNDERSCORED = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
_OPERATION_ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\.[a-z][a-z0-9]*(_[a-z0-9]+)*")
_COMPONENT = re.compile(r"[A-Z][A-Za-z0-9]*")


def is_dasherized(name: str) -> bool:
    """Whether ``name`` is lower case, its words joined by ``-``."""
    return _DASHERIZED.fullmatch(name) is not None


def is_underscored(name: str) -> bool:
    """Whether ``name`` is lower case, its words joined by ``_``."""
    return _UNDERSCORED.fullmatch(name) is not None


def is_operation_id(name: str) -> bool:
    """Whether ``name`` is of the form ``namespace.method``."""
    return _OPERATION_ID.fullmatch(name) is not None and not any(map(keyword.iskeyword, name.split(".")))


def is_component(name: str) -> bool:
    """Whether ``name`` can be the name of a class as it stands."""
    return _COMPONENT.fullmatch(name) is not None and not keyword.iskeyword(name)


def snake(name: str) -> str:
    """``order-type``, ``status[]`` or ``OrderLeg`` as ``order_type``, ``status``, ``order_leg``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    words = re.sub(r"[^A-Za-z0-9]+", "_", spaced).strip("_").lower()
    return f"{words}_" if keyword.iskeyword(words) else words


def pascal(name: str) -> str:
    """``market_time`` as ``MarketTime``."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))


def constant(name: str) -> str:
    """``orders.dry_run`` or ``Buy to Open`` as ``ORDERS_DRY_RUN`` and ``BUY_TO_OPEN``; empty when nothing is left."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^A-Za-z0-9]+", "_", spaced).strip("_").upper()
