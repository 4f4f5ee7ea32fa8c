"""Renderer of ``_generated/operations.py``: operations and request bodies as data."""

from __future__ import annotations

from typing import Any

from ..naming import constant
from ..spec import Field, Operation, Parameter, Rule, Spec

#: Shapes whose result is a list.
LISTS = ("many", "page", "bare_many")


def values(spec: Spec) -> dict[str, Any]:
    """Return the values for the template."""
    return {
        "requests": [
            (model, [_body_field(field) for field in model.fields], _rules(model.rules), _rules(model.service_rules))
            for model in spec.request_models()
        ],
        "operations": [
            (
                constant(each.name),
                each,
                result_type(each, "models."),
                [_parameter(parameter) for parameter in each.parameters],
                _rules(each.rules),
                _rules(each.service_rules),
            )
            for each in spec.operations
        ],
    }


def result_type(operation: Operation, prefix: str = "") -> str:
    """Return the annotation of the call's result."""
    if operation.result is None:
        return "None"
    name = operation.result if operation.result == "str" else prefix + operation.result
    return f"list[{name}]" if operation.shape in LISTS else name


def _parameter(parameter: Parameter) -> str:
    kind = "string" if parameter.type.kind == "enum" else parameter.type.kind
    own = {"location": parameter.location, "kind": "" if kind == "string" else kind}
    flags = {"array": parameter.type.array, "joined": parameter.joined, "required": parameter.required}
    return _call("Parameter", parameter, own, flags)


def _body_field(field: Field) -> str:
    kind = {"enum": "string", "model": "object"}.get(field.type.kind, field.type.kind)
    flags = {"number": field.type.number, "array": field.type.array, "required": field.required}
    return _call("BodyField", field, {"kind": kind}, {**flags, "min_items": field.type.min_items})


def _call(name: str, each: Parameter | Field, strings: dict[str, str], others: dict[str, Any]) -> str:
    """Return the source of a parameter or field, without empty arguments and defaults."""
    type_ = each.type
    written = {"name": each.name, "wire": each.wire, **strings}
    given = {**others, "minimum": type_.minimum, "maximum": type_.maximum}
    arguments = [f'{key}="{value}"' for key, value in written.items() if value]
    arguments += [f"{key}={value}" for key, value in given.items() if value is not None and value is not False]
    if type_.kind in ("enum", "model"):
        arguments.append(f"{'choices' if type_.kind == 'enum' else 'model'}=models.{type_.name}")
    return f"{name}({', '.join(arguments)})"


def _rules(rules: tuple[Rule, ...]) -> list[str]:
    return [f"Rule({', '.join(f'{key}={value!r}' for key, value in rule.arguments)})" for rule in rules]
