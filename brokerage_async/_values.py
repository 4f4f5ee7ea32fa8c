"""The value types under the models: open enumerations, raw JSON beside a model, and how single values are read.

Everything here is plain data. The reading functions are what the generated converters call where the JSON type alone
does not settle a value; those that take a ``target`` keep the raw JSON in the target's ``extra`` when the value cannot
carry all of it, so that nothing that arrived is lost.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar, NoReturn, TypeVar, cast

import attrs

__all__ = ["EMPTY", "Extra", "Model", "OpenStrEnum"]

T = TypeVar("T")
_Refusal = Callable[..., NoReturn]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

#: Whether objects may be made by filling a twin and changing its class: cheap, except where it stops all threads.
CLASS_SWAP: bool = getattr(sys, "_is_gil_enabled", lambda: True)()


class OpenStrEnum(enum.StrEnum):
    """An enumeration of the values known so far, that takes any other text as well.

    A value that is not listed becomes a member of the same class whose ``is_known`` is False; it compares, hashes,
    pickles and prints as its text::

        OrderStatus("Live") is OrderStatus.LIVE
        OrderStatus("On Hold").is_known is False
        OrderStatus("On Hold") == "On Hold"
    """

    @classmethod
    def _missing_(cls, value: object) -> OpenStrEnum | None:
        return _unlisted(cls, value) if isinstance(value, str) else None

    @property
    def is_known(self) -> bool:
        """Whether the value is one of the listed ones."""
        return self._value_ in type(self)._value2member_map_


@lru_cache(maxsize=1024)
def _unlisted(cls: type[OpenStrEnum], value: str) -> OpenStrEnum:
    member = str.__new__(cls, value)
    member._name_ = str(value)
    member._value_ = str(value)
    return member


class Extra(dict[str, Any]):
    """Raw JSON that arrived with a model and that no field holds: an immutable mapping by wire key.

    Numbers with a fraction are Decimals here, exactly as they were sent. Equality counts, the hash does not.
    """

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("extra is immutable; use attrs.evolve(model, extra={...}) to get a changed model")

    __setitem__: ClassVar[_Refusal] = _refuse
    __delitem__: ClassVar[_Refusal] = _refuse
    __ior__: ClassVar[_Refusal] = _refuse
    clear: ClassVar[_Refusal] = _refuse
    pop: ClassVar[_Refusal] = _refuse
    popitem: ClassVar[_Refusal] = _refuse
    setdefault: ClassVar[_Refusal] = _refuse
    update: ClassVar[_Refusal] = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return 0

    def __or__(self, other: Any) -> Extra:  # type: ignore[override]
        return Extra(dict(self) | other)

    def __copy__(self) -> Extra:
        return self

    def copy(self) -> Extra:
        """The same mapping: nothing can change it."""
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (Extra, (dict(self),)) if self else "EMPTY"


EMPTY: Extra = Extra()


class Model:
    """What all models have in common: a repr that shows only the fields that are set."""

    __slots__ = ()

    def __repr__(self) -> str:
        fields = attrs.fields(cast("type[attrs.AttrsInstance]", type(self)))
        secretive = not all(field.repr for field in fields)
        shown = []
        for field in fields:
            value = getattr(self, field.name)
            if value is None or (field.name == "extra" and not value):
                continue
            hidden = not field.repr or (secretive and field.name == "extra")
            shown.append(f"{field.name}=..." if hidden else f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def twin(model: type[Any]) -> Any:
    """A class of the same memory layout as ``model`` whose attributes can be assigned.

    A frozen object is made by filling a twin and changing its ``__class__`` at the end: a third of the time that the
    constructor takes.
    """
    namespace = {"__slots__": model.__slots__, "__doc__": f"{model.__name__} in the making."}
    return type(f"{model.__name__}InTheMaking", model.__bases__, namespace)


def finished(filled: Any, model: type[T]) -> T:
    """The frozen object with the attributes of a filled twin, made without changing any object's class."""
    built = object.__new__(model)
    for name in filled.__slots__:
        object.__setattr__(built, name, getattr(filled, name))
    return built


def raw_object(value: Mapping[str, Any]) -> Extra:
    """An open JSON object as an immutable mapping; the shared empty one when there is nothing in it."""
    if isinstance(value, Extra):
        return value
    return Extra(value) if value else EMPTY


def as_tuple(items: Iterable[Any]) -> tuple[Any, ...]:
    """The items of any iterable as a tuple, so that models stay hashable when a list is passed.

    Text and mappings are refused: nobody means their letters or keys. Not generic, because mypy cannot solve the type
    variable of an attrs converter and would refuse every argument.
    """
    if isinstance(items, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(items, Iterable):
        raise TypeError(f"expected a list or tuple, got {type(items).__name__}")
    return tuple(items)


def as_optional_tuple(items: Iterable[Any] | None) -> tuple[Any, ...] | None:
    """The same, None staying None."""
    return None if items is None else as_tuple(items)


def as_optional_object(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """An open JSON object, None staying None."""
    return None if value is None else raw_object(value)


# -- reading ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def read_decimal(raw: str | int) -> Decimal:
    """A finite decimal. Cached: prices and sizes repeat a great deal, and a hit costs a third of a conversion.

    Raises ValueError for anything that is not a finite number as JSON would write it.
    """
    # Decimal also takes underscores, spaces around and digits of other scripts, and would not give them back.
    if isinstance(raw, str) and not _is_bare(raw):
        raise ValueError(f"not a decimal: {raw!r}")
    try:
        value = Decimal(raw)
    except ArithmeticError:
        raise ValueError(f"not a decimal: {raw!r}") from None
    if not value.is_finite():
        raise ValueError(f"not a finite decimal: {raw!r}")
    return value


def _is_bare(text: str) -> bool:
    return text.isascii() and "_" not in text and text.strip() == text


def keep(target: Any, key: str, raw: Any) -> None:
    """Put ``raw`` beside the fields of an object in the making, under its wire key."""
    target.extra = Extra({**target.extra, key: raw})


def decimal_or_keep(raw: str | int, target: Any, key: str) -> Decimal | None:
    """A decimal that may arrive as ``"NaN"`` or ``""``: then None, the text kept in ``extra``."""
    if raw in ("", "NaN"):
        keep(target, key, raw)
        return None
    return read_decimal(raw)


def finite_or_keep(raw: Decimal, target: Any, key: str) -> Decimal | None:
    """The same for a value that has been read as a Decimal already."""
    if raw.is_nan():
        keep(target, key, "NaN")
        return None
    return finite(raw)


def finite(value: Decimal) -> Decimal:
    """The value itself; ValueError when it is not a finite number."""
    if not value.is_finite():
        raise ValueError(f"not a finite decimal: {value}")
    return value


def date_or_keep(raw: str, target: Any, key: str) -> date | None:
    """A date that may be empty or followed by a space and more text: what the date does not say stays in ``extra``."""
    if len(raw) != 10:
        keep(target, key, raw)
        if not raw:
            return None
        if raw[10:11] not in " T":
            raise ValueError(f"not a date: {raw!r}")
    return date.fromisoformat(raw[:10])


def moment_or_keep(raw: str | int, target: Any, key: str) -> datetime | None:
    """A date-time that may be empty text (then None, the text kept in ``extra``) or epoch milliseconds."""
    if isinstance(raw, int):
        return read_epoch(raw)
    if not raw:
        keep(target, key, raw)
        return None
    return read_moment(raw)


def read_epoch(milliseconds: int) -> datetime:
    """The moment so many milliseconds after the start of 1970 UTC."""
    try:
        return _EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        raise ValueError(f"not a moment: {milliseconds} ms") from None


def read_moment(text: str) -> datetime:
    """The moment written as ISO 8601, UTC when it names no offset."""
    return aware(datetime.fromisoformat(text))


def read_integer(text: str) -> int:
    """An integer that arrived as text."""
    if not text.removeprefix("-").isdecimal() or not text.isascii():
        raise ValueError(f"not an integer: {text!r}")
    return int(text)


def read_boolean(text: str) -> bool:
    """A truth value that arrived as text, ``true`` or ``false``."""
    if text not in ("true", "false"):
        raise ValueError(f"not a boolean: {text!r}")
    return text == "true"


def aware(moment: datetime) -> datetime:
    """The moment with its offset; one without any is taken as UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def items_or_keys(raw: list[Any] | dict[str, Any], target: Any, key: str, read: Callable[[Any], T]) -> tuple[T, ...]:
    """An array that may arrive as an object keyed by the items: then its keys, the object kept in ``extra``."""
    if isinstance(raw, dict):
        keep(target, key, raw)
    if not all(isinstance(item, str) for item in raw):
        raise ValueError(f"not a list of text: {key}")
    return tuple([read(item) for item in raw])


# -- writing ----------------------------------------------------------------------------------------------------------


def decimal_text(value: Decimal | int) -> str:
    """A decimal as the service reads it: plain digits, no exponent.

    Raises ValueError for NaN and Infinity, and TypeError for a float, whose digits are not the ones that were typed.
    """
    if isinstance(value, Decimal):
        text = str(value)
        if text.isdigit() or ("E" not in text and "N" not in text and "I" not in text):
            return text
        return _plain(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"expected a Decimal, got {type(value).__name__} {value!r}")


def decimal_as_sent(value: Decimal) -> Any:
    """The same for a field that is read as a number: on the wire struct it is text all the same."""
    return decimal_text(value)


def _plain(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"{value} is not a number that can be sent")
    # Written out in full, an absurd exponent would be gigabytes of zeros.
    return format(value, "f") if abs(value.adjusted()) <= 64 else str(value)
