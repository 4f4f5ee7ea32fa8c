"""Strings and bytes that do not show in a ``repr``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Secret", "SecretBytes"]


class Secret(str):
    """A `str` that does not show in a ``repr``, so that dumps of values, frames and headers do not give it away.

    Every value derived from it by slicing, iterating, formatting or a method of `str` is a `Secret` as well, because
    tools that print frames shorten a long value before they show it. ``str(secret)`` returns the plain value.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "'<secret>'"

    def __iter__(self) -> Iterator[str]:
        return map(Secret, super().__iter__())

    def __radd__(self, other: str) -> str:
        return Secret(other + str(self))

    def conceal_in(self, message: str) -> str:
        """Return a message of others without this value."""
        return message.replace(str(self), "<secret>") if self else message


class SecretBytes(bytes):
    """The same for the bytes of a request that is a secret as a whole."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "b'<secret>'"

    def __radd__(self, other: bytes) -> bytes:
        return SecretBytes(other + bytes(self))


def _concealed(value: object) -> object:
    """Return ``value`` with every `str` and `bytes` in it made secret."""
    if isinstance(value, str):
        return Secret(value)
    if isinstance(value, bytes):
        return SecretBytes(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_concealed, value))
    return value


def _concealing(base: type[str | bytes], name: str) -> Callable[..., object]:
    method = getattr(base, name)

    @functools.wraps(method)
    def conceal(self: str | bytes, *args: Any, **options: Any) -> object:
        return _concealed(method(self, *args, **options))

    return conceal


_DERIVING = (
    "__add__ __getitem__ __mod__ __mul__ __rmul__ capitalize center expandtabs join ljust lower lstrip partition "
    "removeprefix removesuffix replace rjust rpartition rsplit rstrip split splitlines strip swapcase title translate "
    "upper zfill"
)
for _name in f"{_DERIVING} __format__ casefold encode format format_map".split():
    setattr(Secret, _name, _concealing(str, _name))
for _name in f"{_DERIVING} decode hex".split():
    setattr(SecretBytes, _name, _concealing(bytes, _name))
