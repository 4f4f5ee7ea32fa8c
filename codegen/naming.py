"""Conversion of wire names to Python names."""

import keyword
import re

#: Forms of names: words joined by ``-``, ``_`` or capitals, ``namespace.method``, and names of classes.
FORMS = {
    "dashes": re.compile(r"[a-z0-9]+(-[a-z0-9]+)*"),
    "underscores": re.compile(r"[a-z0-9]+(_[a-z0-9]+)*"),
    "camel-case": re.compile(r"[A-Za-z][A-Za-z0-9]*"),
    "operation": re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\.[a-z][a-z0-9]*(_[a-z0-9]+)*"),
    "component": re.compile(r"[A-Z][A-Za-z0-9]*"),
}


def has_form(form: str, name: str) -> bool:
    """Return True if a name has a form. An operation or component becomes a Python name, so keywords have neither."""
    if form in ("operation", "component") and any(map(keyword.iskeyword, name.split("."))):
        return False
    return FORMS[form].fullmatch(name) is not None


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
