"""Open enumerations: the values known so far, and any other string as well."""

from __future__ import annotations

import enum

from ._decimals import MAX_CACHED_LENGTH

#: Entries of the cache. A full one starts over.
MAX_UNLISTED = 1024


class OpenStrEnum(enum.StrEnum):
    """Enumeration of the values known so far, which takes any other string as well.

    A value that is not listed becomes a member of the same class whose ``is_known`` is False. It compares, hashes,
    pickles and prints as its string::

        OrderStatus("Live") is OrderStatus.LIVE
        OrderStatus("On Hold").is_known is False
        OrderStatus("On Hold") == "On Hold"
    """

    @classmethod
    def _missing_(cls, value: object) -> OpenStrEnum | None:
        return _unlisted(cls, value) if isinstance(value, str) else None

    def __reduce_ex__(self, protocol: object) -> tuple[type[OpenStrEnum], tuple[str]]:
        return type(self), (self._value_,)  # before Python 3.11.4 it is by name, and only listed ones have one

    @property
    def is_known(self) -> bool:
        """Return whether the value is one of the listed ones."""
        return self._value_ in type(self)._value2member_map_


class AnyCaseStrEnum(OpenStrEnum):
    """Open enumeration that takes its listed values in any letter case.

    ``MarketState("Pre-market")`` is ``MarketState("Pre-Market")``.
    """

    @classmethod
    def _missing_(cls, value: object) -> OpenStrEnum | None:
        if isinstance(value, str) and len(value) <= MAX_CACHED_LENGTH and (cls, value) not in _UNLISTED:
            folded = value.casefold()
            for member in cls:
                if member.casefold() == folded:
                    return _kept(cls, value, member)
        return super()._missing_(value)


_UNLISTED: dict[tuple[type[OpenStrEnum], str], OpenStrEnum] = {}  # members by spellings that are not listed


def _unlisted(cls: type[OpenStrEnum], value: str) -> OpenStrEnum:
    member = _UNLISTED.get((cls, value))
    if member is None:
        member = str.__new__(cls, value)
        member._name_ = str(value)
        member._value_ = str(value)
        if len(value) <= MAX_CACHED_LENGTH:
            _kept(cls, value, member)
    return member


def _kept(cls: type[OpenStrEnum], value: str, member: OpenStrEnum) -> OpenStrEnum:
    if len(_UNLISTED) >= MAX_UNLISTED:
        _UNLISTED.clear()
    _UNLISTED[cls, str(value)] = member
    return member
