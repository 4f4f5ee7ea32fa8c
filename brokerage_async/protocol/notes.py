"""Notes of an exception that name the call it belongs to: they show in tracebacks, and never in a message or a log."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..errors import APIError, BrokerageError
from ..operation import BoundCall
from .redaction import mask_tokens

MAX_LENGTH = 1000
"""Characters of a note."""

_NOTED = frozenset({403, 404, 422})
"""Statuses that depend on the arguments. A success that holds an error beside its data is one as well."""


def note_arguments(error: BrokerageError, call: BoundCall[Any]) -> BrokerageError:
    """Return the error. A 403, a 404 or a 422 gets a note with the arguments of the call."""
    if isinstance(error, APIError) and error.status is not None and (error.status in _NOTED or error.status < 300):
        error.add_note(f"called as {describe(call)}")
    return error


def describe(call: BoundCall[Any]) -> str:
    """Return a call as Python source, cut to `MAX_LENGTH` characters.

    Secret fields of a body stay hidden. A body of bytes shows its length.
    """
    given = {**call.path, **call.query}
    shown = [
        f"{parameter.name}={_shown(given[parameter.wire])}"
        for parameter in call.operation.parameters
        if parameter.wire in given
    ]
    if call.body is not None:
        shown.append(f"<{len(call.body)} bytes>" if isinstance(call.body, bytes) else repr(call.body))
    text = mask_tokens(f"{call.operation.name}({', '.join(shown)})")
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


def _shown(value: object) -> str:
    if isinstance(value, enum.Enum):
        return repr(value.value)
    if isinstance(value, (dt.date, Decimal)):
        return str(value)
    if isinstance(value, (list, tuple, set, frozenset)) and not isinstance(value, Mapping):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)
