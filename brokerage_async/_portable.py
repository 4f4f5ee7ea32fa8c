"""Models and events as plain values and as JSON, for other programs, files and web frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from importlib import import_module
from typing import Any, cast

import attrs

_REFERENCE = "#/$defs/"


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
