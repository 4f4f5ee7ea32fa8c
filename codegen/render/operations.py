"""Renderer of ``_generated/operations.py``: operations and request bodies as data."""

from typing import Any

import attrs

from ..naming import constant
from ..spec import Field, Model, Operation, Parameter, Spec, Type

#: Shapes whose result is a list.
LISTS = ("many", "page", "bare_many")

#: What the endpoints need of an operation beside its data.
_DESCRIBING = ("summary", "description", "returns", "errors", "body_name", "flatten_body")


def values(spec: Spec) -> dict[str, Any]:
    """Return the values for the template."""
    operations = [(constant(each.name), result_type(each, "models."), _operation(each)) for each in spec.operations]
    return {"operations": operations, "requests": [(each.name, _request(each)) for each in spec.request_models()]}


def result_type(operation: Operation, prefix: str = "") -> str:
    """Return the annotation of the call's result."""
    name = operation.result if operation.result in (None, "str") else prefix + operation.result
    return f"list[{name}]" if name and operation.shape in LISTS else str(name)


class Source(str):
    """Source code in the place of a value."""

    __slots__ = ()
    __repr__ = str.__str__


def _call(name: str, end: str = "", /, **arguments: Any) -> Source:
    """Return the source of a call, without empty arguments and those that are None or False.

    A comma at its ``end`` asks the formatter for one argument a line, here as in `_lines`.
    """
    written = {key: value for key, value in arguments.items() if value is not None and value is not False}
    given = [f"{key}={value!r}" for key, value in written.items() if value not in ("", ())]
    return Source(f"{name}({', '.join(given)}{end})")


def _lines(items: list[Source]) -> Source:
    """Return the source of a tuple with one item a line, empty without items."""
    return Source(f"({', '.join(items)},)" if items else "")


def _operation(operation: Operation) -> Source:
    shown = {key: value for key, value in attrs.asdict(operation, recurse=False).items() if key not in _DESCRIBING}
    own = {
        "effect": Source(f"Effect.{operation.effect.upper()}"),
        "shape": Source(f"Shape.{operation.shape.upper()}"),
        "result": _model(operation.result),
        "status": None if operation.status == 200 else operation.status,
        "parameters": _lines([_parameter(each) for each in operation.parameters]),
        "body": _model(operation.body),
        "body_required": Source(operation.body_required) if operation.body else None,
        "provenance": None
        if operation.provenance == "documented"
        else Source(f"Provenance.{operation.provenance.upper()}"),
    }
    return _call("Operation", ",", **(shown | own | _rules(operation)))


def _request(model: Model) -> Source:
    return _call("RequestModel", ",", fields=_lines([_body_field(each) for each in model.fields]), **_rules(model))


def _rules(owner: Operation | Model) -> dict[str, Source]:
    rules = {"rules": owner.rules, "service_rules": owner.service_rules}
    return {key: _lines([_call("Rule", **rule) for rule in each]) for key, each in rules.items()}


def _model(name: str | None) -> Source | None:
    return None if name is None else Source(name if name == "str" else f"models.{name}")


def _parameter(parameter: Parameter) -> Source:
    kind = parameter.type.kind
    return _call(
        "Parameter",
        name=parameter.name,
        wire=parameter.wire,
        location=parameter.location,
        kind=None if kind in ("string", "enum") else kind,
        array=parameter.type.array,
        joined=parameter.joined,
        required=parameter.required,
        **_type(parameter.type),
    )


def _body_field(field: Field) -> Source:
    return _call(
        "BodyField",
        name=field.name,
        wire=field.wire,
        kind={"enum": "string", "model": "object"}.get(field.type.kind, field.type.kind),
        number=field.type.number,
        array=field.type.array,
        required=field.required,
        min_items=field.type.min_items,
        **_type(field.type),
    )


def _type(type_: Type) -> dict[str, Any]:
    named = {"enum": "choices", "model": "model"}.get(type_.kind)
    bounds = {"minimum": type_.minimum, "maximum": type_.maximum}
    return bounds | {named: Source(f"models.{type_.name}")} if named else bounds
