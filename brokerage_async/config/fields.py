"""Checks of single fields of credentials and environments. No error shows a value."""

from __future__ import annotations

from typing import Any

import attrs

from .._secrets import Secret, revealed
from ..errors import ConfigurationError


def hidden(value: object) -> Secret:
    """Return a secret. It is empty if ``value`` is neither a secret nor a str, and `check_given` rejects it."""
    return value if isinstance(value, Secret) else Secret(value) if isinstance(value, str) else Secret()


def check_given(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept a str that is not blank and can be shown."""
    if not isinstance(value, str | Secret) or not revealed(value).strip():
        raise ConfigurationError(f"{type(instance).__name__}.{attribute.name} must be a non-empty string")
    if not revealed(value).isprintable():  # such as the end of the line of the file that it was read from
        raise ConfigurationError(
            f"{type(instance).__name__}.{attribute.name} contains non-printable characters (a trailing newline?)"
        )


def check_text(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept None and a str that can be shown."""
    if value is not None and (not isinstance(value, str) or not value.isprintable()):
        raise ConfigurationError(f"{type(instance).__name__}.{attribute.name} must be a string")
