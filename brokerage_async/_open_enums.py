"""Open enumerations: the values known so far, and any other string as well."""

from __future__ import annotations

import enum
import functools

from ._decimals import MAX_CACHED_LENGTH


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
        if not isinstance(value, str):
            return None
        find = member_of if len(value) <= MAX_CACHED_LENGTH else member_of.__wrapped__
        return find(cls, str(value))

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


@functools.lru_cache(maxsize=1024)
def member_of(cls: type[OpenStrEnum], value: str) -> OpenStrEnum:
    """Return the member of a spelling that is not listed."""
    if issubclass(cls, AnyCaseStrEnum):
        folded = value.casefold()
        if (listed := next((member for member in cls if member.casefold() == folded), None)) is not None:
            return listed
    member = str.__new__(cls, value)
    member._name_ = member._value_ = value
    return member
