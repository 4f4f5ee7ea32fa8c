"""Renders ``_generated/converters.py``: the wire struct of every model, and the conversions between the two.

Three pieces of source are chosen here for each field, by its kind and declared wire forms: the type on the wire, the
expression that reads it, and the expression that writes it. The template puts them in their places.
"""

from typing import Any

from ..naming import camel
from ..spec import Field, Spec

_PLAIN = {
    "string": "str",
    "identifier": "str",
    "integer": "int",
    "boolean": "bool",
    "decimal": "DecimalText",
    "date": "date",
    "date-time": "Moment",
    "object": "dict[str, Any]",
}


def values(spec: Spec) -> dict[str, Any]:
    """Return the values for the template."""
    shared = frozenset(name for name, model in spec.models.items() if model.shared)
    views = [
        (model, [_view(field, model.shared, shared) for field in model.fields], _rename(model.fields))
        for model in spec.models.values()
    ]
    return {"spec": spec, "views": views}


def _rename(fields: tuple[Field, ...]) -> str:
    """Return the rule that turns Python names into wire names, as an argument of the struct."""
    if all(field.wire == field.name for field in fields):
        return ""
    if all(field.wire == field.name.replace("_", "-") for field in fields):
        return ', rename="kebab"'
    if all(field.wire == camel(field.name) for field in fields):
        return ', rename="camel"'
    return f", rename={ {field.name: field.wire for field in fields} }"


def _view(field: Field, is_hashed: bool, shared: frozenset[str]) -> dict[str, Any]:
    """Return the source of one field: its wire type, and the expressions that read and write ``v``.

    The template handles ``None``. An empty ``read`` or ``write`` means that the value passes unchanged. The structs of
    shared models are hashed.
    """
    wire, read, write = _array(field, shared) if field.type.array else _single(field)
    if is_hashed and wire.startswith("list["):
        wire, write = f"tuple[{wire[5:-1]}, ...]", f"tuple({write})"
    if field.always:  # absent and null are empty, and what is empty is not written: it is the default of the struct
        read = f'{read or "v"} or ""'
    return {
        "name": field.name,
        "key": field.wire,
        "type": wire,
        "read": read,
        "write": write,
        "aliases": [(f"{field.name}__alias{n}", alias) for n, alias in enumerate(field.aliases, 1)],
        "required": field.required,
        "default": '""' if field.always else "None",
    }


def _single(field: Field) -> tuple[str, str, str]:
    kind, name, key = field.type.kind, field.type.name, field.wire
    forms = set(field.type.wire)
    match kind:
        case "enum":
            return f"models.{name}", "", ""
        case "model" if forms:
            return (
                f"{name}Wire | str",
                "v if type(v) is str else v.build()",
                f"v if isinstance(v, str) else {name}Wire.of(v)",
            )
        case "model":
            return f"{name}Wire", "v.build()", f"{name}Wire.of(v)"
        case "object":
            return _PLAIN[kind], "raw_object(v)", "dict(v)"
        case "string" | "identifier" if "integer" in forms:
            return "str | int", "v if type(v) is str else str(v)", ""
        case "integer" if "string" in forms:
            return "int | str", "v if isinstance(v, int) else read_integer(v)", ""
        case "boolean" if "string" in forms:
            return "bool | str", "v if isinstance(v, bool) else read_boolean(v)", ""
        case "decimal":
            return _decimal(forms, key, number=field.type.number)
        case "date" if "epoch-day" in forms:
            return "DateText | int", "day_of_epoch(v)", "v.isoformat()"
        case "date" if forms:
            return "DateText", f'date_or_keep(v, o, "{key}")', "v.isoformat()"
        case "date-time" if "zero" in forms:
            return "Moment | int", "epoch_or_none(v)", ""
        case "date-time" if "minus-one" in forms:
            return "Moment | int", f'epoch_or_keep(v, o, "{key}")', ""
        case "date-time" if forms & {"empty", "loose"}:
            return "MomentText | int", f'moment_or_keep(v, o, "{key}")', "v.isoformat()"
        case "date-time" if forms:
            return "Moment | int", "v if isinstance(v, datetime) else read_epoch(v)", ""
    return _PLAIN[kind], "", ""


def _decimal(forms: set[str], key: str, *, number: bool) -> tuple[str, str, str]:
    if "non-finite" in forms:
        return "Decimal", f'v if v.is_finite() else none_or_keep(v, o, "{key}")', "decimal_as_sent(v)"
    if "number" in forms and "nan" in forms:
        return "Decimal", f'finite_or_keep(v, o, "{key}")', "decimal_number(v)" if number else "decimal_as_sent(v)"
    if "number" in forms:
        read = "read_decimal(v) if type(v) is str or type(v) is int else read_number(v)"
        return "DecimalNumber", read, "decimal_number(v)" if number else "decimal_as_sent(v)"
    wire = "DecimalText | int" if "integer" in forms else "DecimalText"
    read = f'decimal_or_keep(v, o, "{key}")' if forms & {"nan", "empty"} else "read_decimal(v)"
    return wire, read, "decimal_text(v)"


#: Reader of one array item that arrives as untyped JSON.
_READERS = {
    "string": "str",
    "identifier": "str",
    "decimal": "read_decimal",
    "date": "date.fromisoformat",
    "date-time": "read_moment",
}


def _array(field: Field, shared: frozenset[str]) -> tuple[str, str, str]:
    kind, name = field.type.kind, field.type.name
    if "mapping" in field.type.wire:
        reader = f"models.{name}" if kind == "enum" else _READERS[kind]
        return "list[Any] | dict[str, Any]", f'items_or_keys(v, o, "{field.wire}", {reader})', "list(v)"
    match kind:
        case "model":
            read = f"_SHARED_{name.upper()}[tuple(v)]" if name in shared else f"tuple({name}Wire.build_all(v))"
            return f"list[{name}Wire]", read, f"[{name}Wire.of(item) for item in v]"
        case "object":
            return "list[dict[str, Any]]", "tuple([raw_object(item) for item in v])", "[dict(item) for item in v]"
        case "enum":
            return f"tuple[models.{name}, ...]", "", ""
        case "decimal":
            wire = "DecimalText | int" if "integer" in field.type.wire else "DecimalText"
            return f"list[{wire}]", "tuple([read_decimal(item) for item in v])", "[decimal_text(item) for item in v]"
        case "string" if field.type.wire:
            return "list[str | int]", "tuple([str(item) for item in v])", "list(v)"
    return f"tuple[{_PLAIN[kind]}, ...]", "", ""
