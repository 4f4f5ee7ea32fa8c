"""Renderer of ``_generated/operations.py``: operations and request bodies as data."""

from __future__ import annotations

from jinja2 import Environment

from ..naming import constant
from ..spec import Field, Operation, Parameter, Rule, Spec, Type

#: Shapes whose result is a list.
LISTS = ("many", "page", "bare_many")


def render(spec: Spec, environment: Environment) -> str:
    """Return the source of the module, not yet formatted."""
    requests = list(spec.request_models())
    return environment.get_template("operations.py.jinja2").render(
        requests=[
            (model, [_body_field(field) for field in model.fields], _rules(model.rules), _rules(model.service_rules))
            for model in requests
        ],
        operations=[(constant(operation.name), operation, *_views(operation)) for operation in spec.operations],
    )


def result_type(operation: Operation, prefix: str = "") -> str:
    """Return the annotation of the call's result."""
    if operation.result is None:
        return "None"
    name = operation.result if operation.result == "str" else prefix + operation.result
    return f"list[{name}]" if operation.shape in LISTS else name


def _views(operation: Operation) -> tuple[str, list[str], list[str], list[str]]:
    return (
        result_type(operation, "models."),
        [_parameter(parameter) for parameter in operation.parameters],
        _rules(operation.rules),
        _rules(operation.service_rules),
    )


def _parameter(parameter: Parameter) -> str:
    kind = "string" if parameter.type.kind == "enum" else parameter.type.kind
    arguments = [f'name="{parameter.name}"', f'wire="{parameter.wire}"', f'location="{parameter.location}"']
    if kind != "string":
        arguments.append(f'kind="{kind}"')
    if parameter.type.array:
        arguments.append("array=True")
    if parameter.joined:
        arguments.append("joined=True")
    if parameter.required:
        arguments.append("required=True")
    arguments += _bounds(parameter.type)
    if parameter.type.kind == "enum":
        arguments.append(f"choices=models.{parameter.type.name}")
    return f"Parameter({', '.join(arguments)})"


def _body_field(field: Field) -> str:
    kind = {"enum": "string", "model": "object"}.get(field.type.kind, field.type.kind)
    arguments = [f'name="{field.name}"', f'wire="{field.wire}"', f'kind="{kind}"']
    if field.type.number:
        arguments.append("number=True")
    if field.type.array:
        arguments.append("array=True")
    if field.required:
        arguments.append("required=True")
    if field.type.min_items is not None:
        arguments.append(f"min_items={field.type.min_items}")
    arguments += _bounds(field.type)
    if field.type.kind == "enum":
        arguments.append(f"choices=models.{field.type.name}")
    if field.type.kind == "model":
        arguments.append(f"model=models.{field.type.name}")
    return f"BodyField({', '.join(arguments)})"


def _bounds(type_: Type) -> list[str]:
    bounds = {"minimum": type_.minimum, "maximum": type_.maximum}
    return [f"{name}={bound}" for name, bound in bounds.items() if bound is not None]


def _rules(rules: tuple[Rule, ...]) -> list[str]:
    return [f"Rule({', '.join(f'{key}={value!r}' for key, value in rule.arguments)})" for rule in rules]
