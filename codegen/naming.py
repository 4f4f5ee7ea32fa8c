"""Conversion of wire names to Python names."""

from __future__ import annotations

import keyword
import re

_DASHERIZED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_UNDERSCORED = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
_CAMEL_CASE = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_OPERATION_ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\.[a-z][a-z0-9]*(_[a-z0-9]+)*")
_COMPONENT = re.compile(r"[A-Z][A-Za-z0-9]*")


def is_dasherized(name: str) -> bool:
    """Return True for lower-case words joined by ``-``."""
    return _DASHERIZED.fullmatch(name) is not None


def is_underscored(name: str) -> bool:
    """Return True for lower-case words joined by ``_``."""
    return _UNDERSCORED.fullmatch(name) is not None


def is_camel_case(name: str) -> bool:
    """Return True for words joined by capitals, such as ``startDate`` or ``ETA``."""
    return _CAMEL_CASE.fullmatch(name) is not None


def is_operation_id(name: str) -> bool:
    """Return True for names of the form ``namespace.method``."""
    return _OPERATION_ID.fullmatch(name) is not None and not any(map(keyword.iskeyword, name.split(".")))


def is_component(name: str) -> bool:
    """Return True if ``name`` is a valid class name."""
    return _COMPONENT.fullmatch(name) is not None and not keyword.iskeyword(name)


def snake(name: str) -> str:
    """Convert ``order-type``, ``status[]`` or ``OrderLeg`` to ``order_type``, ``status`` or ``order_leg``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    words = re.sub(r"[^A-Za-z0-9]+", "_", spaced).strip("_").lower()
    return f"{words}_" if keyword.iskeyword(words) else words


def camel(name: str) -> str:
    """Convert ``bid_price`` to ``bidPrice``."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def pascal(name: str) -> str:
    """Convert ``market_time`` to ``MarketTime``."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))


def constant(name: str) -> str:
    """Convert ``orders.dry_run`` or ``Buy to Open`` to ``ORDERS_DRY_RUN`` or ``BUY_TO_OPEN``.

    The result is empty if ``name`` has no letters or digits.
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^A-Za-z0-9]+", "_", spaced).strip("_").upper()
