"""Value types under the models: their bases, open enumerations, raw JSON beside a model, the reading of single values.

The generated converters call the reading functions where the JSON type alone does not settle a value. Those that take
a ``target`` keep the raw JSON in the target's ``extra`` when the value cannot carry all of it, so that nothing is lost.
Caches hold short strings only: they are bounded in bytes, whatever the service sends.
"""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any, ClassVar, NoReturn, TypeVar, cast

import attrs

from ._decimals import MAX_CACHED_LENGTH, exact, finite, read_decimal
from .errors import InvalidRequestError

T = TypeVar("T")
_Refusal = Callable[..., NoReturn]
_REFERENCE = "#/$defs/"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = _EPOCH.date()
_MILLISECOND = timedelta(milliseconds=1)

#: Whether a mutable builder may become the model by a change of its class: cheap, except where it stops all threads.
CLASS_SWAP: bool = getattr(sys, "_is_gil_enabled", lambda: True)()


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


class Extra(dict[str, Any]):
    """Immutable mapping, by wire key, of the raw JSON that arrived with a model and that no field holds.

    Numbers with a fraction are Decimals here, exactly as sent. Equality counts, the hash does not.
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
        """Return the same mapping: nothing can change it."""
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (Extra, (dict(self),)) if self else "EMPTY"


EMPTY: Extra = Extra()


class Portable:
    """Base of the models and events. pydantic, and so FastAPI, takes and returns them without further words."""

    __slots__ = ()

    def to_dict(self, wire: bool = False) -> dict[str, Any]:
        """Return the fields that are set, with everything nested as dicts and lists.

        Keyed by attribute, with Python values: `Decimal`, aware datetimes, enumerations. With ``wire``, keyed by JSON
        key, with JSON values, ``extra`` among them.
        """
        import msgspec  # models are imported where nothing is decoded

        if wire and (struct := _wire_of(type(self))) is not None:
            found: dict[str, Any] = msgspec.to_builtins(struct.of(self), builtin_types=(Decimal,))
            return found
        fields = attrs.fields(cast("type[attrs.AttrsInstance]", type(self)))
        values = ((field, getattr(self, field.name)) for field in fields)
        return {
            field.name: _plain(value, wire)
            for field, value in values
            if value is not None and value != {} and not value == "" == field.default
        }

    def to_json(self, wire: bool = True) -> str:
        """Return `to_dict` as JSON. Decimals are strings, but for numbers of the service with ``wire``."""
        import msgspec

        is_wire = wire and _wire_of(type(self)) is not None
        encoder = msgspec.json.Encoder(decimal_format="number" if is_wire else "string")
        return encoder.encode(self.to_dict(wire)).decode()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> dict[str, Any]:
        return {
            "type": "is-instance",
            "cls": cls,
            "serialization": {"type": "function-plain", "function": lambda one: one.to_dict(wire=True)},
        }

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        import msgspec

        struct = _wire_of(cls)
        if struct is None:
            return {"type": "object", "title": cls.__name__}
        (root,), definitions = msgspec.json.schema_components((struct,), ref_template=_REFERENCE + "{name}")
        found: dict[str, Any] = _inlined(root, definitions, frozenset())
        return {**found, "title": cls.__name__}


def _wire_of(model: type[Any]) -> Any:
    """Return the wire struct of a model, which stands beside it in its generated package. None for other classes."""
    package, _, module = model.__module__.rpartition(".")
    return import_module(f"{package}.converters").WIRES.get(model) if module == "models" else None


def _plain(value: Any, wire: bool) -> Any:
    match value:
        case Portable():
            return value.to_dict(wire)
        case tuple() | list():
            return [_plain(item, wire) for item in value]
        case Mapping():
            return {key: _plain(item, wire) for key, item in value.items()}
        case type():
            return value.__name__
    return value


def _inlined(schema: Any, definitions: Mapping[str, Any], within: frozenset[str]) -> Any:
    """Return a JSON schema without references. An object inside itself has no properties."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.removeprefix(_REFERENCE)
            return {"type": "object"} if name in within else _inlined(definitions[name], definitions, within | {name})
        case dict():
            return {key: _inlined(value, definitions, within) for key, value in schema.items()}
        case list():
            return [_inlined(value, definitions, within) for value in schema]
    return schema


class Model(Portable):
    """Base of all models: equal by value, hashable, with a repr that shows only the fields that are set.

    The comparison of a class is compiled when it is first used: by attrs it would take a quarter of the import's time.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        _compile_comparison(self.__class__)
        return self.__eq__(other)

    def __hash__(self) -> int:
        _compile_comparison(self.__class__)
        return self.__hash__()

    def __repr__(self) -> str:
        fields = attrs.fields(cast("type[attrs.AttrsInstance]", type(self)))
        secretive = not all(field.repr for field in fields)
        shown = []
        for field in fields:
            value = getattr(self, field.name)
            if value is None or value == "" == field.default or (field.name == "extra" and not value):
                continue
            hidden = not field.repr or (secretive and field.name == "extra")
            shown.append(f"{field.name}=..." if hidden else f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _compile_comparison(cls: Any) -> None:
    """Give a class the ``__eq__`` and the ``__hash__`` that attrs would."""
    fields = attrs.fields(cls)
    equal = " and ".join(f"self.{field.name} == other.{field.name}" for field in fields)
    hashed = "".join(f"self.{field.name}, " for field in fields if field.hash is not False)
    source = f"""
def __eq__(self, other): return NotImplemented if other.__class__ is not self.__class__ else {equal}
def __hash__(self): return hash(({hashed}))
"""
    namespace: dict[str, Any] = {}
    exec(source, namespace)  # noqa: S102 - names of attributes only
    cls.__eq__, cls.__hash__ = namespace["__eq__"], namespace["__hash__"]


def mutable_builder(model: type[Any]) -> Any:
    """Return a subclass of ``model`` that adds no fields, and whose attributes can be assigned.

    A frozen model is made by filling a builder and changing its ``__class__`` at the end, in a third of the time that
    the constructor takes. Between a class and such a subclass the interpreter sees at once that the layouts agree.
    Between two classes with equal slots it compares the slots one by one, for every object.
    """
    namespace = {name: vars(object)[name] for name in ("__init__", "__setattr__", "__delattr__")}
    doc = f"Mutable builder of {model.__name__}."
    return type(f"{model.__name__}Builder", (model,), {"__slots__": (), "__doc__": doc, **namespace})


def frozen(builders: list[Any], model: type[T]) -> list[T]:
    """Return the models with the attributes of filled builders. Only with the lock do objects change their class."""
    if CLASS_SWAP:
        for builder in builders:
            builder.__class__ = model
        return builders
    built = [object.__new__(model) for _ in builders]
    for one, builder in zip(built, builders, strict=True):
        for name in vars(model)["__slots__"]:
            object.__setattr__(one, name, getattr(builder, name))
    return built


def maker(kind: type[T]) -> Callable[..., T]:
    """Return a quick constructor of a frozen attrs class: it takes all fields by name, unchecked."""
    if not CLASS_SWAP:
        return kind
    names = [field.name for field in attrs.fields(cast("Any", kind))]
    stores = "; ".join(f"new.{name} = {name}" for name in names)
    namespace: dict[str, Any] = {"builder": mutable_builder(kind), "kind": kind}
    source = f"def make({', '.join(names)}): new = builder(); {stores}; new.__class__ = kind; return new"
    exec(source, namespace)  # noqa: S102 - names of attributes only
    return cast("Callable[..., T]", namespace["make"])


def raw_object(value: Mapping[str, Any]) -> Extra:
    """Return an open JSON object as an immutable mapping, the shared empty one if it is empty."""
    if isinstance(value, Extra):
        return value
    return Extra(value) if value else EMPTY


def as_tuple(items: Iterable[Any]) -> tuple[Any, ...]:
    """Return the items of any iterable as a tuple, so that models stay hashable when a list is passed.

    Strings and mappings are rejected: a caller never means their letters or keys. Not generic, because mypy cannot
    solve the type variable of an attrs converter and would reject every argument.
    """
    if isinstance(items, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(items, Iterable):
        raise TypeError(f"expected a list or tuple, got {type(items).__name__}")
    return tuple(items)


def as_optional_tuple(items: Iterable[Any] | None) -> tuple[Any, ...] | None:
    """Return the same as `as_tuple`, and None for None."""
    return None if items is None else as_tuple(items)


def as_optional_object(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the same as `raw_object`, and None for None."""
    return None if value is None else raw_object(value)


# -- edits -----------------------------------------------------------------------------------------------------------

REQUIRED = ("order_type", "time_in_force")
AMOUNTS = ("price", "stop_trigger", "value")
NO_EFFECT = "None"  # effect that the service reports for an amount of zero; it is not accepted in requests


def restate(
    make: Callable[..., T],
    order: object,
    sources: tuple[type[Any], ...],
    changes: Mapping[str, Any | None],
    takes: Mapping[Any, frozenset[str]],
) -> T:
    """Build an edit with the terms of ``order``, overridden by every entry of ``changes`` that is not None.

    Terms that do not go with a new type of order or time in force are left out. ``takes`` has the terms of each type.
    """
    if not isinstance(order, sources):
        names = " or ".join(source.__name__ for source in sources)
        raise InvalidRequestError(f"order must be of type {names}, got {type(order).__name__}")
    given = {name: value for name, value in changes.items() if value is not None}
    given |= {name: exact(name, given[name]) for name in AMOUNTS if name in given}
    dropped = {"gtc_date"} if given.get("time_in_force", "GTD") != "GTD" else set[str]()
    if (taken := takes.get(given.get("order_type"))) is not None:
        dropped |= {name for names in takes.values() for name in names} - taken
    kept = {
        name: value for name in changes.keys() - dropped if (value := getattr(order, name)) not in (None, NO_EFFECT)
    }
    terms = kept | given
    if missing := [name for name in REQUIRED if name in changes and name not in terms]:
        raise InvalidRequestError(f"order {getattr(order, 'id', None)} shows no {' or '.join(missing)}: state it")
    return make(**terms)


# -- reading ----------------------------------------------------------------------------------------------------------


def keep(target: Any, key: str, raw: Any) -> None:
    """Put ``raw`` into the ``extra`` of a mutable builder, under its wire key."""
    target.extra = Extra({**target.extra, key: raw})


def decimal_or_keep(raw: str | int, target: Any, key: str) -> Decimal | None:
    """Read a decimal. For ``"NaN"`` and ``""`` return None and keep the string in ``extra``."""
    if raw in ("", "NaN"):
        keep(target, key, raw)
        return None
    return read_decimal(raw)


def finite_or_keep(raw: Decimal, target: Any, key: str) -> Decimal | None:
    """Return a finite Decimal. For NaN return None and keep it in ``extra``."""
    if raw.is_nan():
        keep(target, key, "NaN")
        return None
    return finite(raw)


def none_or_keep(raw: Decimal, target: Any, key: str) -> Decimal | None:
    """Return None for NaN, which means that there is no value. For an infinity, too, and keep it in ``extra``."""
    if raw.is_infinite():
        keep(target, key, str(raw))
    return None


def date_or_keep(raw: str, target: Any, key: str) -> date | None:
    """Read a date that may be empty or followed by a time. Whatever the date cannot carry is kept in ``extra``."""
    if len(raw) != 10:
        keep(target, key, raw)
        if not raw:
            return None
        if raw[10:11] not in " T":
            raise ValueError(f"not a date: {raw!r}")
    return date.fromisoformat(raw[:10])


def moment_or_keep(raw: str | int, target: Any, key: str) -> datetime | None:
    """Read a date-time or epoch milliseconds. For ``""`` return None and keep it in ``extra``."""
    if isinstance(raw, int):
        return read_epoch(raw)
    if not raw:
        keep(target, key, raw)
        return None
    return read_moment(raw.partition("[")[0])  # some times name their zone behind the offset


def epoch_or_keep(raw: datetime | int, target: Any, key: str) -> datetime | None:
    """Return a date-time or epoch milliseconds as a date-time. For -1 return None and keep it in ``extra``."""
    if raw == -1:
        before: Extra = target.extra
        try:
            target.extra = _MINUS_ONES[key, id(before)]
        except KeyError:
            target.extra = kept = Extra({**before, key: -1})
            if id(before) in _LASTING:
                _LASTING.add(id(_MINUS_ONES.setdefault((key, id(before)), kept)))
        return None
    return raw if isinstance(raw, datetime) else read_epoch(raw)


#: Extras that hold nothing but -1 under keys of the schema, by key and by the one without it: most rows of prices hold
#: it twice, and share them.
_MINUS_ONES: dict[tuple[str, int], Extra] = {}
_LASTING: set[int] = {id(EMPTY)}


def epoch_or_none(raw: datetime | int) -> datetime | None:
    """Return a date-time or epoch milliseconds as a date-time. For 0, which means that there is none, return None."""
    if isinstance(raw, int):
        return read_epoch(raw) if raw else None
    return raw


def day_of_epoch(raw: str | int) -> date | None:
    """Return a date, or days since the start of 1970, as a date. For 0, which means that there is none, return None."""
    if isinstance(raw, str):
        return date.fromisoformat(raw)
    try:
        return _EPOCH_DAY + timedelta(days=raw) if raw else None
    except OverflowError:
        raise ValueError(f"not a day: {raw}") from None


def read_epoch(milliseconds: int) -> datetime:
    """Return the date-time ``milliseconds`` ms after the start of 1970 UTC."""
    try:
        return _EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        raise ValueError(f"not a date-time: {milliseconds} ms") from None


def read_moment(raw: str) -> datetime:
    """Read a date-time in ISO 8601, as UTC when it has no offset."""
    return aware(datetime.fromisoformat(raw))


def read_integer(raw: str) -> int:
    """Read an integer that arrived as a string."""
    if not raw.removeprefix("-").isdecimal() or not raw.isascii():
        raise ValueError(f"not an integer: {raw!r}")
    return int(raw)


def read_boolean(raw: str) -> bool:
    """Read a boolean that arrived as a string, ``true`` or ``false``."""
    if raw not in ("true", "false"):
        raise ValueError(f"not a boolean: {raw!r}")
    return raw == "true"


def aware(moment: datetime) -> datetime:
    """Return the date-time with its offset, UTC if it has none."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def items_or_keys(raw: list[Any] | dict[str, Any], target: Any, key: str, read: Callable[[Any], T]) -> tuple[T, ...]:
    """Read an array. For an object keyed by the items return its keys and keep the object in ``extra``."""
    if isinstance(raw, dict):
        keep(target, key, raw)
    if not all(isinstance(item, str) for item in raw):
        raise ValueError(f"not a list of strings: {key}")
    return tuple([read(item) for item in raw])


# -- writing ----------------------------------------------------------------------------------------------------------


def readable(value: Any) -> Any:
    """Return a JSON value whose strings can be encoded: each lone surrogate is replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [readable(item) for item in value]
    return {readable(key): readable(item) for key, item in value.items()} if isinstance(value, dict) else value
