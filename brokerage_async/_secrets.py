"""Secrets that show only where they are revealed."""

from __future__ import annotations

from typing import Final


class Secret:
    """A secret string that does not show in dumps of values, frames and headers, whatever a tool does to it.

    It is not a `str`: nothing can be cut out of it, formatted or joined. Only `reveal` returns the string, which
    transports call at the last moment. Secrets compare by value, among themselves.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value: Final = value

    def reveal(self) -> str:
        """Return the secret string."""
        return self._value

    def __repr__(self) -> str:
        return "<secret>"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return self._value == other._value if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def conceal_in(self, message: str) -> str:
        """Return a message of others without this value."""
        return message.replace(self._value, repr(self)) if self else message


def revealed(value: str | Secret) -> str:
    """Return the string of a value that may be a secret."""
    return value.reveal() if isinstance(value, Secret) else value
