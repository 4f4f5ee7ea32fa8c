"""Signatures as a reader needs them: with the values of defaults instead of the private names of them."""

import enum
import inspect
import re
from typing import Any

import attrs

_SENTINEL = re.compile(r"(?: \| )?~?(?:\w+\.)*EllipsisType\b")
_ADDRESS = re.compile(r"<function (\w+) at 0x[0-9a-fA-F]+>")
_PRIVATE = re.compile(r"= (_[A-Z]+)\b")
_DEFAULTS = {"_RETRY": "RetryPolicy()", "_LIMITS": "Limits()"}
"""What private names of default values stand for. Others only say that an argument is not given."""


class _Written(str):
    """Default value of an argument as it is written in a signature."""

    __repr__ = str.__str__


def with_values(owner: Any, signature: inspect.Signature) -> inspect.Signature:
    """Return the signature of an attrs class with its default values: the source of its ``__init__`` names none."""
    defaults = {field.alias: field.default for field in attrs.fields(owner)}
    return signature.replace(
        parameters=[
            each
            if each.default is each.empty
            else each.replace(default=_written(defaults.get(each.name, each.default)))
            for each in signature.parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )


def _written(default: object) -> object:
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        return _Written(repr(default.factory()))  # type: ignore[attr-defined]
    return _Written(f"{type(default).__name__}.{default.name}") if isinstance(default, enum.Enum) else default


def plainly(signature: str) -> str:
    """Return a signature without the private names and the addresses in it."""
    signature = _ADDRESS.sub(r"\1", signature)
    return _SENTINEL.sub("", _PRIVATE.sub(lambda found: f"= {_DEFAULTS.get(found[1], '...')}", signature))
